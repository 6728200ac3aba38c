# Each target sets up what it needs, and may be run again at any time.
#   make lab ARGS="--no-browser --port 8899"    hands arguments on to JupyterLab
#   make lab PYTHON=python3.12                  takes another Python for .venv
#   make data POEMS_SOURCE=PATH                 takes the poems from a folder or an archive
#   make data WIKITEXT2_SOURCE=PATH             takes WikiText-2 from a folder

PYTHON ?= python3
POEMS_SOURCE ?= auto

VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/installed
POEMS = $(RUN) prepare_poems.py --source "$(POEMS_SOURCE)"
WIKITEXT2 = $(RUN) -m bpe wikitext2 $(if $(WIKITEXT2_SOURCE),--source "$(WIKITEXT2_SOURCE)")
VOCABULARIES = $(RUN) -m bpe vocabularies

# A .venv that lost its Python, or was moved along with the checkout, no longer counts as installed.
ifneq ($(shell test -x $(RUN) && cat $(INSTALLED) 2>/dev/null),$(CURDIR))
$(shell rm -f $(INSTALLED))
endif

export PYTHONUTF8 = 1

.PHONY: help lab data corpora test test-full check notebooks bench reset

help:
	@echo 'make lab              open the course in JupyterLab'
	@echo 'make reset NB=05      begin a chapter anew; your copy is kept beside it'
	@echo 'make data             prepare the Tang poems, WikiText-2 and the real vocabularies'
	@echo 'make test             all checks: lint, types, tests, every notebook run and compared'
	@echo 'make test-full        the same with the long tests'
	@echo 'make notebooks        run all notebooks and store their outputs (NB=05 for one)'
	@echo 'make bench            measure speed and memory beside other libraries, half an hour'

# The stamp is written only after pip succeeded: without it, .venv is made from scratch.
$(INSTALLED): pyproject.toml .ci/constraints.txt
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); \
	case "$$version" in \
	3.11|3.12|3.13|3.14) ;; \
	"") echo '$(PYTHON) does not run. Install Python 3.11 to 3.14, or name one: make lab PYTHON=python3.12'; exit 1;; \
	*) echo "$(PYTHON) is Python $$version; the course needs 3.11 to 3.14. Name one: make lab PYTHON=python3.12"; exit 1;; \
	esac
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo '$(PYTHON) has no venv module. On Debian and Ubuntu: apt install python3-venv'; exit 1; }
	@test -e $@ || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $@
	@echo 'Installing the course into $(VENV), some minutes the first time; pip may be silent for long.'
	@$(RUN) -m pip install --disable-pip-version-check -c .ci/constraints.txt -e ".[course,fast,test]" || \
	{ echo 'pip could not install the course; it says why above. It needs a network the first time.'; exit 1; }
	@echo 'Compiling the fast engine, once, half a minute.'
	@$(RUN) -m bpe compile || true
	@pwd -P > $@

data: $(INSTALLED)
	$(POEMS)
	$(WIKITEXT2)
	$(VOCABULARIES)

# Where a corpus cannot be had, its command says why, and what does not need it still works.
corpora: $(INSTALLED)
	@test -e "$${BPE_DATA:-data}/tang_poems.txt" || $(POEMS) || true
	@test -e "$${BPE_DATA:-data}/wikitext2/test.txt" || $(WIKITEXT2) || true
	@test -e "$${BPE_DATA:-data}/vocabularies/jurassic2_tokenizer.model" || $(VOCABULARIES) || true

lab: corpora
	$(RUN) notebooks/lab.py $(ARGS)

reset: $(INSTALLED)
	@$(RUN) notebooks/lab.py --reset "$(NB)"

check: corpora
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

test: check
	$(RUN) -m pytest $(ARGS)

test-full: check
	$(RUN) -m pytest -m "" --hypothesis-profile full $(ARGS)

notebooks: corpora
	$(RUN) notebooks/store.py $(NB)

# It installs the libraries that it measures against, those that have a wheel for this machine.
bench: corpora
	$(RUN) benchmarks/benchmarks.py --install $(ARGS)
