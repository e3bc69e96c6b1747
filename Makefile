# `make` lists the targets. Python 3.11+ and Java 17+ are all that must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test fast lint types docs pictures check jar matrix trial bench claims clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headway needs Python 3.11 or later, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(STAMP) ## set up everything in .venv

demo: $(STAMP) ## twelve queries on embedded Spark, stock and Klink in turns, and a report
	$(BIN)/headway demo

# Tests on servers wait for half of their time, so there is one worker more than cores. Each takes whole files, in our order.
# Bytecode is kept, or each worker would rewrite the assertions of all tests anew.
WORKERS ?= 3

test: lint types ## everything: ruff, mypy --strict, all tests, on real local Spark too (WORKERS=1 for one after the other)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Laws are tried on fewer examples here; `make test` tries them on all.
fast: $(STAMP) ## the tests that need no server, without the slow ones
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m "not spark and not slow" --hypothesis-profile fast -n 2 --dist worksteal

lint: $(STAMP) ## ruff
	$(BIN)/ruff check src tests examples tools
	$(BIN)/ruff format --check src tests examples tools

types: $(STAMP) ## mypy --strict, of tests, tools and examples too
	$(BIN)/mypy

docs: $(STAMP) ## the site of the docs, in build/site; a dead link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(STAMP) ## the pictures of the dashboard in the docs, anew (needs a Chromium)
	$(BIN)/python tools/pictures.py

check: lint types docs ## what needs no tests

jar: $(STAMP) ## compile the Java part anew, after a change to it (needs a JDK)
	$(BIN)/python tools/jar.py

matrix: $(STAMP) ## the core contract on PySpark 4.0 to 4.3, as a table (half an hour, needs a package index)
	$(BIN)/python tools/matrix.py

trial: $(STAMP) ## install the wheel in a fresh environment, as a stranger would, and try it (two minutes, needs a package index)
	$(BIN)/python tools/trial.py wan dashboard

bench: $(STAMP) ## the measurements behind the claims (about an hour)
	$(BIN)/headway bench klink

claims: $(STAMP) ## what we claim, and what we saw
	$(BIN)/headway claims

clean: ## remove what was set up
	rm -rf $(VENV) .matrix build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis headway-report spark-warehouse
