"""Options of the experiment and their help; this module imports nothing heavy."""

import os

DEFAULT_JOBS = min(2, os.cpu_count() or 1)

#: The paper's algorithm, refitting, the paper's baseline, our exact update, and for comparison the
#: nearest neighbor.
METHODS = ("opfi", "original", "dift", "exact", "1nn")

QUICK_SETS = ("C-vs-G", "Lithu", "Cone-Torus", "Saturn", "NTL", "Parkinsons")
QUICK_REPEATS = 2

HELP = {
    "datasets": "Data sets, separated by commas. Default: all that `opforest datasets` lists.",
    "methods": f"Methods, separated by commas. Default: {','.join(METHODS)}.",
    "repeats": "The number of repetitions. Default: 10.",
    "seed": "The random seed. Default: 0.",
    "jobs": f"The number of processes; results do not depend on it. Default: {DEFAULT_JOBS}.",
    "out": "A folder for results; a stopped run continues in it. Default: results.",
    "data_home": "A folder with data. Default: OPFOREST_DATA, or a cache folder.",
    "quick": f"Run only {', '.join(QUICK_SETS)}, {QUICK_REPEATS} times: about a minute, plus "
    "compilation the first time.",
    "report_only": "Write the report from results.json in the folder, without running anything.",
}
