"""A scikit-learn pipeline whose last step supports ``partial_fit`` and ``forget``."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

Method = TypeVar("Method", bound=Callable[..., Any])


def _if_last_has(name: str) -> Callable[[Method], Method]:
    """Return a decorator for a method that a pipeline has if its last step has this one."""
    decorate: Callable[[Method], Method] = available_if(
        lambda pipeline: hasattr(pipeline.steps[-1][1], name)
    )
    return decorate


class Pipeline(SklearnPipeline):
    """scikit-learn's ``Pipeline``, with the methods of opforest's estimators.

    ``partial_fit``, ``forget``, ``label``, ``explain``, ``class_costs`` and ``conquerors`` reach
    through to the last step, if it has them.

    What the steps before the last one have learned, such as means and categories, stays as ``fit``,
    or the first ``partial_fit``, has learned it: all examples must be measured by one scale. So
    after ``partial_fit`` and ``forget`` the last step is exactly what refitting it on the examples
    by those scales gives. Refitting the whole pipeline would find new scales, and may give another
    model; call ``fit`` if the scales of the data have changed.

    Parameters
    ----------
    steps : list of (str, estimator)
        As in scikit-learn; the last one is an estimator of opforest.
    transform_input, memory, verbose
        As in scikit-learn.

    See Also
    --------
    opforest.make_pipeline : The same with fewer words.
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

    @_if_last_has("partial_fit")
    def partial_fit(
        self, X: Any, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Self:  # fmt: skip
        """Learn more examples; the first call is a ``fit``.

        Later calls do not change the steps before the last one: a scaler keeps the mean and the
        deviation of the examples of the first call, or of ``fit``.

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
            last.partial_fit(self.prepare(X), y, classes)
            return self
        for _, step in self.steps[:-1]:
            X = X if step is None or isinstance(step, str) else step.fit_transform(X, y)
        last.partial_fit(X, y, classes)
        return self

    @_if_last_has("forget")
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

    @_if_last_has("label")
    def label(self, ids: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Label examples that are already known; see ``OPFSemiSupervised.label``.

        Parameters
        ----------
        ids : int or array-like of int
            Their arrival numbers, as in ``forest_.ids``.
        y : label or array-like
            Their labels.

        Returns
        -------
        Pipeline
            The pipeline itself.
        """
        self.steps[-1][1].label(ids, y)
        return self

    @_if_last_has("explain")
    def explain(self, x: Any) -> Any:
        """Return the path, by ids, that gave one example its label: ``OPFClassifier.explain``."""
        if hasattr(x, "to_frame"):  # a row of a data frame
            x = x.to_frame().T.infer_objects()
        elif np.ndim(x) == 1:
            x = np.asarray(x)[None]
        return self.steps[-1][1].explain(self.prepare(x))

    @_if_last_has("class_costs")
    def class_costs(self, X: Any) -> Any:
        """Return the cheapest offer of each class; see ``OPFClassifier.class_costs``."""
        return self.steps[-1][1].class_costs(self.prepare(X))

    @_if_last_has("conquerors")
    def conquerors(self, X: Any) -> Any:
        """Return the ids of conquerors and their costs; see ``OPFClassifier.conquerors``."""
        return self.steps[-1][1].conquerors(self.prepare(X))

    @property
    def forest_(self) -> Any:
        """The forest of the last step."""
        return self.steps[-1][1].forest_

    @property
    def update_report_(self) -> Any:
        """What the last call of ``partial_fit`` or ``forget`` did."""
        return self.steps[-1][1].update_report_

    def prepare(self, X: Any) -> Any:
        """Transform examples by all steps but the last one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The examples, before any step.

        Returns
        -------
        array-like
            The input of the last step.
        """
        for _, step in self.steps[:-1]:
            X = X if step is None or isinstance(step, str) else step.transform(X)
        return X


def make_pipeline(
    *steps: Any, memory: Any = None, transform_input: list[str] | None = None, verbose: bool = False
) -> Pipeline:
    """Return an ``opforest.Pipeline`` of these steps, named after their classes.

    It is what scikit-learn's ``make_pipeline`` returns, with ``partial_fit``, ``forget``,
    ``explain`` and the other methods of the last step. A scaler keeps what ``fit`` has learned; see
    ``opforest.Pipeline``.

    Parameters
    ----------
    *steps : estimators
        Transformers, and an estimator of opforest at the end.
    memory, transform_input, verbose
        As in scikit-learn.

    Returns
    -------
    Pipeline
        The pipeline. The name of a step is that of its class in lower case.

    See Also
    --------
    opforest.Pipeline : The same with names of your own.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from opforest import OPFClassifier, make_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), OPFClassifier()).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.91
    >>> model.partial_fit(X[1:40:2], y[1:40:2]).forget([3]).explain(X[41]).label
    0
    """
    named = sklearn_make_pipeline(*steps).steps
    return Pipeline(named, transform_input=transform_input, memory=memory, verbose=verbose)
