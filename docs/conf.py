"""Configure Sphinx, which ``make docs`` runs.

The build downloads nothing, and no page loads anything from other sites.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support import compile_cache  # noqa: E402

# Examples and tests share compiled kernels. Numba reads the variable when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(compile_cache.FOLDER))
os.environ.setdefault("MPLBACKEND", "Agg")

from sphinx.pycode import ModuleAnalyzer  # noqa: E402

import opforest  # noqa: E402

project = "opforest"
author = "The opforest developers"
copyright = "2026, the opforest developers"
version = release = opforest.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "reproduction/table1.md"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = True

# Headings of Markdown pages get the same anchors as on GitHub.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the order of the gallery is a function

# The API reference is generated from docstrings.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
add_module_names = False

#: The gallery, in reading order.
EXAMPLES = [
    "plot_forest_and_regions.py",
    "plot_three_cases.py",
    "plot_learning_curve.py",
    "plot_poisoned_batch.py",
    "plot_explain_a_digit.py",
    "plot_probabilities.py",
    "plot_noisy_labels.py",
    "plot_pipeline_and_grid_search.py",
    "plot_histogram_metrics.py",
    "plot_edit_distance.py",
    "plot_active_learning.py",
    "plot_semi_supervised.py",
    "plot_clustering.py",
    "plot_outliers.py",
    "plot_smaller_training_sets.py",
    "plot_drift.py",
    "plot_river_pipeline.py",
    "plot_durable_learner.py",
    "plot_dask.py",
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("opforest",),
    "within_subsection_order": EXAMPLES.index,
    "abort_on_example_error": False,  # report all failures; they still fail the build
    "only_warn_on_example_error": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "thumbnail_size": (600, 320),
    "image_srcset": ["2x"],
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "opforest"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "opforest"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {
    "getting_started": [],
    "theory": [],
    "changelog": [],
    "contributing": [],
    "libopf": [],
    "experiments": [],
    "reproduction/report": [],
}


def skip_foreign_members(app, what, name, member, skip, options):
    """Skip members that classes inherit from other libraries."""
    function = getattr(member, "fget", member)
    module = getattr(function, "__module__", None) or ""
    is_foreign = callable(function) and not module.startswith("opforest")
    return True if is_foreign else skip


def describe_published(app, what, name, obj, options, lines):
    """Describe ``PUBLISHED`` by the comment in its module, which autodoc does not read."""
    if name == "opforest.datasets.PUBLISHED":
        comments = ModuleAnalyzer.for_module("opforest.datasets.published").find_attr_docs()
        lines[:] = comments["", "PUBLISHED"]


def add_playground(app, error):
    """Add the playground, which the home page shows, to the finished site."""
    sys.path.insert(0, str(app.confdir))
    import playground

    if error is None and app.builder.format == "html":
        playground.build(Path(app.outdir) / "playground")


def setup(app):
    """Connect the events."""
    app.connect("build-finished", add_playground)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("autodoc-process-docstring", describe_published)
