"""Select the fastest algorithm; all of them return identical results."""
