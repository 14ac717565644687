"""Ports for servers that tests start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

#: Below the ports that systems give to connections, of which any may take a free one meanwhile, and
#: above those that Ray keeps for its workers (10002 to 19999).
RANGE = (20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on, each after the one before.

    Raises:
        OSError: none were found.
    """
    for _ in range(100):
        first = random.SystemRandom().randrange(RANGE[0], RANGE[1] - count)
        ports = list(range(first, first + count))
        with ExitStack() as stack:
            try:
                for port in ports:
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return ports
    raise OSError("no free ports were found")


def free_port(adjacent: int = 8) -> int:
    """A port that nobody listens on, nor on the next ones."""
    return free_ports(adjacent)[0]
