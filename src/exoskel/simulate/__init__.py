"""Simulations, trajectories, rollouts and Gymnasium environments."""
