"""Engines: compiled worlds that can be stepped."""
