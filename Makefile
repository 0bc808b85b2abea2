# Common tasks. `make test` needs nothing but cargo and, where something is missing, apt.
.PHONY: run test test-fast lint fmt fuzz bench bench-build setup

run:
	cargo run --locked

# Everything. Each run starts its own PostgreSQL server and browser; `make setup` installs what is missing.
test: setup
	@if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --locked --workspace; \
	else \
		cargo test --locked --workspace --lib --bins --tests; \
	fi

# The fuzz targets, which take a minute in `make test`, for five minutes each.
fuzz:
	FUZZ_SECONDS=$${FUZZ_SECONDS:-300} cargo nextest run --locked --workspace --success-output final -E 'test(/fuzz/)'

# For everyday work: no PostgreSQL, no browser. .config/nextest.toml says what is left out.
test-fast:
	cargo nextest run --locked --workspace --profile fast

# deny.toml is only checked where cargo-deny is installed.
lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@if cargo deny --version >/dev/null 2>&1; then \
		cargo deny check bans licenses sources; \
	fi

fmt:
	cargo fmt --all

# Writes the results into docs/benchmarks.md.
bench:
	PEERS_PYTHON="$$(scripts/bench-peers)" cargo bench --locked --bench bench

# A clean release build takes minutes, so it is a target of its own.
bench-build:
	cargo bench --locked --bench bench -- build

setup:
	@scripts/setup
