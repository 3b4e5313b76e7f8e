"""HTML representation of estimators in notebooks, based on scikit-learn's diagram."""

from types import SimpleNamespace
from typing import Any

#: The documentation of the newest release.
DOCUMENTATION = "https://opforest.readthedocs.io/en/stable"


class NotebookMixin:
    """Adds facts about the fitted model, and a link to our documentation, to the diagram.

    ``_facts`` must be fast: a notebook shows an estimator whenever it is the last line of a cell.
    """

    _doc_link_module = "opforest"
    _doc_link_template = DOCUMENTATION + "/api/generated/{page}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        module, name = type(self).__module__, type(self).__name__
        prefix = "opforest.dask" if module.startswith("opforest.dask") else "opforest"
        return {"page": f"{prefix}.{name}"}

    def _facts(self) -> str:
        """Return a few words about the model; "" before it is fitted."""
        return ""

    def _sk_visual_block_(self) -> Any:
        name = type(self).__name__
        return SimpleNamespace(
            kind="single", estimators=self, names=name, name_details=str(self),
            name_caption=self._facts() or None, doc_link_label=name, dash_wrapped=True,
        )  # fmt: skip
