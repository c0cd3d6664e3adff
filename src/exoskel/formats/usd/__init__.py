"""USD, the scene format of Pixar, with UsdPhysics: written, and read back for certificates."""
