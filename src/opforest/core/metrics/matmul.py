"""Prepare points for estimates of squared Euclidean distances by matrix products."""

import numpy as np


def shrink_factor(points):
    """Return a factor that makes up for rounding: at most 1 − γ(d + 2)."""
    return 1 - (points.shape[1] + 4) * float(np.finfo(points.dtype).eps)


def center_points(points, center):
    """Return centered points and lower bounds on their squared norms."""
    limit, d = np.finfo(points.dtype), points.shape[1]
    centered = points - center
    norm = np.einsum("ij,ij->i", centered, centered)
    is_safe = norm < limit.max / 8
    norm *= shrink_factor(points) * (1 - (1.25 * d + 8) * float(limit.eps))
    norm -= 8 * d * limit.tiny
    norm[~is_safe] = -np.inf
    return centered, norm
