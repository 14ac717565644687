"""What can be passed to a process: words and environment variables."""

from __future__ import annotations

import re

# What launchers tell their processes; set beforehand it contradicts them.
_RESERVED = re.compile(
    r"(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|NODE_RANK|MASTER_(ADDR|PORT)|EXPECTED_WORLD_SIZE"
    r"|(PET|TORCHELASTIC|PADDLE|OMPI_COMM_WORLD|PMI|PMIX|SLURM)_\w*|MPI_LOCAL\w*"
    r"|DMLC_(ROLE|PS_ROOT_URI|PS_ROOT_PORT|NUM_WORKER|NUM_SERVER|WORKER_ID|TASK_ID|JOB_CLUSTER)"
    r"|TRAINING_ROLE|POD_IP|FLAGS_selected_gpus|TF_CONFIG|JOB_COMPLETION_INDEX"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_variable(variable: str) -> None:
    """Check the name of an environment variable of the user.

    Raises:
        ValueError: it is no name, or the launcher sets it.
    """
    if not _VARIABLE.fullmatch(variable):
        raise ValueError(f"{variable!r} cannot be the name of an environment variable")
    if _RESERVED.fullmatch(variable):
        raise ValueError(f"{variable} is for the launcher to set")


def check_word(word: str) -> None:
    """Check a word that is passed to a process.

    Raises:
        ValueError: it holds a NUL character, or is no text.
    """
    if "\0" in word:
        raise ValueError(f"{word!r} cannot be passed to a process: it holds a NUL character")
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"{word!r} cannot be passed to a process: it is no text") from None


def dns_label(text: str, longest: int = 63) -> str:
    """Return `text` as a name of Kubernetes (DNS-1035): small letters, digits and hyphens.

    Args:
        text: any text; one that is a label already stays as it is.
        longest: how many characters it may have.
    """
    label = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not re.match("[a-z]", label):
        label = f"train-{label}".rstrip("-")
    return label[:longest].rstrip("-")
