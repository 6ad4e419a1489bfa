# Everything a contributor types. `make` alone lists it. Each target sets up .venv by itself when the lock has changed.

PY        := .venv/bin/python
READY     := .venv/.stamp
# Longest first: with the many short files at the end, no core waits for another.
TEST_DIRS := $(wildcard tests/browser tests/integration tests/contract tests/architecture tests/unit)
# A file stays on one worker, so that its server, model or process is started once.
BY_FILE   := --dist loadfile --no-loadscope-reorder
# Three workers for two cores, since many tests wait for processes, leases and pages: about a tenth quicker than two.
WORKERS   := $(shell echo $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )))
ON_ALL_CORES := -n $(WORKERS) $(BY_FILE)
# With real browsers, processes and leases, the machine itself can be late. Such a test has one more try, three of them at most in a
# whole run, and what went wrong is printed; a single file (TEST_FILE) and `make prove` have none. Unit tests need no second one, and a
# test that hung gets none: the second try would have no time limit.
SECOND_TRY := --reruns 1 --rerun-except pytest-timeout --max-suite-reruns 3 --rerun-show-tracebacks --rerun-exclude-path tests/unit --rerun-exclude-path tests/architecture
TEST_FILE ?= $(TEST_DIRS)
ARGS      ?=
export PYTHON
# Tests start some hundred Python processes: what is compiled is kept, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run chat page test test_pythons test_python integration_tests test_watch prove check static lint lint_package lint_tests fmt format bench eval docs reference build release packaging licenses pictures lock lock_uv lock_page clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z_]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(READY) page ## start the server with the applications there are (ARGS="--port 9000")
	@$(PY) -m stepwell serve $(ARGS)

chat: $(READY) ## talk to the smallest real agent in the terminal (ARGS="--model provider:name", or ARGS=--url for the server)
	@$(PY) -m stepwell chat $(ARGS)

page: $(READY) ## build the web page, if its sources have changed
	@$(PY) scripts/build-page

test: $(READY) page ## all tests, long proofs in their short form (TEST_FILE=path runs only that)
ifeq ($(origin TEST_FILE),command line)
	@case "$(TEST_FILE)" in tests/unit/*|tests/architecture/*) ;; *) ./scripts/system-packages ;; esac
	$(PY) -m pytest $(TEST_FILE) $(ARGS)
else
	@./scripts/system-packages
	$(PY) -m pytest $(TEST_DIRS) $(ON_ALL_CORES) $(SECOND_TRY) $(ARGS)
endif

test_pythons: $(READY) ## unit tests with each other Python of this machine that Stepwell supports
	@own=$$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	for version in $$(./scripts/pythons | cut -d ' ' -f 1); do \
	    [ "$$version" = "$$own" ] || $(MAKE) --no-print-directory test_python VERSION=$$version || exit 1; \
	done

test_python: .venv-$(VERSION)/.stamp
	.venv-$(VERSION)/bin/python -m pytest tests/unit -q --hypothesis-profile again -n auto $(BY_FILE) $(ARGS)

integration_tests: $(READY) page ## only the tests with real processes, files and loopback sockets
	@./scripts/system-packages
	$(PY) -m pytest tests/integration $(ON_ALL_CORES) $(ARGS)

test_watch: $(READY) ## run the unit tests again whenever a file changes
	.venv/bin/ptw . $(if $(filter command line,$(origin TEST_FILE)),$(TEST_FILE),tests/unit) $(ARGS)

prove: $(READY) ## the long forms of fuzz, race and kill loops, with their figures
	@./scripts/system-packages
	STEPWELL_PROVE=1 $(PY) -m pytest $(TEST_FILE) -m prove --timeout=1800 $(ARGS)

check: static ## format, lint, strict types, layers and architecture tests; changes nothing
	$(PY) -m pytest tests/architecture $(ARGS)

static: $(READY) page
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/lint-imports
	.venv/bin/mypy
	PATH="$(CURDIR)/.venv/bin:$$PATH" npm --prefix web run --silent check

lint: lint_package lint_tests ## ruff over everything, strict types over the package

lint_package: $(READY)
	.venv/bin/ruff check src
	.venv/bin/mypy

lint_tests: $(READY)
	.venv/bin/ruff check $(wildcard tests benchmarks evals examples)

fmt: $(READY) ## put all code in the project's form, and mend what ruff can mend
	.venv/bin/ruff check --fix-only --quiet .
	.venv/bin/ruff format .

format: fmt

bench: $(READY) ## measure speed and size beside the floor and the peer (JSON and a table)
	$(PY) benchmarks/run.py $(ARGS)

eval: $(READY) ## try real tasks with the model you have, and write docs/evaluation.md (ARGS="--times 5"; ARGS="--judge FOLDER" measures it as a judge)
	@$(PY) evals/run.py $(ARGS)

docs: $(READY) ## build the documentation site into build/docs; warnings are errors
	@PYTHONPATH=scripts $(PY) -m docs_site

reference: $(READY) ## remake the pages of docs/reference that come from the code
	@PYTHONPATH=scripts $(PY) -m reference

build: $(READY) page ## wheel and source archive into dist/
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .

release: $(READY) page ## check that a release can be made, build it into dist/ and print the commands that publish it
	$(PY) scripts/release

packaging: $(READY) page ## install the wheel with the oldest and the newest pip, and let every extra do a small job (ARGS="--extras server,mcp")
	$(PY) scripts/packaging $(ARGS)

licenses: $(READY) page ## remake THIRD_PARTY_LICENSES, after the packages of the page have changed
	$(PY) scripts/licenses

pictures: $(READY) page ## remake the pictures of README.md from the real page
	$(PY) scripts/animation
	$(PY) scripts/animation --pictures

lock: $(READY) ## remake requirements.lock from pyproject.toml (ARGS=--upgrade for newer versions)
	$(PY) -m uv pip compile pyproject.toml --system-certs --all-extras --group dev --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements.lock $(ARGS)

lock_uv: $(READY) ## remake scripts/bootstrap.lock, which has the uv that installs all others (VERSION=0.13.7)
	echo "uv==$(VERSION)" | $(PY) -m uv pip compile - --system-certs --universal --python-version 3.11 \
	    --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet --output-file scripts/bootstrap.lock

lock_page: $(READY) ## remake web/package-lock.json from web/package.json
	$(PY) scripts/build-page --lock

clean: ## remove caches and dist/ (the environments stay; rm -rf .venv .venv-* removes them)
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock scripts/bootstrap scripts/bootstrap.lock
	@./scripts/bootstrap

.venv-%/.stamp: pyproject.toml requirements.lock scripts/bootstrap scripts/bootstrap.lock
	@./scripts/bootstrap .venv-$* "$$(./scripts/pythons | sed -n 's/^$* //p')"
