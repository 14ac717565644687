"""Launch target ``dmlc``: a shell script around MXNet's ``tools/launch.py``.

That program joins the words of a command with blanks and has one or two shells read the result, so
it is given none that a shell could take for something else: it starts the launch script again, with
what is not written there as octal digits.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.launch.job import DmlcLauncher, Job
from transpile.launch.scripts.marked_output import MARK_OUTPUT
from transpile.launch.scripts.mxnet_check import CHECK
from transpile.launch.scripts.script import (
    FOLDER,
    command_lines,
    environment,
    expected_world_size,
    options,
    script_words,
    shell_script,
)

FRAMEWORKS = ("mxnet",)

_USAGE = """\
# Usage: sh THIS_FILE$machines [--log-dir DIR] [--] [ARGUMENT...]
$where# The arguments go to the training script, after those written below.
# Lines of the output are marked with the role of the process that wrote them: [scheduler],
# [server-2], [worker-0]; DIR (dmlc-logs), or LOG_DIR in the environment, has a file for each. The
# number is that of the task: the rank is something else, which the script has as kv.rank.
"""
_ONE_MACHINE = """\
# It starts all processes on this machine.
"""
_MACHINES = """\
# FILE, or MACHINES in the environment, has the name of a machine on each line; $how
# starts servers and workers there, the scheduler is here. All of them find this file and the
# training script in the same folder, whose name has no other characters than A-Z a-z 0-9 _ . / -
"""

_PROCESS = """\
# launch.py starts this file again for each process, with `process` and words in octal digits.
if [ "${1-}" = process ]; then
    shift
    count=$#
    while [ "$count" -gt 0 ]; do
        word=$(printf '%b.' "$(printf '%s' "${1#w}" | sed 's/.../\\\\0&/g')")
        shift
        set -- "$@" "${word%.}"
        count=$((count - 1))
    done
    log_dir=$1
    shift
    label=$DMLC_ROLE
    [ "$label" = scheduler ] || label=$label-${DMLC_TASK_ID:-$(hostname)-$$}
    mkdir -p -- "$log_dir"
    log=$log_dir/$label.log
    marked $command
    exit
fi
"""

_MACHINE_LIST = """\
[ -n "$machines" ] || usage 'the file with the names of the machines is missing'
if grep -qv '^[A-Za-z0-9][A-Za-z0-9_.-]*\\(:[0-9][0-9]*\\)\\{0,1\\}$' "$machines"; then
    usage "$machines: a line is no name of a machine"
fi
case $self$PWD in
    *[!A-Za-z0-9_./-]*) usage "$self: launch.py cannot pass on the name of this folder" ;;
esac
"""

_FIND = """\
# A scheduler that is left over in the environment would make this process one.
unset DMLC_ROLE
launcher=$(python3 -c '
import os
@checkprint(os.path.join(os.path.dirname(os.path.abspath(mxnet.__file__)), "tools", "launch.py"))
')
launcher=${LAUNCH_PY:-$launcher}
if ! [ -f "$launcher" ]; then
    printf '%s\\n' "$launcher is missing: set LAUNCH_PY to the tools/launch.py of MXNet" >&2
    exit 2
fi
""".replace("@check", CHECK)

_WORDS = """\
octal() {
    printf w
    printf '%s' "$1" | od -An -v -to1 | tr -d ' \\n'
}
case $log_dir in
    /*) ;;
    *) log_dir=$PWD/$log_dir ;;
esac
count=$#
set -- "$@" "$(octal "$log_dir")"
while [ "$count" -gt 0 ]; do
    set -- "$@" "$(octal "$1")"
    shift
    count=$((count - 1))
done
"""

_START = """\
# launch.py asks threads what they no longer know since Python 3.9, and waits for ever when a
# process has failed; its children are in a process group with it, to end together.
trap 'kill -- "-$launch" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
python3 -c '
import os, runpy, sys, threading
os.setpgid(0, 0)
run = threading.Thread.run
def run_or_end(thread):
    try:
        run(thread)
    except BaseException as error:
        # What launch.py says of it goes on with all variables, secrets among them.
        sys.stderr.write("a process has failed, so all are ended: %s\\n" % str(error)[:120])
        sys.stderr.flush()
        os._exit(1)
threading.Thread.run = run_or_end
threading.Thread.isAlive = threading.Thread.is_alive
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
' \\
"""


def files(job: Job) -> dict[str, str]:
    """Return the launch script under its name.

    Raises:
        ValueError: the job has no form here.
    """
    launcher = _launcher(job)
    if job.restarts:
        raise ValueError("launch.py does not start processes again after a failure")
    usage = _USAGE.replace("$machines", "" if launcher == "local" else " --machines FILE").replace(
        "$where",
        _ONE_MACHINE if launcher == "local" else _MACHINES.replace("$how", launcher),
    )
    parts = list(_parts(job, launcher))
    return {f"{job.stem}.dmlc.sh": shell_script(job, "MXNet's launch.py", usage, parts)}


def _launcher(job: Job) -> DmlcLauncher:
    if job.dmlc_launcher == "local" and job.nodes > 1:
        raise ValueError("the launcher local starts processes on one machine alone")
    return job.dmlc_launcher or ("local" if job.nodes == 1 else "ssh")


def _parts(job: Job, launcher: DmlcLauncher) -> Iterator[str]:
    yield FOLDER + 'folder=$(cd "$folder" && pwd)\nself=$folder/${0##*/}\n'
    yield environment(job) + "export PYTHONUNBUFFERED=1\n"
    yield expected_world_size(job.worker_count)
    yield MARK_OUTPUT
    words = " \\\n        ".join(["python3", *script_words(job)])
    yield _PROCESS.replace("$command", words)
    log = ("log_dir", "dmlc-logs")
    if launcher == "local":
        yield options("[--log-dir DIR]", (log,))
    else:
        yield options("--machines FILE [--log-dir DIR]", (("machines", ""), log)) + _MACHINE_LIST
    if launcher == "mpi":
        yield (
            "# In containers all is root's.\n"
            'if [ "$(id -u)" -eq 0 ]; then\n'
            "    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\nfi\n"
        )
    yield _FIND
    yield _WORDS
    found = ['"$launcher"', f"-n {job.worker_count}", f"-s {job.server_count}"]
    found.append(f"--launcher {launcher}")
    if launcher != "local":
        found.append('-H "$machines"')
    # Local processes are started by a shell that reads the name of the folder.
    quoted = "\\'\"$(printf '%s' \"$self\" | sed \"s/'/'\\\\\\\\''/g\")\"\\'"
    found += ["sh", quoted if launcher == "local" else '"$self"', "process", '"$@" &']
    yield _START + "    " + command_lines(found) + 'launch=$!\nwait "$launch"\n'
