# What each target does stands in the README. Windows: the README's three steps do without make.

PYTHON ?= python3
LESSON ?= 01-softmax
PY := .venv/bin/python

# The course's matrices are small: two threads for each of them only wait for each other.
build test: export OPENBLAS_NUM_THREADS = 1

.PHONY: setup lab fresh grade test lint build requirements picture

setup: .venv/ready build/source/ready

# uv if it is there (seconds), else pip (under a minute).
.venv/ready: requirements.txt pyproject.toml
	@if command -v uv >/dev/null; then \
	  { [ -x $(PY) ] || uv venv --quiet --python $(PYTHON) .venv; } && \
	  uv pip install --quiet --python $(PY) -r requirements.txt; \
	else \
	  { [ -x $(PY) ] || $(PYTHON) -m venv .venv; } && \
	  $(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt; \
	fi
	@touch $@

build/source/ready: .venv/ready source/course.toml $(wildcard source/*/*.md)
	@$(PY) -m grader build --source
	@touch $@

lab: setup
	@$(PY) -m grader lab

fresh: setup
	@$(PY) -m grader lab --fresh $(LESSON) --no-open

grade: setup
	@$(PY) -m grader grade $(LESSON) --sample

build: setup
	@$(PY) -m grader build

test: setup lint
	$(PY) -m grader build --check --execute
	$(PY) -m pytest -n 2 --dist loadfile --nbval-lax --nbval-cell-timeout=60 solutions
	# On two cores a test of a limit may lose its race: it gets one more, and the run says so.
	$(PY) -m pytest -n 2 --dist loadfile --reruns 1 tests --ignore tests/grading/hostile
	$(PY) -m pytest --reruns 1 tests/grading/hostile

lint: setup
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy

# Pins every version, transitive ones too; markers make one file serve Python 3.11 to 3.13.
requirements:
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url requirements.in -o requirements.txt

# The README's picture of a lesson, taken in JupyterLab.
picture: setup
	$(PY) -m tests.browser.picture
