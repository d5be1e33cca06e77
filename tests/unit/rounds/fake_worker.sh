#!/bin/sh
# Stands in for blink-worker: what it does is written in <attributes>/behaviour. It counts its starts in
# <attributes>/starts.
if [ "$1" = --gpus ]; then
  echo '{"gpus":0,"why_none":"a stand-in has none"}'
  exit 0
fi
while [ $# -gt 0 ]; do
  case "$1" in
    --round-folder) round=$2 ;;
    --attributes) attributes=$2 ;;
    --output) output=$2 ;;
    --threads) threads=$2 ;;
    --reports-key-fd) key_fd=$2 ;;
  esac
  shift 2
done
echo start >> "$attributes/starts"
say() { echo "{\"stage\":\"$1\",\"progress\":$2,\"text\":\"$3\"}"; }
succeed() {
  say estimating 0.5 "half way"
  say training 0.5 "epoch 1 of 2"
  test -s "$round/reports.blr" && test -s "$round/round.json" || { echo "no round folder" >&2; exit 3; }
  mkdir -p "$output"
  echo "{\"threads\":\"$threads\",\"pid\":$$,\"niceness\":$(nice)}" > "$output/metrics.json"
  echo "0,1" > "$output/predictions.csv"
}
case "$(cat "$attributes/behaviour")" in
  succeed) succeed ;;
  key)
    tr '\0' ' ' < /proc/$$/cmdline > "$attributes/seen"
    tr '\0' ' ' < /proc/$$/environ >> "$attributes/seen"
    test "$key_fd" = 4 && cat <&4 > "$attributes/key" && succeed ;;
  crash-once)
    say training 0.1 "about to crash"
    if [ ! -e "$attributes/crashed" ]; then
      touch "$attributes/crashed"
      echo "something went wrong here" >&2
      kill -SEGV $$
    fi
    succeed ;;
  crash)
    echo "out of luck" >&2
    kill -KILL $$ ;;
  crash-with-progress)
    mkdir -p "$output.checkpoint"
    echo epoch >> "$output.checkpoint/training.checkpoint"
    if [ $(wc -l < "$output.checkpoint/training.checkpoint") -lt 8 ]; then kill -KILL $$; fi
    succeed ;;
  checkpoint-then-crash)
    mkdir -p "$output.checkpoint" "$output.tmp"
    echo epoch > "$output.checkpoint/training.checkpoint"
    kill -KILL $$ ;;
  checkpoint-then-error)
    mkdir -p "$output.checkpoint" "$output.tmp"
    echo epoch > "$output.checkpoint/training.checkpoint"
    echo '{"error":"it diverged","exit_code":3}'
    exit 3 ;;
  checkpoint-then-hang)
    mkdir -p "$output.checkpoint"
    echo epoch > "$output.checkpoint/training.checkpoint"
    say training 0.3 "hanging"
    sleep 600 ;;
  disk-full)
    say training 0.9 "about to write"
    mkdir -p "$output.checkpoint"
    echo epoch > "$output.checkpoint/training.checkpoint"
    [ -e "$attributes/room" ] && succeed && exit 0
    echo '{"error":"cannot write model.pt: No space left on device","exit_code":9,"waits_for":"disk"}'
    exit 9 ;;
  occupied)  # by the worker of an aggregator that lost the lease
    [ -e "$attributes/room" ] && succeed && exit 0
    echo '{"error":"another process is about to write the result","exit_code":1,"waits_for":"worker"}'
    exit 1 ;;
  occupied-otherwise)  # what says so with another code
    echo '{"error":"another process is about to write the result","exit_code":3,"waits_for":"worker"}'
    exit 3 ;;
  disk-full-otherwise)  # what says so, but is no error of a full disk
    echo '{"error":"cannot write model.pt: No space left on device","exit_code":3,"waits_for":"disk"}'
    exit 3 ;;
  memory-full)
    echo '{"error":"the worker ran out of memory: give it more (--worker-memory-bytes)","exit_code":9}'
    exit 9 ;;
  no-memory-for-libraries)
    echo "blink-worker: error while loading shared libraries: libtorch_cpu.so:" \
      "failed to map segment from shared object" >&2
    exit 127 ;;
  no-memory-for-initialization)
    echo "terminate called after throwing an instance of 'std::bad_alloc'" >&2
    kill -ABRT $$ ;;
  speak-of-memory-and-crash)  # words alone
    say training 0.5 "epoch 1 of 2"
    echo "out of memory: std::bad_alloc" >&2
    kill -ABRT $$ ;;
  burn-processor-time)
    while :; do :; done ;;
  error)
    echo 'not json'
    echo '{"error":"the device cuda:7 does not exist","exit_code":3}'
    exit 3 ;;
  silent-error)
    echo "the last words" >&2
    exit 7 ;;
  no-result) exit 0 ;;
  hang)
    say training 0.3 "hanging"
    sleep 600 ;;
  deaf)
    trap '' TERM
    say training 0.3 "deaf"
    while :; do sleep 0.1; done ;;
  wait)
    say training 0.3 "waiting"
    echo $$ > "$attributes/pid"
    while [ ! -e "$attributes/go" ]; do sleep 0.02; done
    succeed ;;
esac
