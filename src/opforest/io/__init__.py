"""Data files of many formats: read as examples, and written."""
