"""The languages, each a wing of its own, and how a file finds its reader."""
