"""HTML representation of estimators in notebooks, based on scikit-learn's diagram."""

from types import SimpleNamespace
from typing import Any

#: Where the documentation of the newest release is.
DOCUMENTATION = "https://opforest.readthedocs.io/en/stable"


class NotebookMixin:
    """Adds to scikit-learn's diagram what was learned, and a link to the right documentation.

    A subclass returns from ``_facts`` what to say below its name. That must be quick: a notebook
    shows an estimator whenever it is the last line of a cell.
    """

    _doc_link_module = "opforest"
    _doc_link_template = DOCUMENTATION + "/api/generated/{page}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return the name of the page."""
        module, name = type(self).__module__, type(self).__name__
        prefix = "opforest.dask" if module.startswith("opforest.dask") else "opforest"
        return {"page": f"{prefix}.{name}"}

    def _facts(self) -> str:
        """Return what was learned, in a few words; nothing before that."""
        return ""

    def _sk_visual_block_(self) -> Any:
        """Return what scikit-learn's diagram shows of a single estimator."""
        name = type(self).__name__
        return SimpleNamespace(
            kind="single", estimators=self, names=name, name_details=str(self),
            name_caption=self._facts() or None, doc_link_label=name, dash_wrapped=True,
        )  # fmt: skip
