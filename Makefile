# The one entry point. `make` alone prints what there is.
# Needs Python 3.11 or newer (with venv), a Rust toolchain and make; everything else is fetched into .venv and target/.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$candidate; break; }; done)
BIN := .venv/bin
HEADEND := $(BIN)/headend

# What the compiled module is made of: it is rebuilt when any of these is newer.
RUST_SOURCES := $(shell find crates -type f -not -path 'crates/headend-wasm/*' \
	\( -name '*.rs' -o -name '*.toml' -o -name '*.csv' -o -name '*.json' \) 2>/dev/null) \
	Cargo.toml $(wildcard Cargo.lock)

.PHONY: help
help: ## What can be made
	@echo 'headend: a laboratory for access networks'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do printf '  make %-15s %s\n' "$$target" "$$text"; done

.PHONY: demo
demo: build ## An upload ruins a call under a bloated buffer, and does not under Buffer Control or an AQM
	@$(HEADEND) compare upload-and-call --vary 'queue={drop_tail={limit="250 ms"}},{buffer_control={target="32 KiB"}},docsis_pie' \
		--label 'bloated buffer' --label 'Buffer Control' --label DOCSIS-PIE --out results/demo --force

.PHONY: build
build: .venv/.built ## The virtual environment with the compiled engine in it

# Two lanes side by side: linking the module that Python loads keeps one core busy for minutes.
.PHONY: test
test: tools ## Everything that must pass: Rust and Python tests, checks, generated files
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line check-rust check-python

# The two sides side by side would only wait for each other's compiler.
.PHONY: test-slow
test-slow: tools ## What takes long: the slow tests, and the golden scenarios with every arithmetic and debug assertion checked
	@if $(MAKE) --no-print-directory --silent node; then $(MAKE) --no-print-directory web; \
		else echo 'the lab in a browser is not built, and its tests are skipped'; fi
	@$(MAKE) --no-print-directory test-python-slow
	@$(MAKE) --no-print-directory test-checked

.PHONY: check-rust
check-rust: tools
	@$(MAKE) --no-print-directory lint-rust
	@$(MAKE) --no-print-directory test-rust

.PHONY: check-python
check-python: build
	@$(MAKE) --no-print-directory lint-python
	@$(MAKE) --no-print-directory generate-check
	@$(MAKE) --no-print-directory test-python

.PHONY: test-rust
test-rust: tools ## The engine's tests
	cargo test --workspace --locked --quiet

.PHONY: test-checked
test-checked: tools ## The golden scenarios, compiled as a release with overflow checks and debug assertions (minutes)
	cargo test --profile checked --locked --quiet --package headend --test golden

.PHONY: test-python
test-python: build ## The Python tests
	$(BIN)/python -m pytest -m 'not slow'

.PHONY: test-python-slow
test-python-slow: build target/docs-env/.built
	$(BIN)/python -m pytest -m slow

# The tool has to be of the version that the engine for browsers was compiled against.
WASM_BINDGEN := $(shell sed -n '/^name = "wasm-bindgen"$$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
BINDGEN := target/tools/wasm-bindgen-$(WASM_BINDGEN)

.PHONY: wasm
wasm: $(BINDGEN)/bin/wasm-bindgen | tools ## The engine for browsers and for Node, in target/wasm (needs rustup; minutes)
	rustup target add wasm32-unknown-unknown
	cargo build --profile wasm --locked --quiet --package headend-wasm --target wasm32-unknown-unknown
	@for kind in nodejs web; do \
		$(BINDGEN)/bin/wasm-bindgen --target $$kind --remove-name-section --out-dir target/wasm/$$kind \
			target/wasm32-unknown-unknown/wasm/headend_wasm.wasm || exit 1; done

.PHONY: web
web: node build wasm ## The lab in a browser, in one file, which headend lab opens: target/web/index.html (needs rustup and Node 20.19, 22.12 or newer; minutes)
	$(BIN)/python web/export.py
	cd web && npm install --no-audit --no-fund --silent && npm run --silent build
	@cp target/web/index.html python/headend/lab/index.html
	@echo 'target/web/index.html'

# What is missing is said before minutes of compiling.
IS_NEW_ENOUGH := const [major, minor] = process.versions.node.split(".").map(Number); \
	process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)

.PHONY: node
node:
	@command -v npm >/dev/null && node -e '$(IS_NEW_ENOUGH)' || { echo 'missing: Node 20.19, 22.12 or newer, with npm' >&2; exit 1; }
	@command -v rustup >/dev/null || { echo 'missing: rustup, which installs Rust for browsers: https://rustup.rs' >&2; exit 1; }

$(BINDGEN)/bin/wasm-bindgen: | tools
	cargo install wasm-bindgen-cli --version '=$(WASM_BINDGEN)' --quiet --root $(BINDGEN)

.PHONY: lint
lint: lint-python lint-rust ## Formats, lints and types, Rust and Python

.PHONY: lint-rust
lint-rust: tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

.PHONY: lint-python
lint-python: build ## Formats, lints and types of the Python side
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/typos
	$(BIN)/mypy --no-error-summary
	@# Analyses import what their document shares as a package would, and no package may have a hyphen in its name.
	@rm -rf target/typed && find studies -name '*.py' | while read -r file; do \
		link="target/typed/$${file//-/_}"; mkdir -p "$$(dirname "$$link")"; ln -s "$(CURDIR)/$$file" "$$link"; done
	@MYPYPATH=target/typed $(BIN)/mypy --no-error-summary -p studies
	cd python && ../$(BIN)/python -m mypy.stubtest headend._engine

# The oldest Rust that is promised; the crates' manifests have it.
RUST_OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: oldest-rust
oldest-rust: tools ## Compile with the oldest Rust that is supported (needs rustup)
	rustup toolchain install $(RUST_OLDEST) --profile minimal
	CARGO_TARGET_DIR=target/oldest cargo +$(RUST_OLDEST) check --workspace --all-targets --locked --quiet

.PHONY: deny
deny: target/tools/bin/cargo-deny ## Advisories, licences and sources of the crates (needs a network)
	PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo deny check

target/tools/bin/cargo-deny: | tools
	cargo install cargo-deny --version '^0.20' --locked --quiet --root target/tools

.PHONY: format
format: build ## Format all sources
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet

.PHONY: lock
lock: ## Note the versions of the Python packages that are installed, which `make build` installs everywhere
	@{ echo '# The versions that make build installs; make lock writes them. Cargo.lock has those of the Rust side.'; \
	$(BIN)/python -m pip freeze --disable-pip-version-check --exclude headend --exclude setuptools --exclude ziglang; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock

.PHONY: docs-lock
docs-lock: ## Take the newest Sphinx, MyST and Furo that the oldest supported Python can install, and note their versions
	@rm -rf target/docs-env
	@$(PYTHON) -m venv target/docs-env
	target/docs-env/bin/python -m pip install --quiet --disable-pip-version-check 'furo>=2025.12' 'myst-parser>=5,<6' 'sphinx>=9,<10'
	@{ echo '# The versions that make docs installs; make docs-lock writes them. The oldest Python that headend supports must install them.'; \
	target/docs-env/bin/python -m pip freeze --disable-pip-version-check --exclude setuptools; } > docs/requirements.txt
	@touch target/docs-env/.built

.PHONY: generate
generate: build vega ## Write the schema and the reference pages from the engine's own description, and the script that draws figures in pages
	$(BIN)/python -m headend.engine.reference

.PHONY: vega
vega: build ## Put the script together that draws figures in pages, from the libraries that are installed
	$(BIN)/python -m headend.pages.vega

.PHONY: generate-check
generate-check: build ## Fail when a generated file is stale
	$(BIN)/python -m headend.engine.reference --check
	$(BIN)/python -m headend.pages.vega --check

.PHONY: validate
validate: build ## Queues beside their targets and fair shares, senders beside a real Linux, congestion controls beside each other and their closed forms (15 minutes); differences are reported
	@$(HEADEND) study run validation || [ $$? -eq 1 ]
	@$(HEADEND) study run aqm-docsis/overload || [ $$? -eq 1 ]

.PHONY: receipts
receipts: build ## Run all studies with their own seeds and write docs/receipts.md with its pictures (half an hour)
	@$(HEADEND) study run all || [ $$? -eq 1 ]
	@rm -rf docs/receipts
	@$(HEADEND) study report --markdown docs/receipts.md

.PHONY: figures
figures: build ## Draw the figure of every queue in docs/models
	$(BIN)/python docs/models/figures/draw.py

# Sphinx has an environment of its own: nothing but the site needs it.
.PHONY: docs
docs: target/docs-env/.built ## The documentation as a site that is read without a network, with the lab if make web has built it: target/docs/index.html
	@rm -rf target/docs
	@target/docs-env/bin/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going --jobs 2 --conf-dir docs --doctree-dir target/docs-state . target/docs
	@echo 'target/docs/index.html'

target/docs-env/.built: docs/requirements.txt | tools
	@$(PYTHON) -m venv target/docs-env
	target/docs-env/bin/python -m pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	@touch $@

.PHONY: lessons
lessons: build ## Measure the numbers of docs/lessons, and draw their pictures (minutes)
	@$(BIN)/python docs/lessons/make.py

.PHONY: outputs
outputs: build ## Run the commands of the tutorial, the how-tos and the explanations, and write what they print into the pages
	@$(BIN)/python docs/outputs.py

.PHONY: gallery
gallery: build ## Draw the picture of every figure, and write docs/gallery.md (a minute)
	@$(BIN)/python docs/gallery/draw.py

.PHONY: bench
bench: tools ## What a packet costs, beside the least any simulator must do (also target/bench.json)
	cargo run --release --quiet --package headend-bench

.PHONY: bench-cli
bench-cli: build ## What the commands cost from start to end, beside the engine's own share (also target/bench-cli.json)
	@$(BIN)/python benches/cli.py

.PHONY: bench-own
bench-own: build ## What laws and senders in Python cost, beside the same ones in the engine (also target/bench-own-code.json)
	@$(BIN)/python benches/own_code.py

.PHONY: bench-emulate
bench-emulate: build ## How exactly and how fast headend emulate is, beside tbf and RATTAN=path of its binary (also target/bench-emulate.json)
	@$(BIN)/python benches/emulate.py

.PHONY: bench-kernel
bench-kernel: build ## Queues and senders beside a real Linux kernel in virtual time (needs Debian 12, root and qemu; an hour; also target/linux-qdiscs.json and linux-tcp-6.12.json)
	@$(BIN)/python benches/linux_qdiscs.py
	@$(BIN)/python benches/linux_tcp.py --kernel 6.12

# Compiled by the stable toolchain, so without a sanitizer: the engine has no unsafe code.
SECONDS ?= 60
TARGET ?=
RUST_HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')

.PHONY: fuzz
fuzz: target/tools/bin/cargo-fuzz ## Damaged scenarios, captures, traces, frames and modems' files against the engine: SECONDS=60 for each target, TARGET=scenario_run for one (needs a C++ compiler)
	PATH="$(CURDIR)/target/tools/bin:$$PATH" CARGO_PROFILE_RELEASE_LTO=off cargo fuzz build --fuzz-dir fuzz --sanitizer none --features libfuzzer --codegen-units 16 --no-trace-compares
	@cargo run --profile checked --quiet --package headend-fuzz --example run -- --seconds '$(SECONDS)' --binaries 'target/$(RUST_HOST)/release' $(TARGET)

target/tools/bin/cargo-fuzz: | tools
	cargo install cargo-fuzz --version '^0.13' --locked --quiet --root target/tools

# A wheel is linked by zig against glibc 2.17, the oldest that it then runs on.
# `headend --version` prints HEADEND_COMMIT. Panics name crates, not folders of the machine that built the wheel.
HEADEND_COMMIT ?= $(shell git describe --always --dirty --exclude='*' 2>/dev/null)
WHEEL_TARGET ?= $(RUST_HOST)

.PHONY: wheel
wheel: .venv/.zig web ## A wheel for Linux in dist/ with the lab in it, for this machine's processor (or WHEEL_TARGET=aarch64-unknown-linux-gnu)
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/$(WHEEL_TARGET)/lib" ] \
		|| { echo 'missing: the Rust target $(WHEEL_TARGET) (rustup target add $(WHEEL_TARGET))' >&2; exit 1; }
	PATH="$(CURDIR)/$(BIN):$$PATH" HEADEND_COMMIT='$(HEADEND_COMMIT)' \
		RUSTFLAGS="--remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}/registry/src=crates --remap-path-prefix=$(CURDIR)=headend" \
		maturin build --release --locked --strip --compression-level 9 --zig --compatibility manylinux_2_17 --target $(WHEEL_TARGET) --out dist --quiet
	@ls dist/headend-*_$(firstword $(subst -, ,$(WHEEL_TARGET))).whl

.PHONY: wheels
wheels: sdist ## Wheels for x86-64 and aarch64, and the source distribution, in dist/
	@$(MAKE) --no-print-directory wheel WHEEL_TARGET=x86_64-unknown-linux-gnu
	@$(MAKE) --no-print-directory wheel WHEEL_TARGET=aarch64-unknown-linux-gnu

.PHONY: sdist
sdist: web | tools .venv/bin/maturin ## The source distribution in dist/ with the lab in it, which pip builds where there is no wheel and cargo is
	$(BIN)/maturin sdist --out dist

.PHONY: wheel-check
wheel-check: ## Install the wheel of dist/ where nothing else is, run and compare there, open the pages; fails above 60 s, at 300 MB, or where the wheel takes 8 MB
	@$(PYTHON) release/check_wheel.py dist

.venv/.zig: | tools .venv/bin/maturin
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'ziglang>=0.17,<0.18'
	@touch $@

.PHONY: clean
clean: ## Remove what was built (results stay)
	rm -rf .venv target dist

.PHONY: tools
tools:
	@[ -n '$(PYTHON)' ] || { echo 'missing: Python 3.11 or newer (python3 on PATH, or make PYTHON=/path/to/python)' >&2; exit 1; }
	@command -v cargo >/dev/null || { echo 'missing: a Rust toolchain (cargo on PATH): https://rustup.rs installs one' >&2; exit 1; }

.venv/bin/python: | tools
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "missing: Python's venv module for $(PYTHON) (Debian and Ubuntu: the package python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/bin/maturin: | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock 'maturin>=1.9,<2'

.venv/.built: pyproject.toml requirements.lock $(RUST_SOURCES) | tools .venv/bin/maturin
	PIP_CONSTRAINT='$(CURDIR)/requirements.lock' VIRTUAL_ENV='$(CURDIR)/.venv' \
		$(BIN)/maturin develop --release --locked --extras dev --quiet
	@touch $@
