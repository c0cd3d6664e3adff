"""Writers for the joints, masses and shapes of XODE."""
