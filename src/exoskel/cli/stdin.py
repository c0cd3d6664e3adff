"""Standard input as a file."""

STDIN = "<stdin>"
"""What `-` on the command line is turned into, since a lone hyphen looks like an option to the parser."""
