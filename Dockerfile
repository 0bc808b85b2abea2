# syntax=docker/dockerfile:1
# Builds the release binary and puts it into a small image that runs as its own user.
FROM rust:1.95-slim-bookworm AS build
# A C compiler: SQLite, libwebp and ring are built from source.
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked && cp target/release/photothread /usr/local/bin/photothread

FROM debian:bookworm-slim
# curl is for the health check.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/photothread --create-home photothread \
    && install -d -o photothread -g photothread -m 0700 /var/lib/photothread/data
COPY --from=build /usr/local/bin/photothread /usr/local/bin/photothread
USER photothread
WORKDIR /var/lib/photothread
# config.yaml and prompts.yaml are optional and read from the working directory; `data` holds SQLite and the files.
VOLUME /var/lib/photothread/data
EXPOSE 8080
# Without a login the page listens on the container's own loopback only. compose.yaml shows how to publish it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD curl --fail --silent --show-error http://127.0.0.1:8080/healthz
STOPSIGNAL SIGTERM
ENTRYPOINT ["photothread"]
