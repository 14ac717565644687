"""What is mounted into the containers of a job."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass


@dataclass(frozen=True)
class Volume:
    """Something that a container sees at a path.

    Args:
        source: an absolute path of the host, or the name of a claim (compose: of a volume).
        path: where it is in the container, absolute.
        read_only: whether it may only be read there.

    Raises:
        ValueError: one of them is missing, or is no such path.
    """

    source: str
    path: str
    read_only: bool = False

    def __post_init__(self) -> None:
        for text in (self.source, self.path):
            if not text or not text.isprintable() or ":" in text or "," in text:
                raise ValueError(f"{text!r} cannot be mounted")
        if not posixpath.isabs(self.path):
            raise ValueError(f"{self.path!r} is no absolute path in a container")
        if not self.is_host_path and "/" in self.source:
            raise ValueError(f"{self.source!r} is neither an absolute path nor the name of a claim")

    @property
    def is_host_path(self) -> bool:
        """Whether it is a path of the host rather than a claim."""
        return posixpath.isabs(self.source)


def parse_volume(text: str) -> Volume:
    """Return the volume of ``SOURCE:PATH`` or ``SOURCE:PATH:ro``.

    Raises:
        ValueError: it is none.
    """
    source, _, rest = text.partition(":")
    path, _, suffix = rest.partition(":")
    if not path or suffix not in ("", "ro", "rw"):
        raise ValueError(f"{text!r} is not of the form SOURCE:PATH[:ro]")
    return Volume(source, path, suffix == "ro")
