"""Engines: a world that was compiled, and can be stepped."""
