"""The version of the package, and of the standards it follows."""

__version__ = "0.1.0"

XODE_COMPLIANCE = "XODE 1.0r22 +retain"
"""What the XODE specification has every implementation advertise: its version, and the features beyond it."""
