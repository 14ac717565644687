"""Whether a training loader gives each process its share already."""

from __future__ import annotations

from transpile.facts.values import Instance, Unknown, Values
from transpile.plan.data.sources import Site, depends_on_world_size
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.paddle.data._sharding import DISTRIBUTED


def shared_already(plan: Plan, site: Site) -> bool:
    """Whether the loader's batches are shared by something that knows the number of processes."""
    made = {id(loader.value) for loader in site.loaders}
    for event in plan.facts.stores:
        if event.name == "batch_sampler":
            if any(id(value) in made for value in event.callee):
                return True
    for name in ("batch_sampler", "dataset"):
        argument = site.loader.argument(name)
        if argument is None:
            continue
        for value in walk_back(argument.values, lambda v: not isinstance(v, Unknown)):
            names = called_names(value)
            if DISTRIBUTED in names:
                size = value.arguments.get("batch_size", 1)  # type: ignore[union-attr]
                if size is not None and depends_on_world_size(plan, size.values):
                    return True
                if plan.options.batch_size == "per-device" and joins(plan):
                    return True
            if isinstance(value, Instance) and any(
                is_world_size(plan, values) for values in value.attributes.values()
            ):
                return True
    return False


def joins(plan: Plan) -> bool:
    """Whether the script joins other processes itself."""
    return any(
        any(getattr(c, "name", "") in plan.table.distributed_starts for c in event.callee)
        for event in plan.facts.calls
    )


def is_world_size(plan: Plan, values: Values) -> bool:
    """Whether values are the number of processes."""
    return bool(values) and all(
        any(name in plan.table.world_size_calls for name in called_names(value)) for value in values
    )
