"""Choose the fastest algorithm; the results are identical."""
