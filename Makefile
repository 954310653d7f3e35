# All that is done with this project, by name. Needs make, Python 3.11 or newer and, the first time, a package index.
# A fresh clone needs no other command than the one you want: each target sets up .venv first.

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# The interpreter that makes .venv; without it the first one of these that is new enough and complete.
PYTHON ?=
CANDIDATES := $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3 python)
# How many tests run at once.
WORKERS ?= 2
# The resolver that `make lock` uses, in a throw-away venv.
UV := uv==0.13.9

VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python
# The stamp holds the folder it was made in: a venv that was moved, or whose interpreter is gone, is made anew.
READY := $(shell test "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" && $(RUN) -c "" 2>/dev/null && echo yes)

.PHONY: help setup lock demo docs check test bench sim format lint types clean FORCE

help: ## show this list
	@echo "make TARGET, where TARGET is one of:"
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):[^#]*## (.*)$$/  \1	\2/' | expand -t 12

setup: $(STAMP) ## make .venv with everything in it (every other target does this first)

# Sets $$python, or says what to install and fails.
define find_python
python=""; bare=""; \
for candidate in $(CANDIDATES); do \
  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
  if "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then python="$$candidate"; break; fi; \
  bare="$${bare:-$$candidate}"; \
done; \
if test -z "$$python" && test -n "$$bare"; then \
  echo "setup: $$bare ($$("$$bare" --version)) cannot make a venv: its module ensurepip is missing." >&2; \
  echo "       On Debian and Ubuntu: apt-get install python3-venv (python3.12-venv for a python3.12 beside the system's)." >&2; exit 1; \
elif test -z "$$python"; then \
  echo "setup: found no Python 3.11 or newer; looked for:" $(CANDIDATES) >&2; \
  echo "       Install one of 3.11, 3.12, 3.13 (Debian: apt-get install python3 python3-venv; macOS: brew install python@3.13)," >&2; \
  echo "       or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; \
fi
endef

$(STAMP): requirements.lock pyproject.toml $(if $(READY),,FORCE)
	@if $(RUN) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && test "$$(cat $(STAMP) 2>/dev/null || echo "$(CURDIR)")" = "$(CURDIR)"; then \
	  echo "setup: bringing $(VENV) up to date ($$($(RUN) --version))"; \
	else \
	  $(find_python); \
	  echo "setup: making $(VENV) ($$("$$python" --version))"; \
	  rm -f $(STAMP); "$$python" -m venv --clear $(VENV); \
	fi
	@$(RUN) -c 'import sys; sys.version_info < (3, 14) or print("setup: Python 3.14 and newer are not tested; 3.11, 3.12 and 3.13 are")'
	@echo "setup: installing what requirements.lock lists (the first time this takes a minute or two)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@printf '%s\n' "$(CURDIR)" > $(STAMP)
	@echo "setup: ready"

lock: ## resolve the dependencies anew into requirements.lock (UPGRADE=1: to their newest versions)
	@$(find_python); set -e; \
	folder="$$(mktemp -d)"; trap 'rm -rf "$$folder"' EXIT; \
	echo "lock: resolving"; \
	"$$python" -m venv "$$folder"; \
	"$$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$(UV)"; \
	"$$folder/bin/uv" --no-config pip compile pyproject.toml --quiet --all-extras --group dev --group docs --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header $(if $(UPGRADE),--upgrade) --output-file requirements.lock
	@$(MAKE) setup
	@$(RUN) -m pytest -q tests/arch/test_lock.py

demo: setup ## the checkout sample for real: charged, compensated, paused, and killed in the middle of a step
	@$(RUN) -m samples.checkout.demo

docs: setup ## build the documentation into site/; a warning or a broken link fails it
	@$(RUN) -m sphinx --quiet --fail-on-warning --keep-going --fresh-env -c docs . site
	@echo "docs: open site/index.html"

lint: setup
	@echo "== format and lint (ruff)"
	@$(RUN) -m ruff format --check --quiet . || { echo "make format puts this right" >&2; exit 1; }
	@$(RUN) -m ruff check --quiet .

types: setup
	@echo "== types (pyright strict)"
	@$(RUN) -m pyright --pythonpath $(RUN)
	@echo "== types (mypy strict)"
	@$(RUN) -m mypy

check: lint types ## format, lint, types, import rules and the fast tests: before every commit
	@echo "== fast tests"
	@$(RUN) -m pytest -q -n $(WORKERS) -m "not slow" tests/unit tests/contract tests/arch

test: lint types ## everything, as CI runs it
	@echo "== all tests"
	@$(RUN) -m pytest -n $(WORKERS)

bench: setup ## measure throughput and latency
	@$(RUN) -m tests.benchmarks

sim: ## simulation by seeds: not built yet
	@echo "make sim is not built yet: there is no simulated runtime to feed seeds to. make test runs all tests there are." >&2; exit 2

format: setup ## put the code into its format, and fix what can be fixed safely
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

clean: ## remove .venv, caches and what builds left
	@rm -rf $(VENV) build dist site .ruff_cache .mypy_cache .pytest_cache .import_linter_cache .grimp_cache .hypothesis
	@find ankka sidecar samples tests -name __pycache__ -type d -prune -exec rm -rf {} +
