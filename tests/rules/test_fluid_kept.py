"""What Fluid's trainings keep of one batch for the next is pointed out."""

from __future__ import annotations

import pytest
from fluid_scripts import HEAD, SCRIPT, codes

STATE = """\
state = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True, name="state")
"""
TRAINING = """\
fluid.optimizer.SGD(0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
xs = np.zeros((64, 1), dtype="float32")
score, kept, shift = np.ones(64), [], 0.0
for i in range(0, 64, 16):
    rows = xs[i : i + 16]
    order = np.argsort(-score)
"""


def kept(state: str, declared: str = STATE) -> set[str]:
    """The codes for a program that keeps something."""
    script = "import numpy as np\n" + HEAD + declared + state + "\n" + TRAINING
    return codes(script + '    exe.run(feed={"x": rows, "y": rows})\n')


@pytest.mark.parametrize(
    "state",
    [
        "fluid.layers.assign(state * 0.9 + fluid.layers.mean(y) * 0.1, state)",
        "fluid.layers.assign(fluid.layers.mean(y), output=state)",
        "fluid.layers.sums([state, fluid.layers.reduce_sum(y)], out=state)",
        "fluid.layers.assign(fluid.layers.elementwise_max(state, fluid.layers.mean(x)), state)",
    ],
)
def test_state_of_a_share_is_said(state: str) -> None:
    assert "FL313" in kept(state)


@pytest.mark.parametrize(
    ("state", "declared"),
    [
        ("fluid.layers.increment(state, value=1.0)", STATE),
        ("fluid.layers.assign(state * 0.9, state)", STATE),
        ("fluid.layers.sums([state, state], out=state)", STATE),
        ("other = fluid.layers.assign(fluid.layers.mean(y))", STATE),
        (
            "fluid.layers.assign(fluid.layers.mean(y), state)",
            STATE.replace("persistable=True", "persistable=False"),
        ),
        (
            "fluid.layers.assign(epoch, state)",
            STATE + 'epoch = fluid.data("epoch", [1], "float32")\n',
        ),
    ],
)
def test_state_that_all_trainers_have_alike_is_not(state: str, declared: str) -> None:
    assert "FL313" not in kept(state, declared)


def fed(run: str, after: str) -> set[str]:
    """The codes for a training that makes something of what it fetches."""
    script = "import numpy as np\n" + HEAD + TRAINING + f"    e, = {run}\n"
    return codes(script + "".join(f"    {line}\n" for line in after.splitlines()))


RUN = 'exe.run(feed={"x": FED, "y": rows}, fetch_list=[costs])'


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("rows - shift", "shift = float(np.median(e)) * 0.01"),
        ("xs[order[i : i + 16]]", "score[i : i + 16] = e[:, 0]"),
        ("xs[order[i : i + 16]]", "score += e.max()"),
        ("np.concatenate([rows] + kept)", "kept.append(rows[np.argsort(-e[:, 0])[:4]])"),
        ("rows * len(kept)", "if e.max() > 1:\n    kept.extend(e)"),
    ],
)
def test_batches_made_of_what_a_share_gave_are_said(given: str, after: str) -> None:
    assert "FL314" in fed(RUN.replace("FED", given), after)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("rows", "kept.append(e)\nprint(kept)"),
        ("rows - shift", "shift = 0.01 * i"),
        ("xs[order[i : i + 16]]", "score[i : i + 16] = i"),
    ],
)
def test_batches_that_are_made_without_it_are_not(given: str, after: str) -> None:
    assert "FL314" not in fed(RUN.replace("FED", given), after)


def test_means_that_the_servers_average_may_be_fed() -> None:
    averaged = RUN.replace("costs", "loss").replace("FED", "rows - shift")
    assert "FL314" not in fed(averaged, "shift = float(e[0])")


KEEPING = """\
import collections
import numpy as np

counts, seen, tally = collections.Counter(), set(), {True: 0, False: 0}
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("counts.update([row[1][0] for row in batch])", True),
        ("seen.update(row[1][0] for row in batch)", True),
        ("tally[float(top) > 1] += 1", True),
        ("counts.update([1])", False),
        ("fresh = collections.Counter(); fresh.update([row[1][0] for row in batch])", False),
    ],
)
def test_counters_and_sets_of_a_share_are_said(line: str, told: bool) -> None:
    run = "top, = exe.run(feed=feeder.feed(batch), fetch_list=[fluid.layers.reduce_max(costs)])"
    script = KEEPING + SCRIPT.replace("exe.run(feed=feeder.feed(batch))", f"{run}\n    {line}")
    assert ("FL305" in codes(script)) is told


def test_parameters_that_are_set_behind_a_step_do_not_come_to_the_servers() -> None:
    line = "fluid.global_scope().find_var('w').get_tensor().set(np.ones(1), fluid.CPUPlace())"
    run = "exe.run(feed=feeder.feed(batch))"
    assert "FL602" in codes(KEEPING + SCRIPT.replace(run, f"{run}\n    {line}"))
