"""Fit forests of more examples than fit into memory, on one machine.

The examples are dealt to cells of space, in files of a folder, and fitted cell by cell. The model
is exactly that of ``OPFClassifier.fit``; it stays in the folder, and predictions read the parts
that they need.

Examples
--------
>>> import tempfile
>>> from opforest import out_of_core
>>> with tempfile.TemporaryDirectory() as folder:
...     model = out_of_core.fit([[0.0], [1.0], [5.0]], f"{folder}/model", ["low", "low", "high"])
...     print(model.predict([[0.4], [9.0]]))
['low' 'high']
"""

from opforest.estimators.parts import PartsClassifier
from opforest.out_of_core.job import fit

__all__ = ["PartsClassifier", "fit"]
