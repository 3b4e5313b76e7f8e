"""LibOPF's model files."""
