# What people do here, by name. `make test` needs nothing but cargo and, where something is missing, apt.
.PHONY: run test lint fmt bench bench-build setup

run:
	cargo run --locked

# PostgreSQL's programs are part of the tests: each run starts a private server of its own.
test: setup
	@if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --locked; \
	else \
		cargo test --locked --lib --bins --tests; \
	fi

lint:
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings

fmt:
	cargo fmt

# Writes what it measures into docs/benchmarks.md.
bench:
	PEERS_PYTHON="$$(scripts/bench-peers)" cargo bench --locked --bench bench

# The clean release build: minutes, so only when asked for.
bench-build:
	cargo bench --locked --bench bench -- build

setup:
	@scripts/setup
