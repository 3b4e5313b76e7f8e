"""K-d trees: over a fixed set of points, and over one that changes with a forest."""
