"""Estimators with the scikit-learn API."""
