# The first two commands on a fresh clone: `make demo`, `make test`. Each target installs only what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(VENV)/constraints.txt
ARGS ?=
SEED ?=
MINUTES ?= 2
TABLE2 ?= runs/table2
EUROPARL ?= runs/europarl
# With these options an experiment leaves no results, so there is nothing to report.
NO_RESULTS := $(filter --dry-run --estimate --list,$(ARGS))
DRY_RUN := $(filter --dry-run,$(ARGS))
ROWS := transformer transformer+reg qcn qcn+reg capsnet qcn-shuffled zhang-all han-encoder
# One single-threaded process per core. A test file runs in one process, so its fixtures are created once; tests/conftest.py
# sets the order of files.
PYTEST := -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
PARALLEL := OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST)
# The lowest versions that pyproject.toml allows. Newer packages around them may call them deprecated.
LOWEST := .venv-lowest
INSTALL_LOWEST := $(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt
PARALLEL_LOWEST := OMP_NUM_THREADS=1 $(LOWEST)/bin/python $(PYTEST) -m "not stress" -W default::DeprecationWarning -W default::PendingDeprecationWarning
WEB_TOOLS := beartype deepl httpx hypothesis libretranslatepy pytest pytest-xdist schemathesis
WEB_TESTS := tests/unit/web tests/cli/test_cli_serve.py
# The lowest schemathesis finds no valid request for an upload.
NOT_LOWEST := --deselect tests/unit/web/test_app_openapi.py::test_a_hundred_generated_requests_cause_no_server_error

.PHONY: help setup dev demo table2 europarl trials series series-data series-sizes test test-lowest test-lowest-web check lint fast docs bench stress chaos clean
.DEFAULT_GOAL := help

help:  ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY)  ## Create .venv and install docaps in it (fast when nothing changed)

dev: $(READY_DEV)  ## Also install what tests and documentation need

# An installed torch, for example one with CUDA, is kept: the pin applies only if there is none.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "docaps needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $$($(PYTHON) -c 'import torch' 2>/dev/null && echo --system-site-packages) $(VENV); }
	@if $(BIN)/python -c 'import torch' 2>/dev/null; then grep -v '^torch==' constraints.txt; else cat constraints.txt; fi > $(VENV)/constraints.txt
	@echo "installing docaps and its dependencies (a few minutes the first time)"
	@$(INSTALL) -e '.[files,serve]'
	@touch $@

$(READY_DEV): $(READY)
	@echo "installing what the tests need"
	@$(INSTALL) -e '.[dev]'
	@npm install --silent --no-audit --no-fund --fetch-retries 1 --fetch-timeout 20000 --prefix $(VENV)/axe axe-core@4.14.0 >/dev/null 2>&1 || echo "no axe-core from npm: the accessibility test will be skipped"
	@touch $@

demo: setup  ## Train two small models, without and with context, and compare them (about 5 minutes)
	@$(BIN)/docaps demo $(ARGS)

table2: setup  ## Train the systems of the paper's Table 2 on mini-documents, and report (about 12 minutes on 2 idle cores)
	@$(BIN)/docaps experiment table2 --dir $(TABLE2) --steps 1000 --jobs 2 $(ARGS)
ifeq ($(NO_RESULTS),)
	@$(BIN)/docaps diagnose $(TABLE2)/seed-1/qcn+reg --limit 20 --items 200 --out $(TABLE2)/seed-1/qcn+reg/diagnosis.json --overwrite
	@$(BIN)/docaps report $(TABLE2) --out $(TABLE2)/report.html --overwrite
endif

# DATA: a folder with europarl.{train,dev,test}.{en,de}.gz, a line <d> before each document, and optionally contrastive/
# with mt-geneval/ and ctxpro/. Stop it at any time: the same command continues and keeps finished runs.
AUXILIARY := $(DATA)/contrastive/ctxpro/auxiliary.opensubtitles.en-de.dev.json
CHOICES := $(BIN)/docaps contrast $(EUROPARL)/runs --keep
europarl: setup  ## Train and compare systems on Europarl (make europarl DATA=DIR); resumes where it stopped
	@test -e "$(DATA)/europarl.train.en.gz" || { echo "make europarl DATA=DIR: no europarl.train.en.gz in DIR='$(DATA)'"; exit 1; }
ifeq ($(DRY_RUN),)
	@$(BIN)/docaps prepare --recipe europarl-small --out $(EUROPARL)/prepared \
	  $(foreach part,train dev test,--$(part) $(DATA)/europarl.$(part).en.gz $(DATA)/europarl.$(part).de.gz)
else
	@test -e $(EUROPARL)/prepared || { echo "nothing is done yet: $(EUROPARL)/prepared comes first (make europarl without --dry-run)"; exit 1; }
endif
	@$(BIN)/docaps experiment table2 --profile europarl-small --corpus $(EUROPARL)/prepared --dir $(EUROPARL)/runs --jobs 2 \
	  $(foreach row,$(ROWS),--only $(row)) $(ARGS)
ifeq ($(NO_RESULTS),)
	@test ! -e $(DATA)/contrastive/mt-geneval || $(CHOICES) mt-geneval --set mt-geneval $(DATA)/contrastive/mt-geneval
	@test ! -e $(AUXILIARY) || $(CHOICES) ctxpro-auxiliary --set ctxpro $(AUXILIARY)
	@for run in $(foreach row,$(filter-out transformer%,$(ROWS)),$(EUROPARL)/runs/seed-*/$(row)); do \
	  test ! -e $$run/results.json || test -e $$run/diagnosis.json || $(BIN)/docaps diagnose $$run --no-bleu --out $$run/diagnosis.json || exit 1; done
	@$(BIN)/docaps report $(EUROPARL)/runs --out $(EUROPARL)/report.html --overwrite
endif

trials: setup  ## Vary the QCN's settings one at a time, from the models of `make europarl`, on the development set
	@$(BIN)/docaps experiment trials --dir $(EUROPARL)/runs --jobs 2 $(ARGS)
ifeq ($(NO_RESULTS),)
	@$(BIN)/docaps report $(EUROPARL)/runs --out $(EUROPARL)/report.html --overwrite
endif

# The long comparison (docs/explanation/results.md). DATA: a folder with europarl.{big,dev,test}, {scenes,chat}.{train,dev},
# {sutta,debian}.train, {ted,news}.dev, each for .en and .de, compressed. PIECE, such as 2h: stop after this time; the same
# command goes on. RECIPE and SEEDS may be changed before the first call. INTO: a Markdown file for the tables.
SERIES ?= runs/series
RECIPE ?= mixed-small
SEEDS ?= 1,2,3
JOBS ?= 2
PIECE ?=
INTO ?=
SIZE_TIME ?= 18m
BEST ?= qcn-target
TEXT := $(SERIES)/text
BIG := $(firstword $(wildcard $(DATA)/europarl.big.en.*))
pair = $(1).en$(2) $(1).de$(2)
OTHER_TEXTS := $(foreach text,europarl.dev europarl.test scenes.train chat.train sutta.train debian.train,$(text).en.gz $(text).de.gz)
endpoint = $(shell test ! -e $(2) || echo --items $(1)=$(2))
# Every command stops at this time, saves its state, and ends with exit code 75.
SECONDS = $(shell echo $(PIECE) | sed -E 's/([0-9]+)h/\1*3600+/; s/([0-9]+)m/\1*60+/; s/([0-9]+)s?$$/\1+/; s/$$/0/')
STOP_AT := $(if $(PIECE),$(shell echo $$(($$(date +%s) + $(SECONDS)))))
IN_PIECES := $(if $(STOP_AT),DOCAPS_STOP_AT=$(STOP_AT)) $(BIN)/docaps
MARKS = --set stage.sentence.formality=$(1)/annotations.jsonl --set stage.document.formality=$(1)/annotations.jsonl \
  --set stage.document.select=$(1)/annotations.jsonl
LONG := $(IN_PIECES) experiment series --profile $(RECIPE) --jobs $(JOBS)
MEASURE = $(IN_PIECES) endpoints $(1) $(foreach name,scenes chat,--part $(name)=$(TEXT)/$(name)/drawn.en.gz,$(TEXT)/$(name)/drawn.de.gz) \
  $(foreach name,europarl ted news,--part $(name)-dev=$(DATA)/$(name).dev.en.gz,$(DATA)/$(name).dev.de.gz) \
  $(call endpoint,pronouns,$(SERIES)/pronouns/contrastive.jsonl) $(call endpoint,formality,$(SERIES)/formality/contrastive.jsonl)

$(TEXT)/europarl/divided.json:
	@$(IN_PIECES) divide $(BIG) $(patsubst %.en.gz,%.de.gz,$(patsubst %.en.zst,%.de.zst,$(BIG))) --out $(@D) --share 0.1 --apart $(foreach text,$(OTHER_TEXTS),--apart-from $(DATA)/$(text))

$(TEXT)/scenes/divided.json $(TEXT)/chat/divided.json: $(TEXT)/%/divided.json:
	@$(IN_PIECES) divide $(call pair,$(DATA)/$*.train,.gz) --out $(@D) --share 0.1 $(if $(filter scenes,$*),--apart)

$(TEXT)/train.en.gz $(TEXT)/train.de.gz: $(TEXT)/train.%.gz: $(foreach name,europarl scenes chat,$(TEXT)/$(name)/divided.json)
	@cat $(foreach name,europarl scenes chat,$(TEXT)/$(name)/rest.$*.gz) $(foreach name,sutta debian,$(DATA)/$(name).train.$*.gz) > $@.partial
	@mv $@.partial $@

$(TEXT)/dev.en.gz $(TEXT)/dev.de.gz: $(TEXT)/dev.%.gz: | $(TEXT)/train.en.gz
	@cat $(foreach name,europarl scenes chat,$(DATA)/$(name).dev.$*.gz) > $@.partial
	@mv $@.partial $@

$(SERIES)/prepared/manifest.json: $(foreach side,en de,$(TEXT)/train.$(side).gz $(TEXT)/dev.$(side).gz)
	@$(IN_PIECES) prepare --recipe $(RECIPE) --out $(@D) --train $(call pair,$(TEXT)/train,.gz) --dev $(call pair,$(TEXT)/dev,.gz) \
	  --test $(call pair,$(DATA)/europarl.test,.gz)

$(SERIES)/europarl/prepared/manifest.json: $(TEXT)/europarl/divided.json
	@$(IN_PIECES) prepare --recipe $(RECIPE) --out $(@D) --train $(call pair,$(TEXT)/europarl/rest,.gz) \
	  --dev $(call pair,$(DATA)/europarl.dev,.gz) --test $(call pair,$(DATA)/europarl.test,.gz)

$(SERIES)/mined/mined.json $(SERIES)/europarl/mined/mined.json: $(SERIES)/%mined/mined.json: $(SERIES)/%prepared/manifest.json
	@$(IN_PIECES) mine $(<D) --out $(@D)

$(SERIES)/pronouns/mined.json: $(TEXT)/train.en.gz $(TEXT)/train.de.gz
	@$(IN_PIECES) mine $(call pair,$(TEXT)/europarl/drawn,.gz) --train $(call pair,$(TEXT)/train,.gz) --phenomena pronoun --out $(@D)

$(SERIES)/formality/mined.json: $(TEXT)/train.en.gz $(TEXT)/train.de.gz
	@$(IN_PIECES) mine $(call pair,$(TEXT)/scenes/drawn,.gz) --train $(call pair,$(TEXT)/train,.gz) --phenomena formality --out $(@D)

# A call goes on where the last one stopped, even if a file is older than one that it was made from.
series-data: setup
	@test -e "$(BIG)" || { echo "make series DATA=DIR: no europarl.big.en.zst in DIR='$(DATA)'"; exit 1; }
	@for made in $(foreach folder,prepared/manifest mined/mined europarl/prepared/manifest europarl/mined/mined pronouns/mined formality/mined,$(SERIES)/$(folder).json); do \
	  test -e $$made || $(MAKE) --no-print-directory STOP_AT=$(STOP_AT) $$made || exit 1; done

series-sizes: series-data  ## Compare sizes for `make series DATA=DIR` by training each for SIZE_TIME
	@size() { name=$$1; shift; $(IN_PIECES) train $(RECIPE) --stage sentence --corpus $(SERIES)/prepared --out $(SERIES)/sizes/$$name \
	    --budget $(SIZE_TIME) --set stage.sentence.schedule=inverse-sqrt --set stage.sentence.formality=$(SERIES)/mined/annotations.jsonl "$$@"; }; \
	  size 3+3x256 && size 6+3x256 --set model.encoder_layers=6 && \
	  size 4+4x320 --set model.encoder_layers=4 --set model.decoder_layers=4 --set model.size=320 --set model.feed_forward=1280 --set model.heads=5
	@$(BIN)/docaps runs $(SERIES)/sizes/*/sentence $(if $(INTO),--into $(INTO) --block series-sizes)

series: series-data  ## Train and compare on real documents, in pieces of any length (make series DATA=DIR PIECE=2h)
	@$(LONG) --corpus $(SERIES)/prepared --dir $(SERIES)/runs --seeds $(SEEDS) $(call MARKS,$(SERIES)/mined) $(if $(INTO),--into $(INTO)) $(ARGS)
	@$(LONG) --corpus $(SERIES)/europarl/prepared --dir $(SERIES)/europarl/runs --only transformer --only $(BEST) \
	  $(call MARKS,$(SERIES)/europarl/mined) $(if $(INTO),--into $(INTO) --block europarl-$(if $(filter --estimate,$(ARGS)),estimate,only)) $(ARGS)
ifeq ($(NO_RESULTS),)
	@$(call MEASURE,$(SERIES)/runs) $(if $(INTO),--into $(INTO))
	@$(call MEASURE,$(SERIES)/europarl/runs) $(if $(INTO),--into $(INTO) --block europarl-endpoints)
	@$(BIN)/docaps report $(SERIES)/runs --out $(SERIES)/report.html --overwrite
	@$(BIN)/docaps report $(SERIES)/europarl/runs --out $(SERIES)/europarl.html --overwrite
	@echo "The series is complete: $(SERIES)/report.html and $(SERIES)/europarl.html"
endif

test: dev lint  ## Run all checks and tests (about 9 minutes on 2 cores)
	$(PARALLEL) -m "not stress" $(ARGS)

test-lowest: $(LOWEST)/.ready  ## Run all tests with the lowest declared versions of the dependencies
	$(PARALLEL_LOWEST) $(NOT_LOWEST) $(ARGS)

test-lowest-web: $(LOWEST)/.ready-web  ## The same for the tests of the service only (about 2 minutes)
	$(PARALLEL_LOWEST) $(WEB_TESTS) $(NOT_LOWEST) $(ARGS)

$(LOWEST)/.ready-web: pyproject.toml constraints.txt tests/packaging/lowest.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "the lowest versions need Python 3.11: make PYTHON=python3.11 ..."; exit 1; }
	@echo "making $(LOWEST) with the lowest versions"
	@$(PYTHON) -m venv --clear $$($(PYTHON) -c 'import torch' 2>/dev/null && echo --system-site-packages) $(LOWEST)
	@$(PYTHON) tests/packaging/lowest.py > $(LOWEST)/all.txt
	@if $(LOWEST)/bin/python -c 'import torch' 2>/dev/null; then grep -v '^torch==' $(LOWEST)/all.txt; else cat $(LOWEST)/all.txt; fi > $(LOWEST)/constraints.txt
	@$(INSTALL_LOWEST) -e '.[files,serve]' $(WEB_TOOLS)
	@touch $@

$(LOWEST)/.ready: $(LOWEST)/.ready-web
	@$(INSTALL_LOWEST) -e '.[dev]'
	@touch $@

check: dev lint fast  ## Run the linters, the type checker and the fast tests

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/lint-imports --no-cache; imports=$$?; wait $$types && exit $$imports

fast: dev
	$(PARALLEL) -m "not stress and not learning and not browser" tests/unit tests/invariants tests/architecture

docs: dev  ## Build the documentation site in site/
	$(BIN)/mkdocs build --strict

BENCHMARKS := $(filter-out measuring.py peers.py sentences.py translators.py,$(notdir $(sort $(wildcard benchmarks/*.py))))
bench: dev  ## Measure speed, as ratios (ARGS: options that all scripts know, such as "--repeats 9")
	@failed=; for script in $(BENCHMARKS) "training.py --sizes small256" "training.py --sizes small384" "decoding.py --marian" "step.py --readings" \
	    "step.py --readings states states-gradient target-states current-states --sampling sentences"; do \
	  echo "== $$script"; $(BIN)/python benchmarks/$$script $(ARGS) || failed="$$failed, $$script"; done; \
	  test -z "$$failed" || { echo "failed:$${failed#,}"; exit 1; }

stress: dev test-lowest  ## Run the tests that are too slow for `make test`
	@echo "installing the programs that the slow tests compare with"
	@$(INSTALL) -e '.[dev,bench]'
	DOCAPS_CHECKED=1 $(PARALLEL) tests/unit/model tests/invariants -m "not stress"
	DOCAPS_EXAMPLES=random $(PARALLEL) -m "not stress" $$(grep -rl '@given' tests --include='test_*.py')
	$(BIN)/python -m pytest -m stress --ignore tests/chaos $(ARGS)
	$(MAKE) chaos

# SEED: of all that is random, by default the time. MINUTES: for each of the four campaigns.
chaos: dev  ## Kill, attack, damage and fuzz (make chaos SEED=7 MINUTES=10); prints what was tried
	@seed="$(SEED)"; seed="$${seed:-$$(date +%s)}"; echo "make chaos SEED=$$seed MINUTES=$(MINUTES)"; \
	  DOCAPS_CHAOS_SEED="$$seed" DOCAPS_CHAOS_MINUTES="$(MINUTES)" $(PARALLEL) -m stress tests/chaos

clean:  ## Remove everything built (not your runs and data)
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
