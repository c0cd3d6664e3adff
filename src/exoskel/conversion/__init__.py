"""Conversion between formats, with the fate of every node and a certificate."""
