"""After kill -9 at any moment of a save, the file is the complete old or new model."""

import subprocess
import sys

KILLS = 120

#: Save two models in turn in a separate process, which is killed, and check the file.
SCRIPT = """
import os, random, signal, sys, time
import numpy as np
import opforest

path, kills = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X, y = rng.random((3000, 8)), rng.integers(0, 3, 3000)
models = [opforest.OPFClassifier().fit(X[:n], y[:n]) for n in (500, 3000)]
opforest.save(models[0], path)
begin = time.perf_counter()
opforest.save(models[0], path)
opforest.save(models[1], path)
both = time.perf_counter() - begin
folder = os.path.dirname(path)
partial = lambda: [name for name in os.listdir(folder) if name.startswith(".")]
seen, cut = set(), 0
random.seed(0)
for kill in range(kills):
    child = os.fork()
    if child == 0:
        while True:
            opforest.save(models[0], path)
            opforest.save(models[1], path)
    wanted = lambda: True
    if kill % 3 == 0:  # while a file is being written, whenever that is
        wanted = partial
    elif len(seen) < 2:  # when the other model has been saved
        first = os.stat(path).st_size
        wanted = lambda: os.stat(path).st_size != first
    while True:
        time.sleep(random.uniform(0, 3 * both))
        os.kill(child, signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)
        if wanted():
            break
        os.kill(child, signal.SIGCONT)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = opforest.load(path)
    n = len(found.forest_)
    assert n in (500, 3000), n
    expected = models[n == 3000].forest_
    assert np.array_equal(found.forest_.cost, expected.cost)
    assert np.array_equal(found.forest_.points, expected.points)
    seen.add(n)
    left = partial()
    cut += bool(left)
    for name in left:
        os.unlink(os.path.join(folder, name))
print(len(seen), cut)
"""


def test_a_killed_save_leaves_the_old_model_or_the_new_one(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "model", str(KILLS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    seen, cut = map(int, result.stdout.split())
    assert seen == 2
    assert cut >= KILLS // 3  # each third kill waits for a file that is being written
