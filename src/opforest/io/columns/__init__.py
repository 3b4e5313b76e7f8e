"""Columns of tables: their types and roles, converted to numbers."""
