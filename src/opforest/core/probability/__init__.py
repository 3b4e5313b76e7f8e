"""Convert costs to probabilities, and compute leave-one-out costs to calibrate them."""
