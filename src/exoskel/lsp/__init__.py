"""Help inside the editor: a language server for the formats that have a vocabulary."""
