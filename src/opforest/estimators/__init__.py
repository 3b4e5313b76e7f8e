"""Estimators with the scikit-learn API, their base classes and their helpers.

- Estimators: ``classifier``, ``semi_supervised``, ``clustering``, ``knn_classifier``, ``outlier``;
  ``parts`` has classifiers that are larger than memory.
- Transformers and pipelines: ``preparation``, ``relevance``, ``pipeline``.
- Functions of fitted classifiers: ``label_issues``, ``model_selection``.
- Base classes: ``base``, of all estimators; ``queries``, of classifiers; ``density_base``, of
  estimators that learn densities.
- Helpers: ``inputs`` and ``validation`` check what users pass; ``inverse_columns`` and
  ``original_units`` undo transformers for explanations.
"""
