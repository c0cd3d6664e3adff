"""The parts of the reader that certifies what was written."""
