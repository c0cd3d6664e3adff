"""The parts of an XODE document that take more than a line to write."""
