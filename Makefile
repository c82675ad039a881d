# The verbs a newcomer needs. `make` alone lists them. Everything is built into .venv and target;
# nothing else is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Files whose age says whether a step is up to date. Of the last two one exists at a time: it names
# the profile that the engine in place was built with. `quick` checks the physics as it runs, for
# tests; `release` is fast, for users.
TOOLS := $(VENV)/.tools
SITE_TOOLS := $(VENV)/.site-tools
QUICK := $(VENV)/.quick
RELEASE := $(VENV)/.release
# The package of published experiments is installed beside the product.
PAPERS := $(VENV)/.papers
# For what does not depend on the profile: the one in place.
EITHER := $(if $(wildcard $(RELEASE)),$(RELEASE),$(QUICK))

# Processes that Python's tests run in: one more than processors, as tests wait for other programs;
# with two a sixth of two processors' time is left idle. Each imports all tests, which takes five
# seconds, and prepares by itself what tests share.
WORKERS ?= 3
IN_PARALLEL := -n $(WORKERS) --dist worksteal
# Processes of tests that take real time, which mostly wait; and what they and those of Rust said,
# until they end.
WAITING ?= 2
WAITED := $(VENV)/waited.txt
RUST_SAID := $(VENV)/rust.txt
# Where these tests are, and those that want the machine for themselves: to import all files takes
# each process four seconds more. tests/conftest.py sees to it that none is missed.
REAL_TIME = $(shell grep -rlE 'real_time|emulation' tests --include='test_*.py')
ALONE = $(shell grep -rl 'mark\.alone' tests --include='test_*.py')

# Benchmarks have no tests, and what they need takes long to compile. The binding has none either,
# but where it is among the tested, all are built from the crates that the extension is built from.
RUST_TESTED := --profile quick --workspace --exclude ackclock-bench

RUST_SOURCES := $(shell find crates -name '*.rs' -path '*/src/*') \
    $(wildcard crates/*/Cargo.toml crates/ackclock-core/bpf/*) Cargo.toml Cargo.lock
DEMO := examples/leaky-pipes.toml
DEMO_OUT := out/leaky-pipes
# Of the demo's emulation: three replicates of its two points.
DEMO_REAL_TIME := 36 s

# Cargo counts its own processes, not make's.
CARGO := MAKEFLAGS= cargo
# The workspace, and what is built outside of it.
LOCKS := Cargo.lock fuzz/Cargo.lock crates/ackclock-kernel/Cargo.lock

# Most modules of packages are never imported: each is compiled when it is.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Where cargo keeps what it has fetched.
REGISTRY := $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src

# Plain `python3` may be another one, or none at all.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Tests start hundreds of processes: what Python has compiled is kept, and not beside the sources.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help build demo test test-long test-fast \
    test-rust test-computing test-waiting \
    test-papers test-oracle duel reproduce-check bench lab kernel bpf wheel kernel-wheel \
    lint lint-rust lint-python audit docs docs-pages docs-rust docs-write site evaluations \
    changelog clean
.DELETE_ON_ERROR:

help: ## list these
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' \
	  $(firstword $(MAKEFILE_LIST))

build: $(RELEASE) $(PAPERS) ## build everything into .venv

# Exit 4 (machine too busy) still writes the page.
demo: $(RELEASE) $(PAPERS) ## answer the leaky-pipe question by every method, write a page
	$(BIN)/ackclock compare $(DEMO) -o $(DEMO_OUT) --real-time '$(DEMO_REAL_TIME)' || test $$? = 4
	$(BIN)/ackclock report $(DEMO_OUT)
	@echo
	@echo "  page    $(DEMO_OUT)/report.html   open it in a browser"
	@echo "  next    $(BIN)/ackclock lab $(DEMO)"

# What is rarely decisive and takes long runs in CI only: searches, statistics, big catalogues, and
# comparisons with other programs.
LONG := (long or peer) and not (alone or oracle)

# What takes real time mostly waits and demands no speed of the machine, so that it goes on beside
# what computes, and Rust's tests, too.
test: $(QUICK) $(PAPERS) ## run all tests but the long ones, on an engine that checks the physics
	$(MAKE) --no-print-directory --jobs=3 test-computing test-waiting test-rust
	@echo 'The engine in $(VENV) has debug assertions and is slow; `make build` installs the fast one.'

# What measures the kernel comes last, and has the machine for itself.
test-long: $(QUICK) $(PAPERS) ## run the tests that rarely decide and take long; CI does
	$(BIN)/python -m pytest $(IN_PARALLEL) -m '$(LONG)'
	$(BIN)/python -m pytest -m 'alone and not oracle' $(ALONE)

test-fast: $(QUICK) $(PAPERS) ## run the tests that take no real time, no other program and not long
	$(CARGO) test --quiet $(RUST_TESTED) --lib
	$(BIN)/python -m pytest -q $(IN_PARALLEL) -m 'not (slow or long or real_time or peer)'

# The loader of controls is a program and a workspace of its own: it needs libelf.
KERNEL_TARGET := target/kernel
KERNEL_NEEDS := libelf.h zlib.h

kernel: $(BIN)/python ## build what loads controls into the running kernel, into .venv
	@for header in $(KERNEL_NEEDS); do \
	  echo "#include <$$header>" | $${CC:-cc} -E -x c - > /dev/null 2>&1 || { \
	    echo "make kernel needs a C compiler and $$header; on Debian and Ubuntu:" \
	      "apt install gcc libelf-dev zlib1g-dev"; exit 1; }; \
	done
	$(CARGO) build --quiet --release --manifest-path crates/ackclock-kernel/Cargo.toml \
	  --target-dir $(KERNEL_TARGET)
	install $(KERNEL_TARGET)/release/ackclock-kernel-host $(BIN)/

# Controls are compiled by one release, so that everyone gets the same code; a test compares. They
# are in the repository, and a checkout's times say nothing of their age: no rule rebuilds them.
BPF := crates/ackclock-core/bpf
CLANG := clang-16
LLVM_STRIP := llvm-strip-16

bpf: ## compile the controls for the kernel (clang 16)
	set -e; cd $(BPF); for source in *.bpf.c; do \
	  $(CLANG) -O2 -g -Wall -Werror -target bpf -mcpu=v3 -fdebug-compilation-dir=. \
	    -c $$source -o $${source%.c}.o; \
	  $(LLVM_STRIP) -g $${source%.c}.o; \
	done

test-rust: # run the tests of the Rust crates
	@$(CARGO) test $(RUST_TESTED) > $(RUST_SAID) 2>&1; \
	  code=$$?; echo; echo 'Tests of the Rust crates:'; cat $(RUST_SAID); exit $$code

test-computing: $(QUICK)
	$(BIN)/python -m pytest $(IN_PARALLEL) -m 'not (real_time or $(LONG))'

test-waiting: $(QUICK)
	@$(BIN)/python -m pytest -n $(WAITING) --dist worksteal \
	  -m 'real_time and not (alone or oracle or $(LONG))' $(REAL_TIME) > $(WAITED) 2>&1; \
	  code=$$?; echo; echo 'Tests that take real time:'; cat $(WAITED); exit $$code

# Draws each conclusion again, and runs each recorded run shortly: minutes, rarely decisive.
test-papers: $(QUICK) $(PAPERS) ## run the tests of the published experiments
	$(BIN)/python -m pytest $(IN_PARALLEL) papers/tests

test-oracle: $(QUICK) ## compare limits and controls with the kernel's (root, quiet machine)
	$(BIN)/python -m pytest -m oracle
	$(MAKE) --no-print-directory duel

# What the kernel does is recorded, and then given to the engine. Seeds: the first and the last.
SEEDS := 1-120
FAMILIES := random reordering no-sack
# Share of each family that has to be equal.
LEAST := 0
DUELS := out/duels

duel: $(QUICK) ## compare the sender with the kernel, ACK by ACK (root, quiet machine)
	for family in $(FAMILIES); do \
	  $(BIN)/python tests/peers/duel.py $(DUELS)/$$family --family $$family --seeds $(SEEDS) \
	    || exit; \
	done
	$(CARGO) build --quiet --profile quick --package ackclock-measure --example duel
	for family in $(FAMILIES); do \
	  echo; echo "Duels of the family $$family:"; \
	  target/quick/examples/duel --least $(LEAST) $(DUELS)/$$family/*.duel || exit; \
	done

reproduce-check: $(QUICK) $(PAPERS) ## run changed experiments in full, record their verdicts
	$(BIN)/python -m ackclock.reproduction.check papers/tests/recorded

bench: $(RELEASE) ## run the benchmarks (minutes; BENCHMARKS.md says what they mean)
	$(BIN)/python benches/run.py
	$(BIN)/python benches/models.py
	$(BIN)/python benches/measure.py
	$(BIN)/python benches/sweeps.py
	$(CARGO) bench --package ackclock-bench --bench '*'

lab: $(TOOLS) ## build the engine of lab pages (rustup target add wasm32-unknown-unknown)
	$(BIN)/python tools/lab_engine.py

# Without the remapping a wheel would name the folders that it was built in, as its list of
# components does at first.
wheel: $(TOOLS) ## build wheels of both packages into dist, for a Linux as new as this one
	$(BIN)/python tools/lab_engine.py --check
	RUSTFLAGS="--remap-path-prefix=$(REGISTRY)=registry --remap-path-prefix=$(CURDIR)=ackclock" \
	  CARGO_TARGET_DIR=target/wheel $(BIN)/maturin build --release --out dist
	$(BIN)/python tools/portable_wheel.py dist/ackclock-*.whl
	@$(BIN)/python tools/check_wheel.py dist/ackclock-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./papers

kernel-wheel: $(TOOLS) ## build the wheel of what loads controls into the kernel, into dist
	$(BIN)/maturin build --release --manifest-path crates/ackclock-kernel/Cargo.toml \
	  --target-dir $(KERNEL_TARGET) --out dist
	$(BIN)/python tools/portable_wheel.py dist/ackclock_kernel-*.whl

lint: lint-rust lint-python ## check format, lints, types and who imports whom

# The binding's build asks the environment's Python which one it is. Fuzz targets are checked and
# not linked, so libFuzzer, which is C++, need not be built.
lint-rust: $(BIN)/python
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	CUSTOM_LIBFUZZER_PATH=unbuilt/libfuzzer.a CARGO_TARGET_DIR=target \
	  $(CARGO) check --quiet --manifest-path fuzz/Cargo.toml

lint-python: $(EITHER) $(PAPERS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd papers && ../$(BIN)/lint-imports

# Strict: what the database does not know counts as a failure, not as a pass.
audit: ## ask for known vulnerabilities in what is built and tested with (cargo-audit, pip-audit)
	for lock in $(LOCKS); do $(CARGO) audit --file $$lock || exit 1; done
	$(PYTHON) -m pip_audit --strict --disable-pip --no-deps --requirement .ci/constraints.txt

docs: docs-pages docs-rust ## write the pages to out/site-pages, build Rust's documentation

docs-pages: $(EITHER) $(PAPERS)
	$(BIN)/python tools/documentation_site.py out/site-pages
	$(BIN)/python tools/exercise_notebooks.py --check

docs-rust: $(BIN)/python
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

docs-write: $(EITHER) ## write the notebooks of the exercises
	$(BIN)/python tools/exercise_notebooks.py

site: $(SITE_TOOLS) $(EITHER) $(PAPERS) ## build the documentation site into out/site
	$(BIN)/python tools/lab_engine.py --check
	$(BIN)/python tools/documentation_site.py out/site-pages
	rm -rf out/site
	$(BIN)/zensical build --strict --clean
	$(BIN)/python tools/evaluations.py pages out/site/evaluations
	$(BIN)/python tools/live_pages.py out/site

evaluations: $(RELEASE) ## evaluate ten controls by RFC 9743, record it for the site (5 minutes)
	$(BIN)/python tools/evaluations.py make out/evaluations

# The version is that of Cargo.toml, which a release sets first.
changelog: $(TOOLS) ## move the files of changes into CHANGELOG.md, for a release
	$(BIN)/towncrier build --yes \
	  --version $$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)

clean: ## remove what was built, and the demo's results
	rm -rf $(VENV) $(DEMO_OUT) python/ackclock/_native*.so python/ackclock/laboratory/static/*.wasm
	cargo clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ackclock needs Python 3.11 or newer; for example: make PYTHON=python3.12" >&2; exit 1; }
	@command -v cargo > /dev/null || { \
	  echo "cargo not found; install Rust, for example from https://rustup.rs" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Python's tools and the packages that pyproject.toml asks for, without building ackclock itself.
$(TOOLS): pyproject.toml | $(BIN)/python
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*project["build-system"]["requires"], *project["project"]["dependencies"], \
	  *project["project"]["optional-dependencies"]["dev"], sep="\n")' > $(VENV)/requirements.txt
	$(PIP_INSTALL) --requirement $(VENV)/requirements.txt
	touch $@

$(SITE_TOOLS): $(TOOLS)
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*project["project"]["optional-dependencies"]["docs"], sep="\n")' > $@.txt
	$(PIP_INSTALL) --requirement $@.txt
	touch $@

# An editable install: changes to Python files need no build. Going from one profile to the other
# only installs again.
$(QUICK): $(TOOLS) $(RUST_SOURCES)
	$(call install,quick)
	@rm -f $(RELEASE)
	touch $@

$(RELEASE): $(TOOLS) $(RUST_SOURCES)
	$(call install,release)
	@rm -f $(QUICK)
	touch $@

# What it needs is installed: nothing is fetched.
$(PAPERS): papers/pyproject.toml | $(TOOLS)
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable papers
	touch $@

define install
	MAKEFLAGS= VIRTUAL_ENV=$(CURDIR)/$(VENV) PIP_QUIET=1 \
	  $(BIN)/maturin develop --profile $(1) --quiet
	@$(BIN)/python tools/lab_engine.py --clean
endef
