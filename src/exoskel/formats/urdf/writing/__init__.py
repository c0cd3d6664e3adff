"""The parts of the URDF writer."""
