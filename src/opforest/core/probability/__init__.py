"""Probabilities from costs, and the leave-one-out offers behind them."""
