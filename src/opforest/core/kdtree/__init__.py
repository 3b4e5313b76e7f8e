"""k-d trees over fixed points and over the examples of a forest."""
