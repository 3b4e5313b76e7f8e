"""Layer 4: data files."""
