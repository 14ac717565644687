"""The plan of a script: its loaders, optimizers, backward passes and models."""

from __future__ import annotations

from transpile.facts.interpreter import Facts
from transpile.options import Options
from transpile.plan.data.noise_batches import take_in_noise
from transpile.plan.model import Plan, Way
from transpile.plan.roles.backwards import find_backwards
from transpile.plan.roles.loaders import find_loaders
from transpile.plan.roles.models import find_models
from transpile.plan.roles.optimizers import find_optimizers
from transpile.plan.table import Table


def build_plan(facts: Facts, table: Table, options: Options, way: Way = "data") -> Plan:
    """The plan of a script.

    Args:
        facts: what the run saw.
        table: the framework's vocabulary.
        options: what the user chose.
        way: what the ranks shard.
    """
    plan = Plan(facts, table, options, way)
    plan.loaders = list(find_loaders(facts, table))
    plan.optimizers = list(find_optimizers(facts, table))
    find_backwards(plan)
    take_in_noise(plan)
    find_models(plan)
    return plan
