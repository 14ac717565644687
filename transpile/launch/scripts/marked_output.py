"""Output of several processes in one place: marked lines, and a file for each process."""

from __future__ import annotations

#: The variable LABEL names the process, LOG its file; the rest are the words of the process.
MARK_OUTPUT = """\
# Runs a command; its lines come out marked with $label, and go into $log as they are.
marked() {
    status=$(
        {
            { if "$@" 2>&1 3>&- 4>&-; then echo 0 >&3; else echo "$?" >&3; fi; } |
                while IFS= read -r line || [ -n "$line" ]; do
                    printf '[%s] %s\\n' "$label" "$line" >&4
                    printf '%s\\n' "$line"
                done >"$log"
        } 3>&1
    ) 4>&1
    return "$status"
}
"""
