"""What outputs ask of Paddle Fluid."""

from __future__ import annotations

from transpile.plan.versions import Versions

#: Later versions have no Fluid, or none with a transpiler.
VERSIONS = Versions("Paddle Fluid", (1, 5), (2, 0))
