# One command for newcomers: `make demo` or `make test`. A machine needs Python 3.11 or newer, git and make; the rest is
# installed into .venv, at the versions and hashes of requirements.lock.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Whatever environment the caller stands in, only .venv counts here.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX UV_PYTHON UV_PROJECT_ENVIRONMENT
# Without caches every worker of the tests would compile every test anew, at each run.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
PY := $(BIN)/python
ENV := .make/env
PYTHON ?=
WORKERS ?= auto
PYTEST = $(PY) -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal
# More arguments for the tool behind a target: make test ARGS="-k inbox", make lock ARGS=--upgrade
ARGS ?=
# What test-all installs where it is missing, as command:debian-package.
COMPONENTS := tmux:tmux

.PHONY: help env demo test test-all test-hosts hosts hosts-or-not hosts-lock hosts-seen lint format types contracts bench docs lock components clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(ENV) ## create .venv and install everything into it

demo: $(ENV) ## a crew works off a plan, in real processes and worktrees
	@$(BIN)/rook demo $(ARGS)

test: $(ENV) ## the fast tests; what this machine lacks is named and skipped
	@$(PYTEST) $(ARGS)

test-hosts: hosts ## the tests with the real agent programs alone
	@ROOK_ALL_HOSTS=1 ROOK_NO_SKIPS=1 $(PYTEST) -m hosts tests/hosts $(ARGS)

# Many of these tests wait for real programs: two to a core.
test-all: WORKERS = 4
test-all: $(ENV) components hosts-or-not lint types contracts ## what CI runs: all checks, all tests, nothing skipped
	@$(PY) -m bench --ci; bench=$$?; \
	ROOK_NO_SKIPS=1 HYPOTHESIS_PROFILE=ci $(PYTEST) -m "" $(ARGS) && exit $$bench

hosts: $(ENV) ## install the agent programs and other npm packages of the tests, at their pinned versions
	@$(PY) -m tests.hosts.install
	@$(PY) -m tests.tools.kit

# Within its deadline it says what failed; the tests that need the programs fail then, and all others still run.
hosts-or-not: $(ENV)
	@$(PY) -m tests.hosts.install || echo "make test-all goes on; the tests of the agent programs will fail" >&2
	@$(PY) -m tests.tools.kit || echo "make test-all goes on; tests of the door for models will fail" >&2

hosts-lock: $(ENV) ## write the package-lock.json of tests/hosts and tests/tools anew
	@$(PY) -m tests.hosts.install lock
	@$(PY) -m tests.tools.kit lock

hosts-seen: hosts ## write anew what the agent programs give their hooks
	@ROOK_ALL_HOSTS=1 ROOK_WRITE_SEEN=1 $(PYTEST) -m hosts tests/hosts/test_seen.py tests/hosts/test_terminals.py tests/hosts/test_launched.py tests/hosts/test_recorded.py $(ARGS)

lint: $(ENV) ## ruff: rules and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(ENV) ## let ruff repair what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: $(ENV) ## basedpyright: strict in core, store and service
	@$(BIN)/basedpyright

contracts: $(ENV) ## import-linter: who may import whom
	@$(BIN)/lint-imports --no-logo

bench: $(ENV) ## measurements at the size of CI; python -m bench runs the full ones
	@$(PY) -m bench --ci $(ARGS)

docs: $(ENV) ## write the generated pages anew
	@$(PY) -m rookery.config > docs/settings.md
	@$(PY) -m rookery.front.cli.reference > docs/cli.md

lock: $(ENV) ## write requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile --system-certs pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet \
	    --output-file requirements.lock $(ARGS)
	@! grep -n '://' requirements.lock || { echo "requirements.lock names a host: docs/adr/0015" >&2; exit 1; }

components:
	@for pair in $(COMPONENTS); do \
	    command -v "$${pair%%:*}" >/dev/null && continue; \
	    [ "$$(id -u)" = 0 ] || { echo "test-all needs $${pair%%:*}: install the package $${pair##*:}" >&2; exit 1; }; \
	    apt-get install -qq -y "$${pair##*:}" || exit 1; \
	done

clean: ## remove the environment and every cache
	@rm -rf .venv .make .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# uv does not read pip's configuration. Where only pip knows the way to an index, pip installs the same lock, slower.
$(ENV): requirements.lock pyproject.toml
	@mkdir -p .make
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(MAKE) .venv
	@awk '/^uv==/ { on = 1 } on { print } on && !/\\$$/ { exit }' requirements.lock > .make/uv.txt
	@echo "installing the packages of requirements.lock into .venv"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r .make/uv.txt
	@$(BIN)/uv pip sync --quiet --system-certs --python $(PY) --require-hashes requirements.lock || { \
	    echo "uv found no way to an index; pip installs the same lock"; \
	    $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; }
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@touch $@

.PHONY: .venv
.venv:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    echo "creating .venv with $$("$$python" --version)"; \
	    exec "$$python" -m venv --clear .venv; \
	done; \
	echo "No Python 3.11 or newer with venv was found." >&2; \
	echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3" >&2; \
	exit 1
