# Each target sets up what it needs, and may be run again at any time.

PYTHON ?= python3
POEMS_SOURCE ?= auto

VENV := .venv
RUN := $(VENV)/bin/python
PIP = $(RUN) -m pip install --disable-pip-version-check
PINS := .ci/requirements.txt .ci/torch.txt
INSTALLED := $(VENV)/installed
# A variable as one word of the shell, whatever is in it.
quoted = '$(subst ','\'',$(value $(1)))'
POEMS = $(RUN) prepare_poems.py --source $(call quoted,POEMS_SOURCE)
WIKITEXT2 = $(RUN) -m bpe wikitext2 $(if $(value WIKITEXT2_SOURCE),--source $(call quoted,WIKITEXT2_SOURCE))
VOCABULARIES = $(RUN) -m bpe vocabularies

# A .venv whose Python is gone, or that moved together with the checkout, no longer counts as installed. (The
# shell compares, since make would change the white space of a path.)
HERE := $(shell test -x $(RUN) && test "$$(cat $(INSTALLED) 2>/dev/null)" = "$$(pwd -P)" && echo yes)

# Only one make at a time installs: the recipe runs a second make, alone, which looks again what is to do.
ifeq ($(origin ALONE),command line)
$(if $(HERE),,$(shell rm -f $(INSTALLED)))
else
ALONE := $(if $(HERE),,look_again)
endif

export PYTHONUTF8 = 1

.PHONY: help lab data corpora test test-full check format notebooks bench reset lock look_again

help:
	@echo 'make lab              open the course in JupyterLab'
	@echo 'make reset NB=05      start a chapter again; your copy is kept beside it'
	@echo 'make data             prepare the Tang poems, WikiText-2 and the real vocabularies'
	@echo 'make corpora          prepare those that are missing'
	@echo 'make test             run all checks: lint, types, layers, tests, every notebook'
	@echo 'make test-full        the same with the long tests'
	@echo 'make check            lint, types and layers alone'
	@echo 'make format           format the code, and fix what ruff can fix'
	@echo 'make notebooks        run all notebooks and store their outputs (NB=05 for one)'
	@echo 'make bench            measure speed and memory beside other libraries, half an hour'
	@echo 'make lock             write the pins again after a change of pyproject.toml'
	@echo
	@echo 'make lab ARGS="--no-browser --port 8899"    hand arguments on to JupyterLab'
	@echo 'make test ARGS="-k naive"                   hand arguments on to pytest'
	@echo 'make lab PYTHON=python3.12                  choose the Python of .venv'
	@echo 'make lab TORCH_INDEX=ADDRESS                install PyTorch from this index'
	@echo 'make data POEMS_SOURCE=PATH                 take the poems from a folder or an archive'
	@echo 'make data WIKITEXT2_SOURCE=PATH             take WikiText-2 from a folder'
	@echo 'make lock ARGS=--upgrade                    take the newest versions'

# The stamp is written only after pip succeeded; without it, .venv is made from scratch. Only the first two
# calls of pip need a network, and only for what .venv lacks.
ifneq ($(origin ALONE),command line)
$(INSTALLED): pyproject.toml $(PINS) $(ALONE)
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); \
	case "$$version" in \
	3.11|3.12|3.13|3.14) ;; \
	"") echo '$(PYTHON) does not run. Install Python 3.11 to 3.14, or name one: make lab PYTHON=python3.12'; exit 1;; \
	*) echo "$(PYTHON) is Python $$version; the course needs 3.11 to 3.14. Name one: make lab PYTHON=python3.12"; exit 1;; \
	esac
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo '$(PYTHON) has no venv module. On Debian and Ubuntu: apt install python3-venv'; exit 1; }
	@$(PYTHON) .ci/alone.py Makefile $(MAKE) --silent --no-print-directory ALONE=yes $@
else
$(INSTALLED): pyproject.toml $(PINS)
	@test -e $@ || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $@
	@echo 'Installing the course into $(VENV). The first time takes some minutes; pip may print nothing for long.'
	@{ $(PIP) --require-hashes -r .ci/requirements.txt && \
	$(PIP) -r .ci/torch.txt $(if $(value TORCH_INDEX),--index-url $(call quoted,TORCH_INDEX)) && \
	$(PIP) --no-deps --no-build-isolation -e .; } || \
	{ echo 'pip could not install the course; it says why above. It needs a network the first time.'; exit 1; }
	@rm -rf bpe_course.egg-info  # an old one would hide what .venv says of the package
	@echo 'Compiling the fast engine, once; this takes half a minute.'
	@$(RUN) -m bpe compile || true
	@pwd -P > $@.part && mv $@.part $@
endif

data: $(INSTALLED)
	$(POEMS)
	$(WIKITEXT2)
	$(VOCABULARIES)

# If a corpus cannot be had, its command says why, and everything that does not need it still works.
corpora: $(INSTALLED)
	@test -e "$${BPE_DATA:-data}/tang_poems.txt" || $(POEMS) || true
	@test -e "$${BPE_DATA:-data}/wikitext2/test.txt" || $(WIKITEXT2) || true
	@test -e "$${BPE_DATA:-data}/vocabularies/jurassic2_tokenizer.model" || $(VOCABULARIES) || true

lab: corpora
	$(RUN) notebooks/lab.py $(ARGS)

reset: $(INSTALLED)
	@$(RUN) notebooks/lab.py --reset $(call quoted,NB)

check: corpora
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -c 'from importlinter.cli import lint_imports_command as lint; lint()' --no-logo --no-cache

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

test: check
	$(RUN) -m pytest $(ARGS)

test-full: check
	$(RUN) -m pytest -m "" --hypothesis-profile full $(ARGS)

notebooks: corpora
	$(RUN) notebooks/store.py $(NB)

# Installs the libraries that it measures against, those that have a wheel for this machine.
bench: corpora
	$(RUN) benchmarks/benchmarks.py --install $(ARGS)

# uv gets an environment of its own: the course does not need it.
lock:
	@$(PYTHON) .ci/alone.py Makefile sh -c 'test -x $(VENV)/lock/bin/uv || { $(PYTHON) -m venv $(VENV)/lock && \
	$(VENV)/lock/bin/python -m pip install --disable-pip-version-check --quiet "uv>=0.13"; }'
	$(VENV)/lock/bin/python .ci/lock.py $(ARGS)
