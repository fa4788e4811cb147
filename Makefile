# Every target sets up what it needs: `make test` on a fresh clone is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FRAMEWORKS := .venv-frameworks

.DEFAULT_GOAL := help
.PHONY: help demo test test-live test-frameworks check coverage bench docs format clean

help:
	@echo "make demo     rate a run that was really pre-empted, and read its receipt"
	@echo "make test     run the tests"
	@echo "make test-live run the tests against real servers (root; Slurm, Prometheus, VictoriaMetrics)"
	@echo "make test-frameworks run the tests with PyTorch, Lightning, Transformers and Orbax"
	@echo "make check    lint, format, types, import direction, purity, generated docs"
	@echo "make coverage tell which branches the tests do not reach"
	@echo "make bench    measure; B=NAME runs one: coverage rate start log bundle node pull emit checkpoint goodput growth"
	@echo "make docs     write the generated documents again"
	@echo "make format   format the code"
	@echo "make clean    remove the environment and caches"

$(READY): pyproject.toml tools/make_venv.sh
	@PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV) dev
	@touch $@

# Some GB of frameworks: apart, so that nobody needs them for anything but their own tests.
$(FRAMEWORKS)/.ready: pyproject.toml tools/make_venv.sh
	@PYTHON=$(PYTHON) sh tools/make_venv.sh $(FRAMEWORKS) frameworks
	@touch $@

demo: $(READY)
	@$(BIN)/tallystick demo

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-live: $(READY)
	$(BIN)/python -m pytest tests/live

test-frameworks: $(FRAMEWORKS)/.ready
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_purity.py
	$(BIN)/python tools/generate_errors.py --check

coverage: $(READY)
	$(BIN)/coverage run -m pytest -q
	$(BIN)/coverage report

bench: $(READY)
	$(BIN)/python bench/run.py $(B)

docs: $(READY)
	$(BIN)/python tools/generate_errors.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(FRAMEWORKS) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
