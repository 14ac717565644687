"""What outputs ask of SINGA."""

from __future__ import annotations

from transpile.plan.versions import Versions

VERSIONS = Versions("SINGA", (3, 0))
