"""What the URDF writer is made of."""
