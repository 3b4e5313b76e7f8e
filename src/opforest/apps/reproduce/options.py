"""The options of the experiment and their help; quick to import."""

import os

DEFAULT_JOBS = min(2, os.cpu_count() or 1)

#: What is compared: the paper's algorithm, retraining, the paper's baseline, our exact update, and
#: as a yardstick the nearest neighbor.
METHODS = ("opfi", "original", "dift", "exact", "1nn")

QUICK_SETS = ("C-vs-G", "Lithu", "Cone-Torus", "Saturn", "NTL", "Parkinsons")
QUICK_REPEATS = 2

HELP = {
    "datasets": "data sets, separated by commas (default: all that `opforest datasets` lists)",
    "methods": f"methods, separated by commas (default: all of {', '.join(METHODS)})",
    "repeats": "repetitions (default: 10)",
    "seed": "the seed of all random choices (default: 0)",
    "jobs": f"processes that share the work (default: {DEFAULT_JOBS}); results do not depend on it",
    "out": "the folder for results (default: results); a stopped run goes on in it",
    "data_home": "the folder with data (default: what OPFOREST_DATA names, or a cache folder)",
    "quick": f"only {', '.join(QUICK_SETS)}, {QUICK_REPEATS} repetitions: about a minute, "
    "and compilation the first time",
    "report_only": "write the report again from results.json in the folder, and run nothing",
}
