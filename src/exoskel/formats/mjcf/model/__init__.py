"""A world in MuJoCo's terms: joint chains, coordinates, motors, loop constraints and mass properties.

The MJCF writer and reader use these modules, and so does `exoskel.formats.mjcf.compile` for the engine.
"""
