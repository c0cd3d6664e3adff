"""From one file to another, with an account of every node and a proof in numbers."""
