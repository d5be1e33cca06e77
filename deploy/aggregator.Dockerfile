# The aggregator, its worker, and the operator's command. Two targets:
#   podman build -f deploy/aggregator.Dockerfile --target cpu  -t blink-aggregator:cpu .
#   podman build -f deploy/aggregator.Dockerfile --target cuda -t blink-aggregator:cuda .     (5 GB of CUDA libraries)
# The programs tell their commit when it is given: --build-arg BLINK_COMMIT=$(git rev-parse HEAD)
# A compiler cache speeds up repeated builds: podman build -v "$HOME/.cache/ccache:/ccache" ...
# LibTorch may be given instead of fetched: podman build -v /path/to/folder-of-wheel:/opt/torch-given:ro (it holds torch/ and nvidia/).
# Pin it: --build-arg BASE=debian@sha256:... (skopeo inspect docker://docker.io/library/debian:bookworm-slim prints it).
ARG BASE=debian:bookworm-slim
FROM $BASE AS tools
WORKDIR /src
COPY scripts/install-deps scripts/install-deps
RUN scripts/install-deps --no-tests --no-torch && rm -rf /var/lib/apt/lists/*

FROM tools AS build
# Where every clone has it, so that the compiler cache knows its headers.
RUN if [ -e /opt/torch-given/torch/lib/libtorch_cpu.so ]; then mkdir .deps && cp -a /opt/torch-given .deps/torch; \
    else scripts/install-deps --no-packages; fi
COPY . .
ENV CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content \
    LANG=C.UTF-8
ARG BLINK_COMMIT=
RUN cmake --preset release -DBLINK_BUILD_TESTS=OFF -DBLINK_BUILD_BENCHMARKS=OFF \
 && cmake --build build/release --target blink-aggregator blink-worker blink blink-simulate blink-node \
 && mkdir /opt/programs \
 && for program in blink-aggregator blink-worker blink blink-simulate blink-node; do \
      strip -o /opt/programs/$program build/release/bin/$program || exit; done
# What training on the CPU loads, and nothing else of the wheel (1.3 GB)
RUN mkdir -p /opt/cpu/torch/lib /opt/cpu/nvidia/cu13/lib \
 && cd .deps/torch \
 && cp torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1 /opt/cpu/torch/lib/ \
 && cp nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13 /opt/cpu/nvidia/cu13/lib/

FROM $BASE AS cpu
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libgrpc++1.51 libprotobuf32 libspdlog1.10 libssl3 zlib1g librocksdb7.8 libpqxx-6.4 libprometheus-cpp-core1.0 libzip4 libexpat1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc/* /usr/share/man/* \
 && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin blink \
 && install -d -o blink -g blink -m 700 /aggregator /operator
# The programs look for LibTorch there, as after an installation.
COPY --from=build /opt/cpu /usr/local/lib/blink
COPY --from=build /opt/programs /usr/local/bin/
COPY deploy/simulation-init deploy/simulation-operator deploy/process-1.sh /usr/local/bin/
# gRPC's own log says less than the programs' and repeats itself at every handshake.
ENV GRPC_VERBOSITY=NONE
USER blink
EXPOSE 7443
# Healthy: the aggregator answers a call.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["blink-aggregator", "--config", "/aggregator/aggregator.conf", "--check-health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["blink-aggregator"]
CMD ["--config", "/aggregator/aggregator.conf"]

FROM tools AS torch-cuda
RUN scripts/install-deps --no-packages --cuda && mv .deps/torch /opt/torch \
 && rm -rf /opt/torch/torch/include /opt/torch/torch/lib/libtorch_python.so /opt/torch/torch/bin /opt/torch/torch/test

FROM cpu AS cuda
COPY --from=torch-cuda /opt/torch /usr/local/lib/blink
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
