"""Layer 1, compiled: arrays in, arrays out. A kernel knows nothing of estimators."""
