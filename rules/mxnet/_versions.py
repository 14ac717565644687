"""What outputs ask of MXNet."""

from __future__ import annotations

from transpile.plan.versions import Versions

VERSIONS = Versions("MXNet", (1, 2, 1))
