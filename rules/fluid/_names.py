"""The documented names of what Fluid exports from several places."""

from __future__ import annotations

ROOT = "paddle.fluid."
#: Modules whose names `paddle.fluid` itself exports.
FLAT = (
    "framework", "executor", "compiler", "parallel_executor", "data_feeder", "transpiler",
    "transpiler.distribute_transpiler", "transpiler.memory_optimization_transpiler", "input",
    "data", "core", "param_attr", "lod_tensor",
)  # fmt: skip
#: Modules of layers whose names `paddle.fluid.layers` itself exports.
LAYERS = frozenset(
    {
        "nn", "tensor", "control_flow", "io", "loss", "ops", "detection", "sequence_lod",
        "metric_op", "learning_rate_scheduler", "rnn", "device", "utils",
    }
)  # fmt: skip
ALIASES = {
    "paddle.batch": "paddle.fluid.io.batch",
    "paddle.minibatch.batch": "paddle.fluid.io.batch",
    "paddle.fluid.one_hot": "paddle.fluid.layers.one_hot",
    "paddle.fluid.reader.DataLoader": "paddle.fluid.io.DataLoader",
    "paddle.fluid.reader.PyReader": "paddle.fluid.io.PyReader",
    "paddle.fluid.dataset.DatasetFactory": "paddle.fluid.DatasetFactory",
    "paddle.fluid.memory_optimize": "paddle.fluid.transpiler.memory_optimize",
}
#: What Fluid 1.7 moved from `paddle.reader` to `paddle.fluid.io`.
DECORATORS = frozenset(
    {
        "shuffle", "buffered", "cache", "chain", "compose", "firstn", "map_readers",
        "multiprocess_reader", "xmap_readers",
    }
)  # fmt: skip


def canonical(name: str) -> str:
    """The documented spelling of a dotted name."""
    if name in ALIASES:
        return ALIASES[name]
    for prefix in ("paddle.reader.", "paddle.reader.decorator.", "paddle.fluid.io."):
        if name.startswith(prefix) and name[len(prefix) :] in DECORATORS:
            return f"paddle.fluid.io.{name[len(prefix):]}"
    if not name.startswith(ROOT):
        return name
    inner, _, last = name[len(ROOT) :].rpartition(".")
    if not inner:
        return name
    if inner in FLAT and last[:1] != "_":
        if f"{inner}.{last}" in FLAT or (inner == "core" and last != "Scope"):
            return name
        return ALIASES.get(f"{ROOT}{last}", f"{ROOT}{last}")
    if inner.startswith("layers.") and inner[len("layers.") :] in LAYERS:
        return f"{ROOT}layers.{last}"
    if inner == "optimizer" and last.endswith("Optimizer") and last != "Optimizer":
        return f"{ROOT}optimizer.{last[:-len('Optimizer')]}"
    return name
