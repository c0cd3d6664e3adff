"""The formats, one package each, and loading, saving, formatting and fixing files."""
