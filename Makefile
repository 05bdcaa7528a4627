# SPDX-License-Identifier: Apache-2.0
# Every task of this repository. `make` alone lists them. Needs Python 3.11 or newer, git and make.

PYTHON ?= python3
VENV   ?= .venv
DEMO   ?= demo
LIVE   ?= live
JOBS   ?= auto
ARGS   ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" --exclude-newer "7 days"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test test-offline foreign oracles coverage check fix site golden lock live live-smoke clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(VENV)/.installed ## create the environment from the hashed lock file

# Two stamps: a change of the lock file installs packages, a change of pyproject.toml only evalsite itself.
$(VENV)/.packages: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "evalsite needs Python 3.11 or newer; say which: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "no environment: $(PYTHON) -m venv failed (on Debian: apt-get install python3-venv)" >&2; exit 2; }
	@echo "installing the pinned packages into $(VENV) (once)"
	@$(PIP) install --require-hashes --requirement requirements/dev.txt || \
		{ echo "not installed: the packages of requirements/dev.txt; is the package index reachable?" >&2; exit 2; }
	@touch $@

$(VENV)/.installed: $(VENV)/.packages pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable . || \
		{ echo "not installed: evalsite itself; the lines above tell why" >&2; exit 2; }
	@touch $@

demo: venv ## the whole loop, offline, in a new folder (DEMO=demo)
	@$(BIN)/evalsite demo --into $(DEMO)

test: venv ## all tests; ARGS="-k word" chooses
	@$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

test-offline: venv ## all tests, with no network but this machine's own (Linux)
	@$(BIN)/python scripts/offline.py $(MAKE) test

# Readers of our formats that are not ours: three Python packages beside what the system has (openssl, ssh-keygen,
# sha256sum; Go with golang.org/x/mod). What is not here is skipped, aloud; EVALSITE_FOREIGN=required makes it a failure.
foreign: venv ## verifiers that are not ours accept what we write: a line each
	@$(PIP) install --require-hashes --requirement requirements/foreign.txt || \
		echo "not installed: the packages of requirements/foreign.txt" >&2
	@$(BIN)/python -m pytest tests/foreign --quiet $(ARGS)

oracles: venv ## statistics that others compute are compared with ours
	@$(PIP) install --require-hashes --requirement requirements/oracles.txt || \
		echo "not installed: the packages of requirements/oracles.txt" >&2
	@$(BIN)/python -m pytest tests/oracles --quiet $(ARGS)

coverage: venv ## all tests with branch coverage
	@$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --cov --cov-report=term $(ARGS)

check: venv ## lint, format, types, import floors
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

fix: venv ## let ruff repair what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

site: venv ## verify the committed records and build this project's own review site
	@$(BIN)/evalsite build

golden: venv ## write generated text of the pages anew; look at the difference before you commit it
	@$(BIN)/python tests/support/worked_example.py --write
	@$(BIN)/python tests/support/help_page.py --write

lock: venv ## compile the lock files anew; UPGRADE=1 takes newer versions, none younger than a week
	@$(LOCK) $(if $(UPGRADE),--upgrade) pyproject.toml --output-file requirements/main.txt
	@$(LOCK) $(if $(UPGRADE),--upgrade) pyproject.toml requirements/dev.in --constraint requirements/main.txt \
		--output-file requirements/dev.txt
	@$(LOCK) $(if $(UPGRADE),--upgrade) requirements/live.in --constraint requirements/dev.txt \
		--output-file requirements/live.txt
	@$(LOCK) $(if $(UPGRADE),--upgrade) requirements/foreign.in --constraint requirements/dev.txt \
		--output-file requirements/foreign.txt
	@$(LOCK) $(if $(UPGRADE),--upgrade) requirements/oracles.in --constraint requirements/dev.txt \
		--output-file requirements/oracles.txt

# The inference engine is no part of the environment until somebody asks for it.
ENGINE = $(PIP) install --require-hashes --requirement requirements/live.txt
BESIDE_A_SERVER = EVALSITE=$(abspath $(BIN))/evalsite $(BIN)/python tests/live/run_live.py

live: venv ## a whole campaign on a real small language model, in a new folder (LIVE=live)
	@$(ENGINE)
	@$(BESIDE_A_SERVER) -- scripts/live_campaign.sh $(LIVE) live-smollm2

live-smoke: venv ## three cases of it, thrown away; skipped, aloud, where the engine or its file can't be had
	@$(ENGINE) || { echo "SKIPPED: the packages of requirements/live.txt can't be installed here" >&2; exit 0; }; \
		scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && export EVALSITE_KEYS="$$scratch/keys" && \
		$(BESIDE_A_SERVER) --or-skip -- scripts/live_campaign.sh "$$scratch/project" smoke-smollm2

clean: ## remove what was built; the environment, records and keys stay
	@rm -rf site .evalsite dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
