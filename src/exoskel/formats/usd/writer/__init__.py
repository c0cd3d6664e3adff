"""The parts of the USD writer."""
