"""The parts of XODE that take more than a line to edit in place."""
