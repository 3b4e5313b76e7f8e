"""Configure Sphinx, which ``make docs`` runs.

The build downloads nothing, and no page loads anything from other sites.
"""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support import compile_cache  # noqa: E402

# Examples and tests share compiled kernels. Numba reads the variable when it is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(compile_cache.FOLDER))
os.environ.setdefault("MPLBACKEND", "Agg")

from docutils import nodes  # noqa: E402
from docutils.utils.math.latex2mathml import tex2mathml  # noqa: E402
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
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "reproduction/table1.md"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = True

# Headings of Markdown pages get the same anchors as on GitHub.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Formulas are MathML, which browsers typeset without scripts or fonts of other sites.
html_math_renderer = "mathml"

# A copied command has no prompt; output is not copied with it.
copybutton_selector = "div.highlight-python pre, div.highlight-console pre, div.highlight-bash pre"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .go"

suppress_warnings = ["config.cache"]  # the order of the gallery is a function

# The API reference is generated from docstrings.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
add_module_names = False
toc_object_entries_show_parents = "hide"

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
html_show_sourcelink = True
html_copy_source = True
html_sourcelink_suffix = ""


def repository_path(file_name):
    """Return where GitHub shows or edits the source of a page."""
    name, _, suffix = file_name.rpartition(".")
    if name.startswith("gallery/"):
        example = name.removeprefix("gallery/")
        return "tree/main/examples" if example == "index" else f"edit/main/examples/{example}.py"
    if name.startswith("api/generated/") or not suffix:  # from docstrings, or without a source
        return "tree/main/src/opforest"
    if name in ("changelog", "contributing"):
        return f"edit/main/{name.upper()}.md"
    return f"edit/main/docs/{file_name}"


def linkcode_resolve(domain, info):
    """Return where GitHub shows the source of a public name."""
    found = importlib.import_module(info["module"])
    try:
        for name in info["fullname"].split("."):
            found = getattr(found, name)
        found = inspect.unwrap(getattr(found, "fget", found))
        lines, start = inspect.getsourcelines(found)
        path = Path(inspect.getsourcefile(found)).relative_to(ROOT)
    except (AttributeError, OSError, TypeError, ValueError):  # data, or of another library
        return None
    tree = f"https://github.com/opforest/opforest/blob/v{release}"
    return f"{tree}/{path.as_posix()}#L{start}-L{start + len(lines) - 1}"


html_context = {
    "repository_path": repository_path,
    "edit_page_provider_name": "GitHub",
    "edit_page_url_template": (
        "https://github.com/opforest/opforest/{{ repository_path(file_name) }}"
    ),
}
html_theme_options = {
    "logo": {"text": f"opforest {release}"},
    "use_edit_page_button": True,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc", "edit-this-page", "sourcelink"],
    "icon_links": [
        {
            "name": "Source",
            "url": "https://github.com/opforest/opforest",
            "icon": "fa-brands fa-github",
        }
    ],
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


#: Inherited methods that the reference lists, because every user of scikit-learn calls them.
INHERITED = {"score", "get_params", "set_params", "set_output", "fit_transform", "fit_predict"}


#: Methods by which modules of the library use each other, and of no use to its users.
INTERNAL = {
    *("as_counts", "check_batch", "check_model", "check_parameters", "check_tree", "class_names"),
    *("classify", "complete", "copy_unfitted", "current_calibration", "elect", "find_vertices"),
    *("fitted_forest", "fitted_source", "given_labels", "is_needed"),
    *("learn_named", "lock", "log_likelihood", "make_transformer", "needs_labels"),
    *("parts", "relabel", "renumber", "resolve_metric", "restore", "retrain", "seed_name"),
    *("set_forest", "source_forest", "state", "to_units", "training_labels"),
    *("undo", "vote_probabilities"),
}


def skip_members(app, what, name, member, skip, options):
    """Skip internal members, and most that classes inherit from other libraries."""
    if name in INTERNAL:
        return True
    function = getattr(member, "fget", member)
    module = getattr(function, "__module__", None) or ""
    is_foreign = callable(function) and not module.startswith("opforest")
    return True if is_foreign and name not in INHERITED else skip


def shorten_inherited(app, what, name, obj, options, lines):
    """Remove links to pages of scikit-learn, and its versions, from docstrings."""
    if name.rpartition(".")[2] in INHERITED:
        text = "\n".join(lines)
        text = re.sub(r"Refer to the :ref:.*?\n\n", "", text, flags=re.DOTALL)
        text = re.sub(r" *\.\. version(added|changed)::.*\n( +.*\n)*", "", text)
        lines[:] = re.sub(
            r"(See )?(:ref:|:term:|:class:)`~?([^`<]*?)( <[^`]*>)?`", r"\3", text
        ).split("\n")


def typeset_inline(self, node):
    """Write an inline formula."""
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def typeset_block(self, node):
    """Write a formula of its own line."""
    self.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def describe_published(app, what, name, obj, options, lines):
    """Describe ``PUBLISHED`` by the comment in its module, which autodoc does not read."""
    if name == "opforest.datasets.PUBLISHED":
        comments = ModuleAnalyzer.for_module("opforest.datasets.published").find_attr_docs()
        lines[:] = comments["", "PUBLISHED"]


def wrap_plots(app, pagename, templatename, context, doctree):
    """Put each plot of the gallery into a box of its own, which scrolls on phones."""
    if pagename.startswith("gallery/") and "body" in context:
        plot = r'<img [^>]*sphx-glr-single-img"/>'
        context["body"] = re.sub(plot, r'<div class="plot">\g<0></div>', context["body"])


def add_playground(app, error):
    """Add the playground, which the home page shows, to the finished site."""
    sys.path.insert(0, str(app.confdir))
    import playground

    if error is None and app.builder.format == "html":
        playground.build(Path(app.outdir) / "playground")


def setup(app):
    """Connect the events."""
    app.connect("build-finished", add_playground)
    app.connect("html-page-context", wrap_plots)
    app.connect("autodoc-skip-member", skip_members)
    app.connect("autodoc-process-docstring", describe_published)
    app.connect("autodoc-process-docstring", shorten_inherited)
    app.add_html_math_renderer("mathml", (typeset_inline, None), (typeset_block, None))
