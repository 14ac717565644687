"""Shell code that starts several processes on one machine and ends them together."""

from __future__ import annotations

#: Defines `start ROLE INDEX COMMAND...`, of which `pid` is the process; needs `log_dir`.
START_PROCESSES = """\
mkdir -p -- "$log_dir"
pipes=$(mktemp -d)
pids=
readers=
trap '
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
    done
    rm -rf -- "$pipes"
' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What comes in goes out with a mark, and into a file as it is.
mark() {
    while IFS= read -r line || [ -n "$line" ]; do
        printf '[%s] %s\\n' "$1" "$line"
        printf '%s\\n' "$line" >&3
    done 3>"$log_dir/$1.log"
}

start() {
    name=$1-$2
    shift 2
    mkfifo -- "$pipes/$name"
    mark "$name" <"$pipes/$name" &
    readers="$readers $!"
    "$@" >"$pipes/$name" 2>&1 &
    pid=$!
    pids="$pids $pid"
}
"""

#: Waits for all processes of `workers`, or for one that fails, and ends the rest.
WAIT_FOR_WORKERS = """\
# Servers never end by themselves; and where one worker fails, the others would wait for it.
status=0
while [ -n "$workers" ] && [ "$status" -eq 0 ]; do
    sleep 1
    running=
    for pid in $workers; do
        if kill -0 "$pid" 2>/dev/null; then
            running="$running $pid"
        else
            wait "$pid" || status=$?
        fi
    done
    workers=$running
done
for pid in $pids; do
    kill "$pid" 2>/dev/null || :
done
for pid in $readers; do
    wait "$pid" || :
done
exit "$status"
"""
