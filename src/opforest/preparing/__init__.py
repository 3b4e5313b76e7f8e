"""Preparation that belongs to a model: categories, missing values and scales, learned and kept."""
