"""Running worlds: simulations, trajectories."""
