"""The check that an MXNet can share a store, before the processes of a job are started."""

from __future__ import annotations

from transpile.launch.job import Job
from transpile.launch.manifests.pod import Program, Variables, script_words, shell_program

#: A program for Python, without single quotes, that a shell gets between such.
CHECK = """\
import re, sys
import mxnet
if [int(part) for part in re.findall("[0-9]+", mxnet.__version__)[:3]] < [1, 2, 1]:
    sys.exit("MXNet " + mxnet.__version__ + " is too old: 1.2.1 or later")
runtime = getattr(mxnet, "runtime", None)
if runtime is not None and not runtime.Features().is_enabled("DIST_KVSTORE"):
    sys.exit("this MXNet is built without USE_DIST_KVSTORE")
"""

_POD = f"""\
# A process with a role would never return from the import.
env -u DMLC_ROLE python -c '
{CHECK}' || exit
exec python "$@"
"""


def checked_program(job: Job, variables: Variables) -> Program:
    """Return the program of a pod: the check, and the script in its place."""
    return shell_program(_POD, script_words(job), variables)
