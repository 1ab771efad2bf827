# Every target makes what it needs first; what is made already is not made again.
# PYTHON=python3.12 chooses the interpreter of .venv, FILE=path.xlsx the workbook of the demo,
# PORT=9000 the port of the local stack.

PYTHON ?= $(shell .venv/bin/python -c '' 2>/dev/null && echo .venv/bin/python || echo python3)
BIN := .venv/bin
# Given to make only: a PORT of the environment is mostly meant for something else.
WHERE = $(if $(filter command,$(origin PORT)),--port $(PORT))

define venv
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) infra/local/make_venv.py $(1)
endef

.PHONY: audit sbom setup demo drill chaos test check bench up down lock

setup:
	$(call venv,requirements-dev.lock)

demo:
	$(call venv,requirements.lock)
	@$(BIN)/onward demo $(WHERE) $(if $(FILE),"$(FILE)")

up:
	$(call venv,requirements.lock)
	@$(BIN)/onward up $(WHERE)

down:
	$(call venv,requirements.lock)
	@$(BIN)/onward down

# All drills, or those in DRILLS="zombie burst"; the stack allows them from then on.
drill:
	$(call venv,requirements.lock)
	@$(BIN)/onward up --drills $(WHERE)
	@$(BIN)/onward drill $(DRILLS)

# SEED=… repeats the faults of an earlier round.
RUNS ?= 500
chaos:
	$(call venv,requirements.lock)
	@$(BIN)/python -m infra.local.chaos --runs $(RUNS) $(if $(SEED),--seed $(SEED))

check: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -q tests/unit/test_house.py

test: check
	@$(BIN)/pytest -n 2 --dist loadfile

# Known vulnerabilities of what the locks install; fails on findings only, and says so where no
# database can be reached. `make sbom` writes what is installed, as CycloneDX, to sbom/.
AUDIT_LOCK := requirements-audit.lock
.venv-audit/ready: $(AUDIT_LOCK) | setup
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-audit
	@$(BIN)/uv pip install --quiet --python .venv-audit --require-hashes -r $(AUDIT_LOCK)
	@touch $@

audit: .venv-audit/ready
	@$(BIN)/python -m infra.local.audit scan

sbom: .venv-audit/ready
	@$(BIN)/python -m infra.local.audit sbom

bench: setup
	@$(BIN)/python -m infra.local.bench

# Resolve anew after a change of the dependencies in pyproject.toml or infra/layer.in.
RESOLVE := $(BIN)/uv pip compile --quiet --generate-hashes
COMPILE := $(RESOLVE) --universal --python-version 3.11
lock: setup
	@$(COMPILE) pyproject.toml -o requirements.lock
	@$(COMPILE) -c requirements.lock --group dev pyproject.toml -o requirements-dev.lock
	@$(COMPILE) --group setup -o requirements-uv.lock
	@$(COMPILE) --group audit -o $(AUDIT_LOCK)
	@$(RESOLVE) --no-header --no-annotate --python-version 3.13 -c requirements.lock infra/layer.in -o infra/layer.lock
