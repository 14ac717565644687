"""How Fluid conversions shard what is fed."""

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


def test_graphs_are_not_cut_into_rows() -> None:
    fed = SCRIPT.replace("    exe.run(feed=feeder.feed(batch))", "    exe.run(feed=fed)")
    script = fed.replace("exe = fluid", "fed = wrapper.to_feed(graph)\nexe = fluid", 1)
    graphs = "import pgl\nwrapper = pgl.graph_wrapper.GraphWrapper('graph')\n"
    assert "FL202" in codes(script.replace("x = fluid", graphs + "x = fluid", 1))
    assert "FL202" not in codes(script.replace("x = fluid", "wrapper = {}\nx = fluid", 1))


def test_runs_that_are_fed_nothing_are_refused() -> None:
    script = SCRIPT.replace("    exe.run(feed=feeder.feed(batch))", "    exe.run(feed={})")
    assert "FL202" in codes(script)
    filled = script.replace("feed={}", 'feed={"x": [[1.0]], "y": [[2.0]]}')
    assert "FL202" not in codes(filled)


def test_learning_rates_that_a_trainer_fetches_are_refused() -> None:
    schedule = "rate = fluid.layers.piecewise_decay([3], [0.1, 0.05])\n"
    script = SCRIPT.replace("fluid.optimizer.SGD(0.1)", "fluid.optimizer.SGD(rate)")
    script = script.replace("fluid.optimizer", schedule + "fluid.optimizer", 1)
    fetched = script.replace("feeder.feed(batch))", "feeder.feed(batch), fetch_list=[loss, rate])")
    assert fetched != script
    assert "FL109" in codes(fetched)
    assert "FL109" not in codes(fetched, mode="nccl2")
    assert "FL109" not in codes(script)
    constant = SCRIPT.replace(
        "fluid.optimizer.SGD(0.1).minimize(loss)",
        "sgd = fluid.optimizer.SGD(0.1)\nsgd.minimize(loss)\nrate = sgd._global_learning_rate()",
    )
    constant = constant.replace(
        "feeder.feed(batch))", "feeder.feed(batch), fetch_list=[loss, rate])"
    )
    assert "FL109" not in codes(constant)
    named = script.replace(
        "fluid.optimizer.SGD(rate).minimize(loss)",
        "sgd = fluid.optimizer.SGD(rate)\nsgd.minimize(loss)\n"
        "learned = sgd._global_learning_rate()",
    )
    named = named.replace(
        "feeder.feed(batch))", "feeder.feed(batch), fetch_list=[loss, learned.name])"
    )
    assert "FL109" in codes(named)
    looks = "\nfluid.global_scope().find_var('learning_rate').get_tensor()\n"
    assert "FL109" in codes(script + looks)
    assert "FL109" not in codes(SCRIPT + looks)
    assert "FL109" not in codes(script + looks.replace("learning_rate", "fc_0.w_0"))


def test_noise_without_a_seed_stays_as_it_is() -> None:
    noisy = SCRIPT.replace(
        "fluid.layers.fc(x, 1", "fluid.layers.fc(fluid.layers.dropout(x, 0.5), 1"
    )
    assert noisy != SCRIPT
    seed = "fluid.default_main_program().random_seed = 7\n"
    assert "vary_noise" not in written(noisy)
    assert "vary_noise" not in written(SCRIPT.replace("x = fluid", seed + "x = fluid", 1))
    assert "vary_noise()\n" in written(noisy.replace("x = fluid", seed + "x = fluid", 1))
    assert "vary_noise()\n" in written(noisy.replace("dropout(x, 0.5)", "dropout(x, 0.5, seed=3)"))


@pytest.mark.parametrize("chosen", ["main if training else testing", "main"])
def test_one_call_for_training_and_testing_cannot_be_divided(chosen: str) -> None:
    script = HEAD + (
        "main = fluid.default_main_program()\n"
        "testing = main.clone(for_test=True)\n"
        "fluid.optimizer.SGD(0.1).minimize(loss)\n"
        "exe = fluid.Executor(fluid.CPUPlace())\n"
        "exe.run(fluid.default_startup_program())\n"
        "def epoch(training):\n"
        f"    program = {chosen}\n"
        '    exe.run(program, feed={"x": [[1.0]], "y": [[2.0]]})\n'
        "for i in range(9):\n    epoch(True)\n    epoch(False)\n"
    )
    told = codes(script)
    assert ("FL202" in told) is (chosen != "main")


@pytest.mark.parametrize(
    "loop",
    [
        "losses = [exe.run(feed=feeder.feed(batch)) for batch in train()]\n",
        "losses = [exe.run(feed=feeder.feed(b)) for epoch in range(3) for b in train() if b]\n",
        "for epoch in range(3):\n    all_of = [exe.run(feed=feeder.feed(b)) for b in train()]\n",
    ],
)
def test_batches_that_a_comprehension_draws_are_shared_out(loop: str) -> None:
    before = SCRIPT[: SCRIPT.index("for batch in")]
    text = written(before + "train = paddle.batch(rows, 8)\n" + loop)
    assert " in shard_reader(train)()" in text
