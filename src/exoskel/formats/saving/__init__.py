"""Saving edited scenes as a minimal patch of the document they come from."""
