# Shared by scripts/test and scripts/demo; sourced, not run. Expects the project's root as the working folder.

for fd in 0 1 2; do
  # or the next file that is opened gets the number of the missing one
  [[ -e /proc/self/fd/$fd ]] || eval "exec $fd<>/dev/null"
done

# How many compilers run at once: one per core, but at most one per 2 GiB, which a file that includes LibTorch takes.
build_jobs() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo)
  if [[ -r /sys/fs/cgroup/memory.max ]] && [[ $(</sys/fs/cgroup/memory.max) =~ ^[0-9]+$ ]]; then
    local limit_gib=$(($(</sys/fs/cgroup/memory.max) / 1073741824))
    ((limit_gib < memory_gib)) && memory_gib=$limit_gib
  fi
  local jobs=$((memory_gib / 2))
  ((jobs > cores)) && jobs=$cores
  ((jobs < 1)) && jobs=1
  echo "$jobs"
}

# quietly LOG COMMAND..: its output goes to LOG, of which the end is shown when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  local status=$?
  echo "--- failed ($status): $*" >&2
  grep -E -B2 -A12 '(error|FAILED|CMake Error|undefined reference)' "$log" | head -150 >&2 || true
  echo "--- the end of $log:" >&2
  tail -40 "$log" >&2
  return "$status"
}

# tell_progress LOG SECONDS: while the script runs, says every so often how far a build has come: the last "[done/of]"
# that ninja wrote to LOG, when it is another one.
tell_progress() {
  local log=$1 seconds=$2 now said='' second
  while :; do
    # second by second, so that it ends soon when the script is interrupted
    for ((second = 0; second < seconds; second++)); do
      sleep 1
      kill -0 $$ 2>/dev/null || return 0
    done
    now=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" 2>/dev/null | tail -1) || true
    [[ $now == "$said" ]] || echo "   $now"
    said=$now
  done
}

# building LOG COMMAND..: quietly, telling its progress.
building() {
  local status=0 teller
  rm -f "$1"
  tell_progress "$1" 20 &
  teller=$!
  quietly "$@" || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  return "$status"
}

# Object files are found again whatever folder the project is built in (release, node-only elsewhere, images).
use_ccache() {
  unset LC_ALL LC_CTYPE LC_MESSAGES
  export LANG=C.UTF-8  # ccache takes what was compiled in another language for something else
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
  export CCACHE_COMPILERCHECK=${CCACHE_COMPILERCHECK:-content}
}
