"""What the head of a manifest says about kubectl: how the job is started, read and ended."""

from __future__ import annotations

import os
from collections.abc import Iterable

from transpile.launch.job import Job
from transpile.launch.manifests.pod import NAME_LABEL, ROLE_LABEL
from transpile.launch.scripts.shell import quote_on_one_line


def start(job: Job) -> str:
    """What the image needs, how the job is started and how it is ended."""
    kubectl = command(job)
    where = "" if os.path.isabs(job.script) else ", in its working directory"
    return (
        f"The image has the framework and the script as {_script(job)}{where}.\n"
        f"Start: {kubectl} apply -f THIS_FILE\nEnd:   {kubectl} delete -f THIS_FILE"
    )


def logs(job: Job, counts: Iterable[tuple[str, int]], explanation: str) -> str:
    """How the logs of each role are read, and told apart.

    Args:
        job: what is started.
        counts: the roles, with the number of their pods.
        explanation: how a reader tells the processes apart.
    """
    lines = ["Logs, each line with the name of its pod, by role:"]
    for role, count in counts:
        selector = f"{NAME_LABEL}={job.label},{ROLE_LABEL}={role}"
        lines.append(selected_logs(job, selector, count))
    return "\n".join((*lines, explanation))


def selected_logs(job: Job, selector: str, count: int) -> str:
    """The command that follows the logs of the pods with certain labels."""
    return (
        f"  {command(job)} logs -f --prefix --tail=-1 --max-log-requests={max(count, 5)} \\\n"
        f"    -l {selector}"
    )


def _script(job: Job) -> str:
    return quote_on_one_line([job.script_in_image])


def command(job: Job) -> str:
    """Kubectl in the job's namespace."""
    return f"kubectl -n {job.namespace}" if job.namespace else "kubectl"
