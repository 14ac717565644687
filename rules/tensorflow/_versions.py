"""What outputs ask of TensorFlow."""

from __future__ import annotations

from transpile.plan.versions import Versions

VERSIONS = Versions("TensorFlow", (2, 4))
