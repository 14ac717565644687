"""How Fluid conversions share out what is fed."""

from __future__ import annotations

import black
import pytest
from fluid_scripts import HEAD, LOADED, SCRIPT, codes, written


def test_arrays_are_fed_to_compiled_programs() -> None:
    script = HEAD + (
        "fluid.optimizer.SGD(0.1).minimize(loss)\n"
        "exe = fluid.Executor(fluid.CPUPlace())\n"
        "exe.run(fluid.default_startup_program())\n"
        "main = fluid.CompiledProgram(fluid.default_main_program())\n"
        'for i in range(9):\n    exe.run(main, feed={"x": [[1.0]], "y": [[i]]})\n'
    )
    text = written(script)
    assert 'shard_feed({"x": [[1.0]], "y": [[i]]}, main)' in text
    assert 'getattr(program, "_program", program)' in text


def test_readers_of_arrays_are_shared_out_by_rows() -> None:
    assert "set_batch_generator(shard_arrays(rows))" in written(LOADED)


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        (
            "set_sample_generator(rows, 8, False)",
            "set_sample_list_generator(shard_samples(rows, 8, False))",
        ),
        (
            "set_sample_generator(rows, batch_size=8, places=[place])",
            "set_sample_list_generator(shard_samples(rows, batch_size=8), places=[place])",
        ),
        (
            "set_sample_generator(reader=rows, batch_size=8, drop_last=True, places=[place])",
            "set_sample_list_generator(shard_samples(reader=rows, batch_size=8, drop_last=True), "
            "places=[place])",
        ),
        (
            "decorate_sample_generator(rows, 8, True, [place])",
            "decorate_sample_list_generator(shard_samples(rows, 8, True), [place])",
        ),
    ],
)
def test_single_samples_are_given_as_lists(given: str, shared: str) -> None:
    script = LOADED.replace("loader = ", "place = fluid.CPUPlace()\nloader = ")
    text = written(script.replace("set_batch_generator(rows)", given))
    assert f"loader.{shared}\n" in text


@pytest.mark.parametrize(
    "given",
    [
        "set_sample_generator(rows, places=None, batch_size=8)",
        "set_sample_generator(batch_size=8, reader=rows)",
        "set_sample_generator(rows, **how)",
        "decorate_sample_generator(sample_generator=rows, batch_size=8)",
    ],
)
def test_single_samples_that_are_given_in_other_ways_are_refused(given: str) -> None:
    script = LOADED.replace("loader = ", 'how = {"batch_size": 8}\nloader = ')
    assert "FL202" in codes(script.replace("set_batch_generator(rows)", given))


def test_a_loader_of_a_data_set_is_refused() -> None:
    script = LOADED.replace(
        "DataLoader.from_generator([x, y], 8, iterable=True)", "DataLoader(ids)"
    )
    script = script.replace("loader.set_batch_generator(rows)\n", "")
    assert "FL202" in codes(script.replace("loader = ", "import ids\nloader = "))


def test_one_reader_for_training_and_evaluation_is_refused() -> None:
    script = HEAD + (
        "test = fluid.default_main_program().clone(for_test=True)\n"
        "fluid.optimizer.SGD(0.1).minimize(loss)\n"
        "exe = fluid.Executor(fluid.CPUPlace())\n"
        "exe.run(fluid.default_startup_program())\n"
        "feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())\n\n\n"
        "def once(program):\n"
        "    for batch in paddle.batch(rows, 8)():\n"
        "        exe.run(program, feed=feeder.feed(batch))\n\n\n"
        "once(fluid.default_main_program())\nonce(test)\n"
    )
    assert "FL202" in codes(script)


def test_batches_per_device_are_taken_in_turn() -> None:
    assert "turn.append(batch)" in written(SCRIPT, batch_size="per-device")


def test_orders_of_sets_are_reported() -> None:
    script = SCRIPT.replace(
        "exe = fluid",
        "ids = {}\nfor number, word in enumerate(set(open('words').read().split())):\n"
        "    ids[word] = number\nexe = fluid",
        1,
    )
    assert "FL114" in codes(script)
    assert "FL114" not in codes(
        script.replace("enumerate(set(", "enumerate(sorted(set(", 1).replace(
            "split())):", "split()))):"
        )
    )
    assert "FL114" not in codes(SCRIPT)


def test_sizes_of_batches_that_decide_are_refused() -> None:
    script = SCRIPT.replace(
        "    exe.run(feed", "    if len(batch) != 8:\n        continue\n    exe.run(feed"
    )
    assert "FL202" in codes(script)
    assert "FL202" not in codes(script, batch_size="per-device")


def test_helpers_for_arrays_are_what_black_writes() -> None:
    script = SCRIPT.replace(
        "    exe.run(feed=feeder.feed(batch))", '    exe.run(feed={"x": [[1]]})'
    )
    text = written(script)
    assert "shard_feed" in text
    assert black.format_str(text, mode=black.Mode()) == text
