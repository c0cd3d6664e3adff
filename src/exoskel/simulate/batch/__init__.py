"""Many worlds at once: on threads, on a GPU, on a cluster."""
