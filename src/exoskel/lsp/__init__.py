"""A language server for the formats that have a vocabulary."""
