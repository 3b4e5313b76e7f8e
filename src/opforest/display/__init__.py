"""Plots and notebook output."""
