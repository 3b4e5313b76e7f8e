"""Optimum-path forests: learn, forget and explain, exactly, one example at a time."""

from typing import TYPE_CHECKING

from opforest._utils.lazy import attach
from opforest._utils.version import __version__ as __version__

if TYPE_CHECKING:
    from opforest import active as active
    from opforest import out_of_core as out_of_core
    from opforest.errors import ModelFileError as ModelFileError
    from opforest.errors import StoreError as StoreError
    from opforest.estimators.classifier import OPFClassifier as OPFClassifier
    from opforest.estimators.clustering import OPFClustering as OPFClustering
    from opforest.estimators.knn_classifier import OPFKNNClassifier as OPFKNNClassifier
    from opforest.estimators.label_issues import LabelIssue as LabelIssue
    from opforest.estimators.label_issues import LabelIssues as LabelIssues
    from opforest.estimators.label_issues import find_label_issues as find_label_issues
    from opforest.estimators.model_selection import PruningStep as PruningStep
    from opforest.estimators.model_selection import learn_from_errors as learn_from_errors
    from opforest.estimators.model_selection import prune as prune
    from opforest.estimators.outlier import OPFOutlier as OPFOutlier
    from opforest.estimators.pipeline import Pipeline as Pipeline
    from opforest.estimators.pipeline import make_pipeline as make_pipeline
    from opforest.estimators.preparation import Preparation as Preparation
    from opforest.estimators.relevance import RelevanceScaler as RelevanceScaler
    from opforest.estimators.semi_supervised import OPFSemiSupervised as OPFSemiSupervised
    from opforest.forest.explanation import Explanation as Explanation
    from opforest.forest.explanation import Step as Step
    from opforest.forest.forest import Forest as Forest
    from opforest.forest.updates.report import UpdateReport as UpdateReport
    from opforest.learner import Learner as Learner
    from opforest.persistence.files import load as load
    from opforest.persistence.files import save as save

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "errors": ["ModelFileError", "StoreError"],
        "estimators.classifier": ["OPFClassifier"],
        "estimators.clustering": ["OPFClustering"],
        "estimators.knn_classifier": ["OPFKNNClassifier"],
        "estimators.label_issues": ["LabelIssue", "LabelIssues", "find_label_issues"],
        "estimators.model_selection": ["PruningStep", "learn_from_errors", "prune"],
        "estimators.outlier": ["OPFOutlier"],
        "estimators.pipeline": ["Pipeline", "make_pipeline"],
        "estimators.preparation": ["Preparation"],
        "estimators.relevance": ["RelevanceScaler"],
        "estimators.semi_supervised": ["OPFSemiSupervised"],
        "forest.explanation": ["Explanation", "Step"],
        "forest.forest": ["Forest"],
        "forest.updates.report": ["UpdateReport"],
        "learner.learner": ["Learner"],
        "persistence.files": ["load", "save"],
    },
    submodules=["active", "out_of_core"],
)
