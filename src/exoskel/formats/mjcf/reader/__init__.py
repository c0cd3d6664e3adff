"""Read MJCF: MuJoCo compiles the document, and the compiled model is converted to a scene."""
