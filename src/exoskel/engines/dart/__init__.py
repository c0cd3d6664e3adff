"""DART, in a child process."""
