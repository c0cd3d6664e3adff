"""The command line: parses arguments, calls the library, prints the results."""
