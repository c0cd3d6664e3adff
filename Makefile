# Everything sets itself up: a virtual environment in .venv, made from pyproject.toml when that changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

EXAMPLES ?= 2000

.PHONY: help demo test test-gpu test-cluster explore lint bench docs golden dist clean

help:
	@echo "make demo    look at what exoskel does, on the bundled samples"
	@echo "make test    run all tests, linters and the type checker"
	@echo "make test-gpu     try MuJoCo Warp (its CPU device where there is no GPU; some minutes at first)"
	@echo "make test-cluster try Ray, on this machine"
	@echo "make explore try the property tests on 2000 new documents each (EXAMPLES=n for another number)"
	@echo "make bench   measure, side by side with DART and PyODE"
	@echo "make docs    write the generated documentation pages anew"
	@echo "make golden  ask DART and ODE for the recorded values anew (needs dartpy, PyODE, Panda3D)"
	@echo "make dist    build wheel and source distribution"

$(READY): pyproject.toml
	@echo "Setting up $(VENV) (once, a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: "dartpy>=6.20,<7" 2>/dev/null \
		|| echo "No dartpy wheel for this Python: DART's recorded values serve instead."
	@touch $@

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint
	$(BIN)/python -m pytest -n auto

test-gpu: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[gpu]"
	$(BIN)/python -m pytest tests/batch/test_gpu.py

test-cluster: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cluster]"
	$(BIN)/python -m pytest tests/batch/test_cluster.py

explore: $(READY)
	EXOSKEL_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n auto tests/properties

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python tools/make_docs.py

golden: $(READY)
	$(BIN)/python -m tests.golden.record_dart
	$(BIN)/python -m tests.golden.record_dart_motion
	$(BIN)/python -m tests.golden.record_ode
	$(BIN)/python -m tests.golden.record_motion

dist: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
