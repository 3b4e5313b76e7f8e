"""Options of the experiment and their help; this module imports nothing heavy."""

import os

DEFAULT_JOBS = min(2, os.cpu_count() or 1)

#: The paper's algorithm, refitting, the paper's baseline, our exact update, and for comparison the
#: nearest neighbor.
METHODS = ("opfi", "original", "dift", "exact", "1nn")

QUICK_SETS = ("C-vs-G", "Lithu", "Cone-Torus", "Saturn", "NTL", "Parkinsons")
QUICK_REPEATS = 2

HELP = {
    "datasets": "data sets, separated by commas (default: all that `opforest datasets` lists)",
    "methods": f"methods, separated by commas (default: all of {', '.join(METHODS)})",
    "repeats": "repetitions (default: 10)",
    "seed": "random seed (default: 0)",
    "jobs": f"number of processes (default: {DEFAULT_JOBS}); results do not depend on it",
    "out": "folder for results (default: results); a stopped run continues in it",
    "data_home": "folder with data (default: OPFOREST_DATA, or a cache folder)",
    "quick": f"only {', '.join(QUICK_SETS)}, {QUICK_REPEATS} repetitions: about a minute, "
    "plus compilation the first time",
    "report_only": "write the report from results.json in the folder, without running anything",
}
