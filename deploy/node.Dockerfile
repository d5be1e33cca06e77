# The node: blink-node alone. Its build sees no torch and no RocksDB.
#   podman build -f deploy/node.Dockerfile -t blink-node .        (docker build takes the same)
# The programs tell their commit when it is given: --build-arg BLINK_COMMIT=$(git rev-parse HEAD)
# A compiler cache speeds up repeated builds: podman build -v "$HOME/.cache/ccache:/ccache" ...
# Pin it: --build-arg BASE=debian@sha256:... (skopeo inspect docker://docker.io/library/debian:bookworm-slim prints it).
ARG BASE=debian:bookworm-slim
FROM $BASE AS build
WORKDIR /src
COPY scripts/install-deps scripts/install-deps
RUN scripts/install-deps --node-only --no-tests && rm -rf /var/lib/apt/lists/*
COPY . .
ENV CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content \
    LANG=C.UTF-8
ARG BLINK_COMMIT=
RUN cmake --preset node-only -DBLINK_BUILD_TESTS=OFF -DBLINK_BUILD_BENCHMARKS=OFF \
 && cmake --build build/node-only --target blink-node \
 && strip build/node-only/bin/blink-node

FROM $BASE
# Only what the program loads. Documents and the package lists would be half of the image.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libgrpc++1.51 libprotobuf32 libspdlog1.10 libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc/* /usr/share/man/* \
 && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin blink \
 && install -d -o blink -g blink -m 700 /kit /journal
COPY --from=build /src/build/node-only/bin/blink-node /usr/local/bin/blink-node
# gRPC's own log says less than the programs' and repeats itself at every handshake.
ENV GRPC_VERBOSITY=NONE
USER blink
# The kit (read-only) and the journal are volumes. The journal is made once, by `blink-node init` or with the kit; a container
# that finds none refuses to start (exit code 5), because a second journal would be a second draw.
VOLUME ["/journal"]
# Healthy: the process that the container is there for still runs, and is not stopped.
HEALTHCHECK --interval=30s --timeout=5s \
  CMD ["/bin/sh", "-c", "grep -q '^blink-node$' /proc/1/comm && grep -q '^State:.[RSD]' /proc/1/status"]
ENTRYPOINT ["blink-node"]
CMD ["run", "--daemon", "--kit", "/kit", "--journal", "/journal"]
