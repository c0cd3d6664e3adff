"""Fuzzing of the readers: `make fuzz READER=skel TIME=600`; a short run with a fixed seed is part of the tests."""
