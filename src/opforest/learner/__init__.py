"""Durable learner: a table of examples on disk and the model trained on it."""

from opforest.learner.audit import Audit
from opforest.learner.changes import Change
from opforest.learner.errors import KeyConflictError, RowError, StoreError, UnknownKeyError
from opforest.learner.learner import Learner

__all__ = [
    "Audit",
    "Change",
    "KeyConflictError",
    "Learner",
    "RowError",
    "StoreError",
    "UnknownKeyError",
]
