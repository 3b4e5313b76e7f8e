"""Layer 4: models in files."""
