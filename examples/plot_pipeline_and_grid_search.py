"""
A pipeline with scaling and a grid search
=========================================

The forest has nothing to tune, but it depends on distances: a feature measured in thousands dominates one
measured in hundredths. So put a scaler in front. A grid search finds the best scaler and metric.
"""

import tempfile
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import opforest
from opforest import OPFClassifier, make_pipeline

X, y = load_wine(return_X_y=True, as_frame=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# Scaling adds more than twenty points
# ------------------------------------
# One feature of the wine data, proline, is in the hundreds; most others are below ten. The forest warns
# about such spreads. Here we want to measure their effect, so we silence the warning.

warnings.filterwarnings("ignore", "features differ in spread")

raw = cross_val_score(OPFClassifier(), X, y, cv=folds)
scaled = cross_val_score(make_pipeline(StandardScaler(), OPFClassifier()), X, y, cv=folds)
print(f"raw numbers:  {raw.mean():.1%}\nstandardized: {scaled.mean():.1%}")

# %%
# Which scaler, which metric?
# ---------------------------
# An ordinary scikit-learn search: all 16 combinations are trained on four folds and tested on the fifth.

scalers = {
    "none": "passthrough",
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "min-max": MinMaxScaler(),
}
metrics = ["euclidean", "manhattan", "chebyshev", "canberra"]
search = GridSearchCV(
    make_pipeline(StandardScaler(), OPFClassifier()),
    {"standardscaler": list(scalers.values()), "opfclassifier__metric": metrics},
    cv=folds,
).fit(X, y)
table = search.cv_results_["mean_test_score"].reshape(len(metrics), len(scalers))

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.1), layout="constrained")
spread = X.std().sort_values()
left.barh(spread.index, spread, color="#3f90da")
left.set(xscale="log", xlabel="standard deviation (log scale)", title="Spreads of the features")
image = right.imshow(100 * table, cmap="YlGnBu", vmin=65, vmax=100)
right.set_xticks(range(len(scalers)), scalers)
right.set_yticks(range(len(metrics)), metrics)
right.set_title("Five-fold accuracy, %")
for row in range(len(metrics)):
    for column in range(len(scalers)):
        score = 100 * table[row, column]
        ink = "white" if score > 85 else "#222222"
        right.text(column, row, f"{score:.1f}", ha="center", va="center", color=ink)
plt.show()

# %%
# Save the whole pipeline
# -----------------------
# ``opforest.save`` accepts pipelines with the usual scalers. ``load`` returns an ``opforest.Pipeline``, whose
# ``partial_fit``, ``forget`` and ``explain`` apply the same scaling.

with tempfile.TemporaryDirectory() as folder:
    opforest.save(search.best_estimator_, f"{folder}/wine.opforest")
    model = opforest.load(f"{folder}/wine.opforest")
print(model.forget([0]).explain(X.iloc[:1]))
