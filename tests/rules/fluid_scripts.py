"""Small Fluid scripts, and what a conversion makes of them."""

from __future__ import annotations

from data_way import convert

from transpile import Options, Outcome

HEAD = """\
import paddle
import paddle.fluid as fluid


def rows():
    for i in range(64):
        yield [i / 64.0], [i / 32.0]


x = fluid.layers.data("x", [1], dtype="float32")
y = fluid.layers.data("y", [1], dtype="float32")
costs = fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y)
loss = fluid.layers.mean(costs)
"""

TRAINING = """\
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
for batch in paddle.batch(rows, 8)():
    exe.run(feed=feeder.feed(batch))
"""

SCRIPT = HEAD + "fluid.optimizer.SGD(0.1).minimize(loss)\n" + TRAINING

PARALLEL = """\
fluid.optimizer.SGD(0.1).minimize(loss)
place = fluid.CUDAPlace(0)
exe = fluid.Executor(place)
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], place)
"""

BATCHES = "for batch in paddle.batch(rows, 8)():\n    "

LOADED = HEAD + (
    "loader = fluid.io.DataLoader.from_generator([x, y], 8, iterable=True)\n"
    "loader.set_batch_generator(rows)\n"
    "fluid.optimizer.SGD(0.1).minimize(loss)\n"
    "exe = fluid.Executor(fluid.CPUPlace())\n"
    "exe.run(fluid.default_startup_program())\n"
    "for data in loader():\n    exe.run(feed=data)\n"
)


def codes(script: str, **options: object) -> set[str]:
    result = convert(script, Options(**options))  # type: ignore[arg-type]
    return {finding.code for finding in result.findings}


def written(script: str, **options: object) -> str:
    result = convert(script, Options(**options))  # type: ignore[arg-type]
    assert result.outcome is Outcome.CONVERTED, result.findings
    return result.text
