"""k-d trees over a fixed set of points and over the examples of a forest."""
