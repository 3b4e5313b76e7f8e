"""A scikit-learn pipeline whose last step supports ``partial_fit`` and ``forget``."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy.typing as npt
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.pipeline import make_pipeline as sklearn_make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from opforest.estimators.classifier import OPFClassifier
from opforest.estimators.original_units import list_rows, show_original_units
from opforest.estimators.validation import as_one_row

Method = TypeVar("Method", bound=Callable[..., Any])


def _if_last_has(name: str) -> Callable[[Method], Method]:
    """Return a decorator for a method that a pipeline has if its last step has this one."""
    decorate: Callable[[Method], Method] = available_if(
        lambda pipeline: hasattr(pipeline.steps[-1][1], name)
    )
    return decorate


class Pipeline(SklearnPipeline):
    """scikit-learn's ``Pipeline``, with the methods of opforest's estimators.

    ``partial_fit``, ``forget``, ``label``, ``explain``, ``class_costs``, ``conquerors`` and
    ``kneighbors`` reach through to the last step, if it has them.

    ``fit``, or the first ``partial_fit``, fits the steps before the last one; later calls do not
    change their means and categories, because all examples must be measured on one scale. So after
    ``partial_fit`` and ``forget`` the last step is exactly what refitting it on these scales gives.
    Call ``fit`` if the scales of the data have changed.

    Parameters
    ----------
    steps : list of (str, estimator)
        As in scikit-learn; the last one is an estimator of opforest.
    transform_input, memory, verbose
        As in scikit-learn.

    See Also
    --------
    opforest.make_pipeline : Names the steps itself.
    opforest.Preparation : A first step that encodes categories, fills in missing values, scales.
    opforest.save : Saves it.

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
    def partial_fit(self, X: Any, y: npt.ArrayLike, classes: npt.ArrayLike | None = None) -> Self:
        """Learn more examples; the first call is a ``fit``.

        Later calls do not change the steps before the last one: a scaler keeps the mean and the
        deviation of the examples of the first call, or of ``fit``. Parameters are those of
        ``OPFClassifier.partial_fit``; X holds the examples before any step.
        """
        last = self.steps[-1][1]
        if hasattr(last, "forest_"):
            X = self.prepare(X)
        else:
            for step in self._transformers():
                X = step.fit_transform(X, y)
        last.partial_fit(X, y, classes)
        return self

    @_if_last_has("forget")
    def forget(self, ids: npt.ArrayLike) -> Self:
        """Forget examples; see ``OPFClassifier.forget``."""
        check_is_fitted(self.steps[-1][1], "forest_")
        self.steps[-1][1].forget(ids)
        return self

    @_if_last_has("label")
    def label(self, ids: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Label examples that are already known; see ``OPFSemiSupervised.label``."""
        self.steps[-1][1].label(ids, y)
        return self

    @_if_last_has("explain")
    def explain(self, x: Any) -> Any:
        """Return the path that gave an example its label; see ``OPFClassifier.explain``.

        The table of features shows them as they are before scalers, a ``Preparation`` and a
        ``ColumnTransformer`` of scalers and encoders.
        """
        X, steps = as_one_row(x), self._transformers()
        found = self.steps[-1][1].explain(self.prepare(X))
        if not isinstance(found, list):
            return show_original_units(found, steps, list_rows(X, steps)[0])
        return [show_original_units(why, steps, row)
                for why, row in zip(found, list_rows(X, steps), strict=True)]  # fmt: skip

    @_if_last_has("class_costs")
    def class_costs(self, X: Any) -> Any:
        """Return the cheapest offer of each class; see ``OPFClassifier.class_costs``."""
        return self.steps[-1][1].class_costs(self.prepare(X))

    @_if_last_has("conquerors")
    def conquerors(self, X: Any, k: int | None = None) -> Any:
        """Return the ids of conquerors and their costs; see ``OPFClassifier.conquerors``."""
        return self.steps[-1][1].conquerors(self.prepare(X), k)

    @_if_last_has("kneighbors")
    def kneighbors(self, X: Any, n_neighbors: int = 5, return_distance: bool = True) -> Any:
        """Return distances and ids of nearest examples; see ``OPFClassifier.kneighbors``."""
        return self.steps[-1][1].kneighbors(self.prepare(X), n_neighbors, return_distance)

    @property
    def forest_(self) -> Any:
        """The forest of the last step."""
        return self.steps[-1][1].forest_

    @property
    def update_report_(self) -> Any:
        """What the last call of ``partial_fit`` or ``forget`` did."""
        return self.steps[-1][1].update_report_

    def prepare(self, X: Any) -> Any:
        """Return the examples as the last step gets them: transformed by all steps before it."""
        for step in self._transformers():
            X = step.transform(X)
        return X

    def _transformers(self) -> list[Any]:
        return [s for _, s in self.steps[:-1] if s is not None and not isinstance(s, str)]


def make_pipeline(
    *steps: Any, memory: Any = None, transform_input: list[str] | None = None, verbose: bool = False
) -> Pipeline:
    """Return an ``opforest.Pipeline`` of these steps, each named by its class in lower case.

    Parameters
    ----------
    *steps : estimators
        Transformers, and an estimator of opforest at the end.
    memory, transform_input, verbose
        As in scikit-learn.

    Returns
    -------
    Pipeline
        The pipeline.

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


def classifier_of(estimator: Any) -> OPFClassifier:
    """Return a fitted classifier, or the last step of a pipeline if it is one."""
    is_pipeline = isinstance(estimator, SklearnPipeline)
    last = estimator.steps[-1][1] if is_pipeline else estimator
    required = "estimator must be a fitted OPFClassifier, or a pipeline that ends in one, got"
    is_class = isinstance(last, type)
    if is_class or not hasattr(last, "fit"):
        kind = last.__name__ if is_class else type(last).__name__
        name = f"the class {kind}" if is_class else f"an object of type {kind}"
        raise TypeError(f"{required} {name}. Fit one first: OPFClassifier().fit(X, y).")
    name = f"a Pipeline that ends in {type(last).__name__}" if is_pipeline else "%(name)s"
    is_new = isinstance(last, OPFClassifier)
    check_is_fitted(last, "forest_", msg=f"{required} {name}{', which is not fitted' * is_new}.")
    return last  # type: ignore[no-any-return]
