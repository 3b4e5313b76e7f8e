"""Experiments on small sets."""

from opforest.apps.reproduce import Settings

FAST = ("1nn", "original")
SETS = ("Saturn", "Cone-Torus")


def settings(tmp_path, **changes):
    chosen = {"datasets": SETS, "methods": FAST, "repeats": 2, "out": tmp_path / "out"}
    return Settings(**{**chosen, **changes})


def without_times(results):
    return [
        {key: value for key, value in one.items() if key not in ("seconds", "elapsed")}
        for one in results["runs"]
    ]
