"""Prepare points for estimates of squared Euclidean distances by matrix products."""

import numpy as np

#: Points that are rounded together, so that temporary arrays are small.
ROUNDED_TOGETHER = 4096


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


def choose_scale(points, center):
    """Return a power of 2 that makes the largest centered coordinate about 1."""
    extent = max((points.max(axis=0) - center).max(), (center - points.min(axis=0)).max())
    # Below 2⁻⁵⁰⁰ squares underflow, and the square of the scale would overflow.
    return 2.0 ** -max(-500, int(np.frexp(extent)[1]))


def relative_error(d):
    """Return a bound on the error of an estimate in single precision, relative to the norms."""
    return (1.25 * d + 8) * float(np.finfo(np.float32).eps)


def round_points(points, center, scale, out):
    """Write points for products that estimate scaled distances, in single precision.

    They are centered, scaled and rounded. One more column has lower bounds on their squared norms,
    the last one has ones, so that the product with ``to_factors`` is ‖a‖² + ‖b‖² − 2 a·b.

    No estimate is too high, for the reasons in ``conquest.matmul``, u being the unit roundoff of
    single precision. Points are centered in double precision, the type of ``center``, then rounded:
    4 u (p + q). Norms are those before rounding, 2 u (p + q), and rounded down. Being part of the
    product, they add to its error: it has d + 2 terms, whose magnitudes sum up to at most
    2 (p + q). So it errs by 2 γ(d + 2) (p + q), and by 2 u (p + q) for the factors. Together that
    is (2 d + 12) u (p + q) and terms of higher order, less than norms are lowered by. Where squares
    underflow, measured distances are too low by less than 2 d times the smallest normal number of
    the points' own precision.
    """
    d, single = points.shape[1], np.finfo(np.float32)
    tiny = float(single.tiny) + float(np.finfo(points.dtype).tiny) * scale * scale
    kept = shrink_factor(out) * (1 - relative_error(d))
    with np.errstate(under="ignore"):
        for begin in range(0, len(points), ROUNDED_TOGETHER):
            part = slice(begin, begin + ROUNDED_TOGETHER)
            centered = points[part] - center
            centered *= scale
            out[part, :d] = centered
            norm = np.einsum("ij,ij->i", centered, centered)
            lowered = (norm * kept - 16 * d * tiny).astype(np.float32)
            out[part, d] = np.nextafter(lowered, np.float32(-np.inf))
    out[:, d + 1] = 1


def to_factors(rounded):
    """Return the factors of rounded points: their products with others estimate distances."""
    d = rounded.shape[1] - 2
    factors = rounded * np.float32(-2 * shrink_factor(rounded))
    factors[:, d], factors[:, d + 1] = 1, rounded[:, d]
    return factors
