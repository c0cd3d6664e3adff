"""Files made to harm whoever opens them, made by code: see `corpus`, and docs/reliability.md for the table."""
