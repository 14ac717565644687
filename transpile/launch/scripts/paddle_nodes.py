"""How a launch script without a launcher of its own is told about the other nodes."""

from __future__ import annotations

from string import Template

from transpile.launch.job import Job
from transpile.launch.scripts.script import options

#: What is left over from another job would be taken for this one's.
UNSET = """\
# What another job has left in the environment would be taken for this one's.
for name in $(env | sed -n 's/^\\(PADDLE_[A-Z_]*\\)=.*/\\1/p'); do
    unset "$name"
done
unset TRAINING_ROLE POD_IP
"""

_HERE = """\
# Usage: sh THIS_FILE [--port PORT] [--log-dir DIR] [--] [ARGUMENT...]
# It starts all processes on this machine, on PORT (6170) and those after it.
"""
_NODES = Template("""\
# Run it on each of the $nodes nodes:
#   sh THIS_FILE --nodes LIST --node IP [--port PORT] [--log-dir DIR] [--] [ARGUMENT...]
# LIST has the addresses of all nodes with commas in between, IP is that of the node itself; the
# processes of each use PORT (6170) and those after it. NODES, NODE and PORT in the environment do
# the same.
""")

_CHECK_PORT = """\
case $port in
    '' | *[!0-9]*) usage "the port is no number: $port" ;;
esac
"""
_ONE_NODE = """\
nodes=127.0.0.1
node=127.0.0.1
"""
_CHECK_NODES = Template("""\
node_rank=
index=0
rest=$$nodes,
while [ -n "$$rest" ]; do
    [ "$${rest%%,*}" != "$$node" ] || node_rank=$$index
    rest=$${rest#*,}
    index=$$((index + 1))
done
[ "$$index" -eq $nodes ] || usage "these are not $nodes nodes: $$nodes"
[ -n "$$node" ] && [ -n "$$node_rank" ] || usage "this node is none of them: $$node"
""")


def arguments_usage(logs: str) -> str:
    """Return what is said of arguments and logs, as lines of a comment."""
    return f"# The arguments go to the training script, after those written below.\n{logs}"


def nodes_usage(job: Job, logs: str, port: str = "6170") -> str:
    """Return how the script is used, as lines of a comment."""
    usage = _HERE if job.nodes == 1 else _NODES.substitute(nodes=job.nodes)
    return usage.replace("6170", port) + arguments_usage(logs)


def nodes_options(job: Job, port: str = "6170", logs: str = "paddle-logs") -> str:
    """Return the reading of `nodes`, `node`, `node_rank`, `port` and `log_dir`."""
    common = (("port", port), ("log_dir", logs))
    if job.nodes == 1:
        return options("[--port PORT] [--log-dir DIR]", common) + _CHECK_PORT + _ONE_NODE
    usage = "--nodes LIST --node IP [--port PORT] [--log-dir DIR]"
    reading = options(usage, (("nodes", ""), ("node", ""), *common))
    return reading + _CHECK_PORT + _CHECK_NODES.substitute(nodes=job.nodes)
