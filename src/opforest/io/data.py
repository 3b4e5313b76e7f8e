"""Examples, and how a file is to be read."""

from opforest.columns.data import ROWS, Array, Data, Expected, Reading, join

__all__ = ["ROWS", "Array", "Data", "Expected", "Reading", "join"]
