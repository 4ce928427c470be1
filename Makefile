# What a newcomer types: `make demo`, then `make test`. `make help` lists the rest.
#
# Needed: Python >= 3.11, a C++20 compiler, make. Everything else (CMake and ninja too, where the
# machine has none) comes from PyPI, into the folder $(VENV) and nowhere else.

PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check
BIN = $(VENV)/bin

NATIVE = pyproject.toml CMakeLists.txt $(shell find src -name '*.cpp' -o -name '*.hpp')
SOURCES = $(NATIVE) $(shell find src -type f ! -name '*.pyc')

# Tests run in a process per core, so that none of them needs threads of BLAS.
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal

# What takes minutes says so, and pip says what it fetches and builds. $(1): what pip is told, $(2):
# what that is, in words.
define install
	@echo "Installing $(2): packages from PyPI, then the kernels are compiled, which takes minutes ..."
	@$(PIP) install $(1)
	@echo "Installed $(2)."
endef

# Stamps say what the environment holds, so that a second `make` has nothing to install:
# `package` a plain install (make demo), `editable` an install that follows the Python files
# (make test), `tools` the checkers as well. Each of the first two replaces the other.
PACKAGE = $(VENV)/.package
EDITABLE = $(VENV)/.editable
TOOLS = $(VENV)/.tools

.PHONY: help demo test test-all lint format types docs-check figures-check papers papers-full \
        sanitize mutants bench clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

## make demo        pick 8 genes out of 3051 that tell two leukaemias apart
demo: $(if $(wildcard $(EDITABLE)),$(EDITABLE),$(PACKAGE))
	$(BIN)/zeronorm select examples/data/golub.npz --features 8

## make test        the main test suite
test: $(EDITABLE)
	$(PYTEST) -m "not slow"

## make test-all    the slow tests as well
test-all: $(EDITABLE)
	$(PYTEST)

## make lint        ruff and clang-format, without changing a file
lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(filter %.cpp %.hpp,$(NATIVE))

## make format      let ruff and clang-format rewrite the files
format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter %.cpp %.hpp,$(NATIVE))

## make types       mypy, strict
types: $(TOOLS)
	$(BIN)/mypy

## make docs-check  run every example of README.md, docs/ and examples/
docs-check: $(EDITABLE)
	$(BIN)/python docs/check.py

## make figures-check  list the results in benchmarks/ whose code has changed since
figures-check: | $(VENV)/bin/python
	$(BIN)/python benchmarks/check.py

## make papers      rerun the papers' experiments at small sizes, two at a time, into benchmarks/.cache
papers: $(EDITABLE)
	$(BIN)/python benchmarks/papers/everything.py --at-once 2

## make papers-full the same at the papers' sizes: a night or two; ended runs go on
papers-full: $(EDITABLE)
	$(BIN)/python benchmarks/papers/everything.py --full

## make sanitize    kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer
sanitize: $(EDITABLE)
	bash .ci/sanitize $(BIN)/python

## make mutants     change the code that certificates rest on in every place, and see a test fail
mutants: $(EDITABLE)
	$(BIN)/python .ci/mutate --all

## make bench       each kernel against a plain read of the same memory
bench: $(EDITABLE)
	$(BIN)/python benchmarks/micro.py

## make clean       remove the environment and everything built
clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "zeronorm needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12 demo" >&2; exit 1; }
	@echo "Making the environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@echo "Updating its pip ..."
	@$(PIP) install --quiet --upgrade 'pip>=23'

$(PACKAGE): $(SOURCES) | $(VENV)/bin/python
	$(call install,.,zeronorm)
	@rm -f $(EDITABLE) $(TOOLS)
	@touch $@

$(EDITABLE): $(NATIVE) | $(VENV)/bin/python
	$(call install,--editable '.[test]',zeronorm with what its tests need)
	@rm -f $(PACKAGE)
	@touch $@

$(TOOLS): $(NATIVE) | $(VENV)/bin/python
	$(call install,--editable '.[dev]',zeronorm with what its tests and the checkers need)
	@rm -f $(PACKAGE)
	@touch $(EDITABLE) $@
