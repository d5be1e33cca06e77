# shellcheck shell=bash
# Sourced by the scripts that containers start.
for fd in 0 1 2; do
  # or the next file that is opened gets the number of the missing one
  [[ -e /proc/self/fd/$fd ]] || eval "exec $fd<>/dev/null"
done

end_group() {
  trap '' TERM HUP INT
  kill -TERM -- "-$1" 2>/dev/null || true
  wait "$1" || true
  exit "$2"
}

# until_signal COMMAND..: runs it in a process group of its own, and ends that group when this process is asked to end.
# Process 1 ignores signals that it does not handle, and bash handles none while it waits for a command in the
# foreground.
until_signal() {
  local status=0
  set -m
  "$@" &
  set +m
  local group=$!
  # shellcheck disable=SC2064  # the group is known now, and a trap runs where this function has ended
  trap "end_group $group 143" TERM HUP
  trap "end_group $group 130" INT
  wait "$group" || status=$?
  exit "$status"
}
