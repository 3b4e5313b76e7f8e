# Each target installs its own dependencies into .venv.
.PHONY: demo reproduce test quick coverage boundscheck lint fix bench docs wheel-test clean
.DELETE_ON_ERROR:

# The first Python on the path that is recent enough; PYTHON=... overrides.
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11 python,$(shell $(p) -c '$(RECENT)' >/dev/null 2>&1 && echo $(p))))
VENV := .venv
RUN := $(VENV)/bin/python

# Compiled kernels are cached in .numba_cache until their source changes (tests/conftest.py).
PYTEST = SCIPY_ARRAY_API=1 MPLBACKEND=Agg $(RUN) -m pytest -q -n 2 --dist loadfile

demo: $(VENV)/.demo
	$(RUN) -m opforest.apps.demo

# The paper's whole experiment; REPRODUCE=--quick runs a part of it in a minute.
reproduce: $(VENV)/.reproduce
	$(VENV)/bin/opforest reproduce $(REPRODUCE)

test: $(VENV)/.test
	$(PYTEST)

# A representative part of the suite: a few minutes, once kernels are compiled.
QUICK = tests/_utils tests/core/metrics tests/datasets tests/docs/test_english.py tests/docs/test_reference.py tests/io tests/estimators/test_classifier.py tests/test_package.py tests/test_repository.py tests/test_scores.py
quick: $(VENV)/.test
	$(PYTEST) $(QUICK)

# The coverage of the Python layer; fails below the floor in pyproject.toml. It is not part of `make
# test` because tracing takes a quarter more time. Tests that interrupt at random lines are left out:
# an interrupt inside the tracer blocks it.
UNTRACEABLE = tests/_utils/test_interrupts.py tests/_utils/test_rwlock.py tests/learner/test_interrupts.py tests/test_interruption.py
coverage: $(VENV)/.test
	$(PYTEST) --cov --cov-report=term $(addprefix --ignore=,$(UNTRACEABLE))

# The same suite with every array index checked.
boundscheck: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 $(PYTEST)

lint: $(VENV)/.lint
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

# Everything that ruff can fix by itself.
fix: $(VENV)/.lint
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

# The site, in docs/_build/html: built offline; all code is run, warnings are errors, links are checked.
docs: $(VENV)/.docs
	$(RUN) -W error docs/run_code.py
	rm -rf docs/api/generated docs/_build/html/api/generated  # pages of removed names
	$(RUN) -m sphinx -q -b html -W --keep-going docs docs/_build/html
	$(RUN) docs/check_links.py docs/_build/html

# Build both distributions, install the wheel into an empty environment and use it there.
wheel-test: $(VENV)/.test
	rm -rf dist
	$(RUN) -m hatchling build -d dist
	OPFOREST_DIST=dist $(RUN) -m pytest -q -n 0 tests/test_distribution.py

bench: $(VENV)/.bench
	$(RUN) -m benchmarks.run

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "opforest needs Python 3.11 or newer, which was not found. Set PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.reproduce: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable ".[cli,plot]"
	@touch $@

# Each of these is a dependency group of pyproject.toml.
$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable . --group $*
	@touch $@

clean:
	rm -rf docs/_build docs/gallery docs/api/generated docs/api/backreferences $(VENV) dist .numba_cache .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage
