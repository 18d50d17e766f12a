# make demo: the whole system on this machine.  make test: everything CI checks, in WORKERS processes.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
TORCH = torch==2.13.0
WORKERS ?= 2

.PHONY: demo test check bench results results-shockwave agent-results docs lock clean

$(STAMP): pyproject.toml requirements/dev.txt requirements/trainers.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet -r requirements/trainers.txt
	$(BIN)/python -m pip install --quiet --no-deps -e .
	touch $@

demo: $(STAMP)
	$(BIN)/headway demo

check: $(STAMP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/cog --check docs/reference/cli.md

test: check
	$(BIN)/python -m pytest -q -n $(WORKERS)

bench: $(STAMP)
	$(BIN)/python -m pytest -q benchmarks --benchmark-only

# docs/results/PAGE.md: DATA is the folder of what was published; the page says what is in it
PAGE ?= pollux
results: $(STAMP)
	@test -n "$(DATA)" || { echo "make results needs DATA=FOLDER, what was published; docs/results/$(PAGE).md says what"; exit 2; }
	$(BIN)/python -m benchmarks.results --page $(PAGE) --data $(DATA) --processes 2

# docs/results/shockwave.md: DATA is the folder of what was published with Shockwave
results-shockwave: $(STAMP)
	@test -n "$(DATA)" || { echo "make results-shockwave needs DATA=FOLDER, what was published with Shockwave"; exit 2; }
	$(BIN)/python -m benchmarks.shockwave --data $(DATA) --processes 2

# docs/results/agent.md: DATA is a folder with rcp, MLPerf's reference convergence points
agent-results: $(STAMP)
	@test -n "$(DATA)" || { echo "make agent-results needs DATA=FOLDER, with MLPerf's rcp in it"; exit 2; }
	$(BIN)/python -m benchmarks.agent --data $(DATA)

docs: $(STAMP)
	$(BIN)/cog -r docs/reference/cli.md
	$(BIN)/mkdocs build --strict --quiet

lock:
	uv pip compile --universal --python-version 3.11 --extra service --no-header --no-emit-index-url --no-annotate \
	  pyproject.toml requirements/dev.in -o requirements/dev.txt
	uv pip compile --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate \
	  -c requirements/dev.txt --no-emit-package torch requirements/trainers.in \
	  | grep -vE '^(nvidia-|cuda-|triton)' > requirements/trainers.txt

clean:
	rm -rf $(VENV) site out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
