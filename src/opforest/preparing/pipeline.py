"""A scikit-learn pipeline whose last step goes on learning, and forgets."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.utils.validation import check_is_fitted


class Pipeline(SklearnPipeline):
    """scikit-learn's ``Pipeline``, with ``partial_fit`` and ``forget`` that reach through.

    What the steps before the last one have learned, such as means and categories, stays as ``fit``
    has learned it: examples must all be measured by one scale.

    Parameters
    ----------
    steps : list of (str, estimator)
        As in scikit-learn; the last one is an estimator of opforest.
    transform_input, memory, verbose
        As in scikit-learn.

    See Also
    --------
    opforest.Preparation : A first step that encodes categories, fills in what is missing, scales.
    opforest.save : Save it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from opforest import OPFClassifier, Pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> model = Pipeline([("scale", StandardScaler()), ("classify", OPFClassifier())])
    >>> model = model.fit(X[::2], y[::2])
    >>> model.partial_fit(X[1:40:2], y[1:40:2]).forget([3]).forest_.ids[:4]
    array([0, 1, 2, 4])
    """

    def partial_fit(
        self, X: Any, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:  # fmt: skip
        """Learn more examples; the first call is a ``fit``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The examples, before any step.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            Labels to announce.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        last = self.steps[-1][1]
        if hasattr(last, "forest_"):
            last.partial_fit(self._prepared(X), y, classes)
            return self
        for _, step in self.steps[:-1]:
            X = X if step is None or isinstance(step, str) else step.fit_transform(X, y)
        last.partial_fit(X, y, classes)
        return self

    def forget(self, ids: npt.ArrayLike) -> Self:
        """Forget examples, as the last step does.

        Parameters
        ----------
        ids : int or array-like of int
            Their ids, as in ``forest_.ids``.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        check_is_fitted(self.steps[-1][1], "forest_")
        self.steps[-1][1].forget(ids)
        return self

    def explain(self, x: Any) -> Any:
        """Return the path, by ids, that gave one example its label: ``OPFClassifier.explain``."""
        if hasattr(x, "to_frame"):  # a row of a data frame
            x = x.to_frame().T.infer_objects()
        elif np.ndim(x) == 1:
            x = np.asarray(x)[None]
        return self.steps[-1][1].explain(self._prepared(x))

    def class_costs(self, X: Any) -> Any:
        """Return the cheapest offer of each class; see ``OPFClassifier.class_costs``."""
        return self.steps[-1][1].class_costs(self._prepared(X))

    def conquerors(self, X: Any) -> Any:
        """Return the ids of conquerors and their costs; see ``OPFClassifier.conquerors``."""
        return self.steps[-1][1].conquerors(self._prepared(X))

    @property
    def forest_(self) -> Any:
        """The forest of the last step."""
        return self.steps[-1][1].forest_

    @property
    def update_report_(self) -> Any:
        """What the last call of ``partial_fit`` or ``forget`` did."""
        return self.steps[-1][1].update_report_

    def _prepared(self, X: Any) -> Any:
        for _, step in self.steps[:-1]:
            X = X if step is None or isinstance(step, str) else step.transform(X)
        return X
