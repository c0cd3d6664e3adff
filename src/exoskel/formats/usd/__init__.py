"""USD, the scene format of Pixar, with UsdPhysics, as text and binary files."""
