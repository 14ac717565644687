"""Paddle Fluid 1.x: the vocabulary that gives roles to what a script calls."""

from __future__ import annotations

from transpile.facts.state import Dialect
from transpile.plan.table import Table
from transpile.rules.fluid._names import canonical
from transpile.rules.fluid._quantities import VOCABULARY
from transpile.rules.fluid._questions import distributed, sites, trains
from transpile.rules.fluid._versions import VERSIONS

TABLE = Table(
    joins=False,
    framework="fluid",
    prefix="FL",
    quantities=VOCABULARY,
    versions=VERSIONS,
    packages=frozenset({"paddle.fluid", "paddle.v2"}),
    dialect=Dialect(
        packages=frozenset({"numpy", "paddle"}),
        canonical=canonical,
        iterates_argument=frozenset({"tqdm.tqdm", "itertools.islice"}),
    ),
    distributed_engines={
        "paddle.fluid.incubate.fleet.collective.fleet.init": "fleet",
        "paddle.fluid.incubate.fleet.parameter_server.": "fleet",
        "paddle.distributed.fleet.": "fleet",
    },
    distributed=distributed,
    trains=trains,
    sites=sites,
)
