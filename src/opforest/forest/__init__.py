"""The forest: its state, queries, updates and invariants."""
