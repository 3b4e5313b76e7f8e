"""Semi-supervised forests, in which labels spread from seeds (the labeled vertices)."""
