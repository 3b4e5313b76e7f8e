"""Layer 4: files, of data and of models."""
