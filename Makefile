# Every target sets up what it needs: a virtual environment in .venv, updated when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
VALIDATOR := $(VENV)/gltf-validator
SARIF_VALIDATOR := $(VENV)/sarif-validator
EXTERNAL := .venv-external
EXTERNAL_READY := $(EXTERNAL)/.ready

EXAMPLES ?= 2000

ONLY ?=
PART ?= 1/4
TIME ?= 600
READER ?= skel
GOAL ?= 1000000

.PHONY: help demo view test test-all test-part slow-tests test-external external gpu test-gpu cluster test-cluster explore fuzz fuzz-lines coverage audit
.PHONY: oldest browser validator lint bench docs site pictures golden dist clean

help:
	@echo "make demo    show what exoskel does, on the bundled samples"
	@echo "make view    open a sample in the browser"
	@echo "make test    run linters, the type checker, and a few cases of every test (minutes)"
	@echo "make test-all  run linters, the type checker and all tests"
	@echo "make test-part  run a part of the tests that 'make test' does not (PART=1/4)"
	@echo "make lint    run the linters, the type checker and the import contracts only"
	@echo "make test-external  compare written files with MuJoCo, Pinocchio, Drake, DART, usd-core and Newton (large wheels, in .venv-external)"
	@echo "make test-gpu      test MuJoCo Warp (on its CPU device without a GPU; the first run takes minutes)"
	@echo "make test-cluster  test Ray on this machine"
	@echo "make explore run the property tests on 2000 new documents each (EXAMPLES=n)"
	@echo "make fuzz    fuzz a reader: READER=skel (xode, urdf, sdf, mjcf, mesh, trajectory, comment, xml, embedded, pipeline, options, names, bombs), TIME=600 seconds at most"
	@echo "make fuzz-lines  fuzz a reader faster, guided by the lines that it reaches (fastest with Python 3.12 or later)"
	@echo "make coverage  measure the line coverage of readers and writers"
	@echo "make audit   look for known vulnerabilities in the dependencies (needs the network)"
	@echo "make oldest  run the tests with the oldest allowed versions of the dependencies"
	@echo "make bench   run the benchmarks, side by side with DART, PyODE and MuJoCo"
	@echo "make docs    regenerate the reference pages"
	@echo "make site    build the documentation as a site in build/site, with search and a gallery"
	@echo "make pictures  retake the pictures in the documentation (needs Chromium and dartpy)"
	@echo "make golden  record the reference values of DART and ODE again (needs dartpy, PyODE, Panda3D)"
	@echo "make dist    build wheel and source distribution"

$(READY): pyproject.toml
	@echo "Setting up $(VENV) (once, a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: "dartpy>=6.20,<7" 2>/dev/null \
		|| echo "No dartpy wheel for this platform: recorded values of DART are used instead."
	@touch $@

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

view: $(READY)
	$(BIN)/exoskel view dart://sample/skel/walker.skel

# Chromium for the viewer tests and EGL for the rendering tests; without them these tests are skipped.
browser:
	@{ command -v chromedriver && { ! command -v ldconfig || ldconfig -p | grep -q libEGL.so.1; }; } >/dev/null \
		|| { $$(test "$$(id -u)" = 0 || echo sudo -n) sh -c "apt-get update -qq && \
			DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver \
			libegl1 libgl1-mesa-dri" \
			>/dev/null 2>&1; } \
		|| echo "Chromium or EGL cannot be installed: the tests that need them are skipped."

# The glTF validator of the Khronos Group, and Microsoft's validator of SARIF; without them their tests are skipped.
validator:
	@test -d $(VALIDATOR)/node_modules/gltf-validator \
		|| npm install --silent --no-save --no-audit --no-fund --prefix $(VALIDATOR) gltf-validator@2.0.0-dev.3.10 >/dev/null 2>&1 \
		|| echo "The glTF validator cannot be installed: the tests that need it are skipped."
	@test -d $(SARIF_VALIDATOR)/node_modules/@microsoft/sarif-multitool \
		|| npm install --silent --no-save --no-audit --no-fund --prefix $(SARIF_VALIDATOR) @microsoft/sarif-multitool@5.7.0 \
			>/dev/null 2>&1 \
		|| echo "The SARIF validator cannot be installed: the tests that need it are skipped."

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Folders, not packages: to find a package, coverage would import NumPy, which cannot be imported twice.
COVERED = --cov=src/exoskel/formats --cov=src/exoskel/source --cov-report=term:skip-covered --cov-fail-under=90

# On a busy machine, a real browser can be too slow for a test: tests that fail are repeated once, one after another.
AGAIN = $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --snapshot-warn-unused --snapshot-disable-unused

test: lint
	$(BIN)/python -m pytest -n auto --quick --durations=10 --junitxml=build/quick-tests.xml || $(AGAIN)

test-all: test
	$(BIN)/python -m pytest -n auto --rest --durations=25 --junitxml=build/other-tests.xml || $(AGAIN)

# A part of the tests that `make test` does not run, such as PART=2/4.
test-part: $(READY)
	$(BIN)/python -m pytest -n auto --rest --part $(PART) --durations=25 || $(AGAIN)

# Records which tests are slow, from the last run of all tests.
slow-tests: $(READY)
	$(BIN)/python -m tests.support.quick_tests build/quick-tests.xml build/other-tests.xml

# The first Python of the system or of pyenv that meets a condition, else the usual one.
PYTHONS = $(PYTHON) python3.12 python3.13 python3.14 python3.11 \
	$(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[1-4].*/bin/python3)
python_with = $(or $(firstword $(foreach one,$(PYTHONS),\
	$(shell $(one) -c "import sys; sys.exit(not ($(1)))" >/dev/null 2>&1 && echo $(one)))),$(PYTHON))

# The external readers, in a separate environment: they are large and pin many packages.
$(EXTERNAL_READY): tests/external/requirements.txt tests/external/models.txt
	@echo "Setting up $(EXTERNAL) (once, a few minutes, 1.9 GB) ..."
	@test -x $(EXTERNAL)/bin/python || $(call python_with,sys.version_info[1] > 11) -m venv $(EXTERNAL)
	@$(EXTERNAL)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r $<
	@$(EXTERNAL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/external/models.txt
	@touch $@

# Further readers that cannot share that environment, one environment for each group.
GROUPS := mujoco4 mujoco3 mjcf urdf pinocchio dart isaac
GROUPS_READY := $(GROUPS:%=$(EXTERNAL)-%/.ready)

GROUP_PYTHON = $(PYTHON)
# DART 6.20.3 needs Python 3.12 or newer; without one, DART 6.20.0 is used.
$(EXTERNAL)-dart/.ready: GROUP_PYTHON = $(call python_with,sys.version_info[1] > 11)
$(EXTERNAL)-isaac/.ready: GROUP_PYTHON = $(call python_with,sys.version_info[1] < 13)

$(EXTERNAL)-%/.ready: tests/external/requirements/%.txt
	@test -x $(@D)/bin/python || $(GROUP_PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r $<
	@touch $@

external: $(EXTERNAL_READY) $(GROUPS_READY)

test-external: $(READY) $(EXTERNAL_READY) $(GROUPS_READY)
	$(BIN)/python -m tests.external --python $(EXTERNAL)/bin/python --only "$(ONLY)"
	$(BIN)/python -m tests.external.other_readers --only "$(ONLY)" $(foreach group,$(GROUPS),--python $(group)=$(EXTERNAL)-$(group)/bin/python)
	$(BIN)/python -m tests.external.public_models --python $(EXTERNAL)/bin/python --only "$(ONLY)"
	$(BIN)/python tools/make_docs.py

gpu: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[gpu]"

test-gpu: gpu
	$(BIN)/python -m pytest tests/batch/test_gpu.py

cluster: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cluster]"

test-cluster: cluster
	$(BIN)/python -m pytest tests/batch/test_cluster.py

explore: $(READY)
	EXOSKEL_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n auto tests/properties tests/motion/test_random_worlds.py

# Corpus and figures are stored in build/fuzz.
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris coverage
	nice -n 19 $(BIN)/python -m tests.fuzz $(READER) --time $(TIME) --goal $(GOAL)
	$(BIN)/python -m tests.fuzz.cover $(READER)
	@cat build/fuzz/$(READER).json

# A million executions in less than an hour with Python 3.12 or later: guided by lines, without instrumentation.
fuzz-lines: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	nice -n 19 $(BIN)/python -W ignore -m tests.fuzz $(READER) --lines --time $(TIME) --goal $(GOAL)
	$(BIN)/python -m tests.fuzz.cover $(READER)
	@cat build/fuzz/$(READER).json

coverage: $(READY)
	$(BIN)/python -m pytest -n auto $(COVERED)

# If pip-audit cannot be installed, the script reports that nothing was audited.
audit: $(READY)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python tools/audit.py $(AUDIT)

# The lower bounds of pyproject.toml.
oldest:
	@test -x build/oldest/bin/python || $(PYTHON) -m venv build/oldest
	@build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -c tools/oldest.txt
	build/oldest/bin/python -m pytest -n auto $(TESTS)

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python tools/make_docs.py

# Links and anchors that lead nowhere are errors.
site: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[site,view]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "The site is in build/site/index.html."

pictures: $(READY)
	$(BIN)/python -m tools.make_pictures

golden: $(READY)
	$(BIN)/python -m tests.golden.record_dart
	$(BIN)/python -m tests.golden.record_dart_motion
	$(BIN)/python -m tests.golden.record_soft_motion
	$(BIN)/python -m tests.motion.record_worlds
	$(BIN)/python -m tests.motion.agreement record
	$(BIN)/python -m tests.golden.record_ode
	$(BIN)/python -m tests.golden.record_motion
	$(BIN)/python -m tests.golden.record_hostile

dist: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) $(EXTERNAL) $(GROUPS:%=$(EXTERNAL)-%) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
