# Everything a person types. `make demo` and `make test` install what they need into .venv first.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: demo test test-all check services clean

demo: $(INSTALLED)
	$(BIN)/rsi demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-all: $(INSTALLED) check
	$(BIN)/rsi model fetch
	$(BIN)/python -m pytest -m "" -n 2 --dist loadfile --durations=15
	$(MAKE) test-core

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy rsi
	$(BIN)/lint-imports

services: $(INSTALLED)
	$(BIN)/python -m infra.services

# torch comes first and alone, so that no other package's wider range picks a build for a GPU that is not there.
$(INSTALLED): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  echo "installing into .venv with uv ..."; \
	  uv venv --quiet --allow-existing --python $(PYTHON) .venv && \
	  uv pip install --quiet --python $(BIN)/python --torch-backend=auto -c constraints.txt -e '.[all,dev]'; \
	else \
	  echo "installing into .venv with pip (some minutes, about 2.5 GB) ..."; \
	  $(PYTHON) -m venv .venv && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check torch -c constraints.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'; \
	fi
	@touch $@

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache

# The core under a newer Python, without torch, Ray, Prefect or MLflow. Skipped where there is no such Python.
CORE_PYTHON ?= $(shell for p in python3.12 "$$HOME"/.pyenv/versions/3.12*/bin/python; do "$$p" -c '' 2>/dev/null && echo "$$p" && break; done)
.PHONY: test-core
test-core:
ifeq ($(CORE_PYTHON),)
	@echo "no Python 3.12 here: the core is not tested under it"
else
	$(CORE_PYTHON) -m venv .venv-core
	.venv-core/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . pytest pytest-asyncio pytest-timeout hypothesis
	.venv-core/bin/python -m pytest
endif
