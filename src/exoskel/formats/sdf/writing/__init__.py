"""The parts of the SDFormat writer."""
