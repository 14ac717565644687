"""Samples that an MXNet script makes up itself, and random numbers that differ by worker."""

from __future__ import annotations

from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, LOADER, LOOP, STEP, SYMBOL, TRAINER, codes

GENERATOR = """\
maker = gluon.nn.Dense(4)
maker.initialize()
other = gluon.Trainer(maker.collect_params(), "adam")
"""
FAKE = """\
        with autograd.record():
            fake = loss_fn(net(maker(NOISE)), mx.nd.ones((COUNT, 1)))
        fake.backward()
        other.step(8)
        print(fake.mean().asscalar())
        print(fake.sum().asscalar())
"""
LITERAL = LOADER.replace("batch_size=batch_size", "batch_size=8")


def made(noise: str, count: str = "8") -> str:
    """A script that trains a second model on samples made up in its loop."""
    fake = FAKE.replace("NOISE", noise).replace("COUNT", count)
    return HEAD + LITERAL + TRAINER + GENERATOR + LOOP + STEP + fake


def test_noise_of_as_many_samples_as_a_literal_batch_is_shared() -> None:
    for noise in (
        "mx.nd.random.normal(shape=(8, 3))",
        "mx.nd.random_normal(0, 1, (8, 3))",
        "mx.nd.array(np.random.randn(8, 3))",
        "mx.nd.ones((8, 3))",
        "mx.nd.normal(0, 1, (8, 3))",
        "mx.nd.uniform(shape=(8, 3))",
        "mx.nd.random.randn(8, 3)",
        "mx.random.randn(8, 3)",
        "mx.ndarray.randint(0, 9, (8, 3))",
    ):
        result = convert(made(noise))
        assert noise.replace("8", "split_batch(8)") in result.text
        assert "mx.nd.ones((split_batch(8), 1))" in result.text
        assert "other.step(8)\n" in result.text
    named = convert(made("mx.nd.random.normal(shape=(batch_size, 3))", "4 * 2")).text
    assert "shape=(split_batch(batch_size), 3)" in named
    assert "mx.nd.ones((split_batch(4 * 2), 1))" in named


def test_the_place_of_a_shape_goes_by_what_is_drawn() -> None:
    for noise in ("np.random.normal(8, 1, 8)", "np.random.poisson(8, 8)", "np.random.random(8)"):
        text = convert(made(f"mx.nd.array({noise}).expand_dims(1)")).text
        assert noise[: noise.rindex("8")] + "split_batch(8))" in text


def test_a_step_on_noise_of_another_shape_counts_that_of_all_workers() -> None:
    for noise in ("mx.nd.random.normal(shape=(6, 3))", "mx.nd.load('noise')[0]"):
        result = convert(made(noise, "6"))
        assert "other.step(8 * get_num_workers())\n" in result.text
        assert "trainer.step(batch_size)\n" in result.text


def test_numbers_made_of_noise_are_those_of_all_workers() -> None:
    shared = convert(made("mx.nd.random.normal(shape=(8, 3))"))
    assert "average_workers(fake.mean().asscalar())" in shared.text
    assert "add_workers(fake.sum().asscalar())" in shared.text
    # All workers together would draw more noise than one process: no sum of theirs is its sum.
    whole = convert(made("mx.nd.random.normal(shape=(6, 3))", "6"))
    assert "average_workers(fake.mean().asscalar())" in whole.text
    assert "add_workers(fake" not in whole.text
    assert "MX602" in codes(whole)


def test_noise_that_does_not_follow_the_batch_beside_its_samples_is_said() -> None:
    term = "        loss = loss + loss_fn(net(mx.nd.random.normal(shape=(LENGTH, 4))), 1)\n"
    loop = LOOP.replace("        loss.backward()\n", "    " + term + "        loss.backward()\n")
    script = HEAD + LITERAL + TRAINER + loop + STEP
    assert "MX309" in codes(convert(script.replace("LENGTH", "5")))
    for followed in ("8", "1", "batch_size", "data.shape[0]"):
        assert "MX309" not in codes(convert(script.replace("LENGTH", followed)))


def test_augmentations_differ_by_worker_where_nothing_is_decided_by_them() -> None:
    own = "    vary_augmentations()\n    waiting = []"
    assert own not in convert(GLUON + STEP).text
    transformed = LOADER.replace("x, y)", "x, y).transform_first(shift)")
    shift = "def shift(row):\n    return row + np.random.randn()\n\n\n"
    assert own in convert(HEAD + shift + transformed + TRAINER + LOOP + STEP).text
    drawn = "        shift = np.random.randn()\n"
    assert own in convert(GLUON + drawn + STEP).text
    decided = drawn + "        if shift > 0:\n            net(data)\n"
    assert own not in convert(GLUON + decided + STEP).text
    shuffled = LOOP.replace("    for data", "    np.random.shuffle(x)\n    for data", 1)
    assert own not in convert(HEAD + LOADER + TRAINER + shuffled + STEP).text
    cut = (
        HEAD
        + TRAINER
        + (
            "order = np.random.permutation(64)\n"
            "for i in range(8):\n    with autograd.record():\n"
            "        loss = loss_fn(net(x[i * 8 : (i + 1) * 8]), y[i * 8 : (i + 1) * 8])\n"
            "    loss.backward()\n    trainer.step(8)\n"
        )
    )
    assert own not in convert(cut).text


def test_modules_have_dropout_of_their_own_in_each_worker() -> None:
    own = "get_updater(optimizer)\n        vary_random_numbers()\n"
    assert own not in convert(HEAD + SYMBOL + FIT).text
    dropping = SYMBOL.replace("module =", "symbol = mx.sym.Dropout(symbol, p=0.5)\nmodule =")
    assert own in convert(HEAD + dropping + FIT).text
    decided = "if mx.nd.random.normal(shape=(1,)).asscalar() > 0:\n    print(1)\n"
    assert own not in convert(HEAD + dropping + FIT + decided).text


def test_numbers_that_a_switched_tracker_records_are_those_of_all_workers() -> None:
    script = GLUON.replace("import mxnet", "import wandb\nimport mxnet", 1) + STEP
    script = script.replace("trainer =", 'wandb.init(project="p")\ntrainer =', 1)
    text = convert(script + '        wandb.log({"loss": loss.mean().asscalar()})\n').text
    assert 'wandb.init(project="p", mode=None if is_main_process() else "disabled")' in text
    assert 'wandb.log({"loss": average_workers(loss.mean().asscalar())})' in text


def test_a_tracker_around_training_is_a_manager_in_all_workers() -> None:
    head, training = (GLUON + STEP).split("for epoch", 1)
    inside = "".join(f"    {line}\n" for line in ("for epoch" + training).splitlines())
    script = "from mxboard import SummaryWriter\n" + head
    script += "with SummaryWriter() as writer:\n" + inside + "        writer.add_scalar('e', 1)\n"
    text = convert(script).text
    assert "with SummaryWriter() if is_main_process() else ExitStack() as writer:" in text
    assert "        if is_main_process():\n            writer.add_scalar('e', 1)" in text


def test_data_stays_whole_whose_length_is_a_multiple_of_the_batch_size() -> None:
    loader = """\
x = mx.nd.random.normal(shape=(6 * batch_size, 3))
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, x), batch_size=batch_size)
"""
    result = convert(HEAD + "batch_size = 8\n" + loader + TRAINER + LOOP + STEP)
    assert "split_batch(batch_size)" in result.text
    assert "shape=(6 * batch_size, 3)" in result.text
