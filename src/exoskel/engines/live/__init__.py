"""Scenes as objects of other programs, built by their own calls: Newton, Pinocchio."""
