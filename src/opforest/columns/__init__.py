"""Tables of any file: what their columns are, and the numbers and labels in them."""
