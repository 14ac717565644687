"""What Fluid conversions decide, and what they write for the choices of the user."""

from __future__ import annotations

import black
import pytest
from data_way import convert
from fluid_scripts import BATCHES, HEAD, PARALLEL, SCRIPT, TRAINING, codes, written

from transpile import Options


def test_defaults_are_synchronous_and_cut_large_variables() -> None:
    text = written(SCRIPT)
    assert "config.slice_var_up = True" in text
    assert "sync_mode=True" in text
    assert "split_method" not in text
    assert "Communicator" not in text


def test_asynchronous_updates_need_flags_and_a_communicator() -> None:
    text = written(SCRIPT, async_mode=True)
    assert "config.sync_mode = False" in text
    assert "config.runtime_split_send_recv = True" in text
    assert "sync_mode=False" in text
    assert text.index("exe.run(fluid.default_startup") < text.index("\nstart_communicator()")
    assert "FL105" in codes(SCRIPT, async_mode=True)


def test_hash_of_names_is_equal_in_every_process() -> None:
    text = written(SCRIPT, split_method="HashName")
    assert "zlib.crc32" in text
    assert "config.split_method = StableHash" in text


def test_dispatchers_of_the_user() -> None:
    own = "class Mine(fluid.transpiler.ps_dispatcher.PSDispatcher):\n    pass\n\n\n"
    script = SCRIPT.replace("x = fluid", own + "x = fluid", 1)
    assert "config.split_method = Mine" in written(script, split_method="Mine")
    assert "FL102" in codes(SCRIPT, split_method="Mine")
    assert "from mine import Hash" in written(SCRIPT, split_method="mine.Hash")


def test_nccl2_refuses_what_needs_servers() -> None:
    with pytest.raises(ValueError, match="synchronous"):
        Options(mode="nccl2", async_mode=True)
    with pytest.raises(ValueError, match="no servers"):
        Options(mode="nccl2", distributed_embedding=True)


def test_nccl2_with_a_parallel_executor() -> None:
    script = (
        HEAD
        + PARALLEL
        + "train = fluid.ParallelExecutor(use_cuda=True, loss_name=loss.name)\n"
        + BATCHES
        + "train.run(feed=feeder.feed(batch), fetch_list=[loss.name])\n"
    )
    text = written(script, mode="nccl2")
    assert "num_trainers=get_trainer_count(), trainer_id=get_trainer_id())" in text
    assert 'config.mode = "nccl2"' in text
    assert "fluid.CUDAPlace(get_gpu())" in text
    assert "get_pserver_program" not in text
    assert text.index("\ntranspile_program()") < text.index("\nexe.run(fluid.default_startup")


def test_nccl2_with_a_compiled_program() -> None:
    script = (
        HEAD
        + PARALLEL
        + "program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(\n"
        + "    loss_name=loss.name)\n"
        + BATCHES
        + "exe.run(program, feed=feeder.feed(batch))\n"
    )
    assert "build_strategy=share_gradients())" in written(script, mode="nccl2")


def test_nccl2_refuses_a_plain_executor() -> None:
    script = HEAD + PARALLEL + BATCHES + "exe.run(feed=feeder.feed(batch))\n"
    assert "FL402" in codes(script, mode="nccl2")
    assert "FL402" not in codes(script)


@pytest.mark.parametrize(
    "loading",
    [
        'fluid.io.load_params(exe, "old")\n',
        'if rows is not None:\n    fluid.io.load_params(exe, "old")\n',
        'fluid.global_scope().find_var("w").get_tensor().set([[1.0]], fluid.CPUPlace())\n',
    ],
)
def test_servers_load_what_trainers_load(loading: str) -> None:
    text = written(SCRIPT.replace("feeder =", loading + "feeder ="))
    assert "transpile_program(serve=False)\nexe.run(fluid.default_startup" in text
    assert loading + "serve_parameters()\nfeeder =" in text
    assert "serve=False" not in written(SCRIPT)
    script = SCRIPT.replace(
        "    exe.run(feed", "    " + loading.replace("\n", "\n    ") + "exe.run(feed"
    )
    assert "FL602" in codes(script)
    assert "FL602" in codes(SCRIPT.replace("exe.run(fluid.def", loading + "exe.run(fluid.def"))
    assert "FL602" not in codes(script, mode="nccl2")


def test_communicators_start_behind_what_is_loaded() -> None:
    loading = 'fluid.io.load_params(exe, "old")\n'
    text = written(SCRIPT.replace("feeder =", loading + "feeder ="), async_mode=True)
    assert loading + "serve_parameters()\nstart_communicator()\n" in text


def test_arrays_as_initial_values_are_cut_by_servers() -> None:
    array = "fluid.initializer.NumpyArrayInitializer([[1.0]])"
    script = SCRIPT.replace(
        "fc(x, 1)", f"fc(x, 1, param_attr=fluid.ParamAttr(initializer={array}))"
    )
    assert "FL104" not in codes(script)
    assert "FL104" in codes(script, distributed_embedding=True)


def test_gradients_that_the_optimizer_clips_stay_with_trainers() -> None:
    clip = "SGD(0.1, grad_clip=fluid.clip.GradientClipByNorm(1.0))"
    script = SCRIPT.replace("SGD(0.1)", clip)
    assert "\nclip_on_trainers()\ntranspile_program()\n" in written(script)
    assert "clip_on_trainers" not in written(SCRIPT)
    assert "FL307" in codes(script)


def test_sums_are_scaled_and_means_are_not() -> None:
    total = SCRIPT.replace("fluid.layers.mean(costs)", "fluid.layers.reduce_sum(costs) / 8.0")
    assert "minimize(scale_loss(loss))" in written(total)
    assert "scale_loss" not in written(SCRIPT)
    odd = SCRIPT.replace("fluid.layers.mean(costs)", "fluid.layers.reduce_max(costs)")
    assert "FL302" in codes(odd)


@pytest.mark.parametrize(
    ("loss", "scaled"),
    [
        ("fluid.layers.reduce_sum(fluid.layers.reduce_mean(costs, dim=[0]))", False),
        ("fluid.layers.reduce_mean(fluid.layers.reduce_sum(costs, dim=[0]))", True),
        ("fluid.layers.reduce_sum(fluid.layers.reshape(costs, [-1]))", True),
        ("fluid.layers.mean(fluid.layers.reduce_sum(costs, dim=1))", False),
        (
            "fluid.layers.mean(costs) + fluid.layers.reduce_sum(fluid.layers.square("
            'fluid.layers.create_parameter([1], "float32")))',
            False,
        ),
    ],
)
def test_reductions_of_reductions(loss: str, scaled: bool) -> None:
    script = SCRIPT.replace("fluid.layers.mean(costs)", loss)
    assert ("minimize(scale_loss(loss))" in written(script)) == scaled
    assert "FL302" not in codes(script)


def test_updates_behind_a_backward_pass_of_their_own() -> None:
    own = "sgd = fluid.optimizer.SGD(0.1)\nsgd.apply_gradients(@)\n"
    for gradients in ("sgd.backward(loss)", "fluid.backward.append_backward(loss)"):
        script = HEAD + own.replace("@", gradients) + TRAINING
        text = written(script)
        assert text.index("apply_gradients(") < text.index("\ntranspile_program()")
        summed = script.replace("layers.mean(costs)", "layers.reduce_sum(costs)")
        assert gradients.replace("loss", "scale_loss(loss)") in written(summed)


def test_training_that_cannot_be_seen_is_not_called_no_training() -> None:
    unseen = "import tools\ntools.optimise(loss)\n"
    assert "FL103" in codes(HEAD + unseen + TRAINING)
    read = 'fluid.io.load_params(exe, "old")\nfeeder ='
    assert "DT004" in codes(HEAD + unseen + TRAINING.replace("feeder =", read))
    starred = "from paddle.fluid.contrib.trainer import *\n" + HEAD + "Trainer(loss)\n"
    assert "FL103" in codes(starred)


@pytest.mark.parametrize(
    ("optimizer", "code"),
    [
        ("Adadelta(0.1)", "FL108"),
        ("Lamb(0.1)", "FL108"),
        ("RecomputeOptimizer(fluid.optimizer.Lamb(0.1))", "FL108"),
        ('SGD(fluid.layers.data("rate", [1], dtype="float32"))', "FL109"),
        ('SGD(fluid.layers.create_global_var([1], 0.1, "float32"))', "FL109"),
        ("SGD(fluid.layers.noam_decay(8, 5) * 2.0)", "FL109"),
        ("LarsMomentum(0.1, 0.9)", "FL110"),
    ],
)
def test_updates_that_servers_cannot_make_are_refused(optimizer: str, code: str) -> None:
    script = SCRIPT.replace("SGD(0.1)", optimizer)
    assert code in codes(script)
    assert code not in codes(script, mode="nccl2")
    assert ("FL110" in codes(script, slice_var_up=False)) is False


def test_averages_of_parameters_need_the_updates_where_they_are() -> None:
    averaged = "fluid.optimizer.ExponentialMovingAverage(0.9).update()\nexe = fluid"
    script = SCRIPT.replace("exe = fluid", averaged, 1)
    assert "FL108" in codes(script)
    assert "FL108" not in codes(script, mode="nccl2")


def test_what_trainers_do_to_gradients_is_said() -> None:
    clip = "fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(1.0))\n"
    assert "FL307" in codes(HEAD + clip + SCRIPT[len(HEAD) :])
    assert "FL307" not in codes(SCRIPT)
    table = 'fluid.layers.embedding(fluid.layers.data("w", [1], "int64"), [9, 9], is_sparse=True)\n'
    script = HEAD + table + SCRIPT[len(HEAD) :]
    assert "FL308" not in codes(script)
    assert "FL308" in codes(script.replace("SGD(0.1)", "Momentum(0.1, 0.9)"))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("options = {}\nreader = fluid.io.xmap_readers(len, rows, 2, 8, **options)\n", "FL112"),
        ("import random, time\nrandom.seed(time.time())\n", "FL112"),
        ('paddle.utils.require_version("2.5.0")\n', "FL106"),
        ("exe = fluid.Executor(fluid.CPUPlace())\nexe.train_from_dataset(dataset=None)\n", "FL204"),
    ],
)
def test_refusals(line: str, code: str) -> None:
    script = SCRIPT.replace("exe = fluid", line + "exe = fluid", 1)
    assert code in codes(script)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ("fluid.io.xmap_readers(len, rows, 2, 8)", "xmap_readers(len, rows, 2, 8, order=True)"),
        (
            "paddle.reader.xmap_readers(len, rows, 2, 8, False)",
            "xmap_readers(len, rows, 2, 8, True)",
        ),
        (
            "fluid.io.xmap_readers(len, rows, 2, 8, order=1 > 2)",
            "xmap_readers(len, rows, 2, 8, order=True)",
        ),
        ("paddle.dataset.flowers.train()", "flowers.train(use_xmap=False)"),
        ("paddle.dataset.flowers.train(None, 9, True)", "flowers.train(None, 9, False)"),
        ("paddle.dataset.flowers.test(use_xmap=True)", "flowers.test(use_xmap=False)"),
    ],
)
def test_threads_keep_the_order_of_samples(call: str, kept: str) -> None:
    script = SCRIPT.replace("exe = fluid", f"reader = {call}\nexe = fluid", 1)
    assert kept in written(script)


@pytest.mark.parametrize("leaving", ["break", "exit(0)", "import sys; sys.exit()"])
def test_a_loop_that_is_left_on_a_share_is_refused(leaving: str) -> None:
    fetched = "value = exe.run(feed=feeder.feed(batch), fetch_list=[loss, x])\n"
    script = SCRIPT.replace("exe.run(feed=feeder.feed(batch))\n", fetched)
    averaged = script.replace("[loss, x]", "[loss]")
    assert not codes(f"{averaged}    if value[0] < 1.0:\n        {leaving}\n")
    assert "FL601" not in codes(f"{script}    if value[0] < 1.0:\n        {leaving}\n")
    assert "FL601" in codes(f"{script}    if value[1].mean() < 1.0:\n        {leaving}\n")
    failed = "import math\n" + script + "    if math.isnan(value[0]):\n        exit(1)\n"
    assert "FL601" not in codes(failed)
    assert "FL305" not in codes(failed)


@pytest.mark.parametrize("switch", ["paddle.disable_static()", "fluid.enable_imperative()"])
def test_eager_mode_is_refused_wherever_it_begins(switch: str) -> None:
    assert "FL103" in codes(f"{SCRIPT}{switch}\n")


def test_older_paddle_is_recognised_and_refused() -> None:
    script = (
        "import paddle.v2 as paddle\n"
        "trainer = paddle.trainer.SGD(cost=1, parameters=2, update_equation=3)\n"
        "trainer.train(reader=None, num_passes=30)\n"
    )
    assert "FL103" in codes(script)


def test_models_for_serving_are_written_once() -> None:
    script = SCRIPT.replace(
        "import paddle\n", "import paddle\nimport paddle_serving_client.io\n", 1
    )
    saved = 'paddle_serving_client.io.save_model("a", "b", {"x": x}, {"y": y})\n'
    assert f"if is_main_process():\n    {saved}" in written(script + saved)


def test_memory_is_optimised_before_the_transpiler() -> None:
    late = SCRIPT + "fluid.memory_optimize(fluid.default_main_program())\n"
    assert "FL702" in codes(late)
    early = SCRIPT.replace("exe = ", "fluid.memory_optimize(None)\nexe = ", 1)
    assert 'PSERVER":\n    fluid.memory_optimize(None, skip_grads=True)\n' in written(early)


def test_nccl_adds_up_gradients_that_memory_is_not_optimised_away_for() -> None:
    early = PARALLEL.replace("exe = ", "fluid.memory_optimize(None)\nexe = ", 1)
    text = written(
        HEAD
        + early
        + "binary = fluid.CompiledProgram(fluid.default_main_program())\n"
        + "binary = binary.with_data_parallel(loss_name=loss.name)\n"
        + BATCHES
        + "exe.run(binary, feed=feeder.feed(batch))\n",
        mode="nccl2",
    )
    assert "\nfluid.memory_optimize(None, skip_grads=True)\n" in text


def test_eager_mode_that_shares_its_gradients_behind_a_flag_is_left_alone() -> None:
    script = (
        "import sys\nimport paddle.fluid as fluid\n"
        "with fluid.dygraph.guard():\n"
        "    model = fluid.dygraph.Linear(4, 1)\n"
        "    if len(sys.argv) > 1:\n"
        "        strategy = fluid.dygraph.parallel.prepare_context()\n"
        "        model = fluid.dygraph.parallel.DataParallel(model, strategy)\n"
        "    loss = fluid.layers.mean(model(fluid.layers.ones([8, 4], 'float32')))\n"
        "    loss.backward()\n"
        "    fluid.optimizer.SGD(0.1, parameter_list=model.parameters()).minimize(loss)\n"
    )
    assert codes(script) == {"DT003"}
    assert "FL103" in codes(script.replace("DataParallel(model, strategy)", "Env()"))


def test_large_tables_stay_on_the_servers() -> None:
    table = 'fluid.layers.embedding(fluid.layers.data("w", [1], dtype="int64"), size=[10000000, 8])'
    script = SCRIPT.replace("fluid.layers.fc(x, 1)", f"fluid.layers.fc({table}, 1)")
    assert "is_distributed=has_remote_table()" in written(script, distributed_embedding=True)
    assert "FL805" not in codes(script, distributed_embedding=True)
    two = script.replace("costs = ", f"other = {table}\ncosts = ", 1)
    assert written(two, distributed_embedding=True).count("is_distributed=has_remote_table()") == 2
    assert "FL805" in codes(two, distributed_embedding=True)
    adam = script.replace("optimizer.SGD(0.1)", "optimizer.Adam(0.1)")
    assert "FL802" in codes(adam, distributed_embedding=True)
    adagrad = script.replace("optimizer.SGD(0.1)", "optimizer.Adagrad(0.1)")
    assert "is_sparse=True)" in written(adagrad, distributed_embedding=True)
    assert "FL804" not in codes(adagrad, distributed_embedding=True)
    assert "FL802" in codes(SCRIPT, distributed_embedding=True)


def test_choices_that_cannot_be_followed_are_said() -> None:
    assert codes(SCRIPT, evaluation="shard") == {"FL107"}
    assert "FL107" in codes(SCRIPT, mode="collective")


@pytest.mark.parametrize(
    ("handler", "refused"),
    [
        ("except Exception:\n        pass", True),
        ("except fluid.core.EOFException:\n        break", False),
        ("except Exception:\n        raise", False),
    ],
)
def test_steps_that_fail_in_one_trainer_are_not_passed_over(handler: str, refused: bool) -> None:
    step = "    exe.run(feed=feeder.feed(batch))\n"
    script = SCRIPT.replace(step, f"    try:\n    {step}    {handler}\n")
    assert ("FL601" in codes(script)) is refused


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"async_mode": True},
        {"split_method": "HashName"},
        {"batch_size": "per-device"},
        {"slice_var_up": False},
    ],
    ids=str,
)
def test_what_is_inserted_is_what_black_writes(options: dict[str, object]) -> None:
    script = SCRIPT.replace("mean(costs)", "reduce_sum(costs)") + "print(1)\n"
    text = written(script, **options)
    assert black.format_str(text, mode=black.Mode()) == text


def test_messages_that_no_run_comes_to_need_no_place() -> None:
    unreached = 'import logging\n\n\ndef unused():\n    logging.info("never")\n\n\n'
    assert "logging.disable" not in written(unreached + SCRIPT)


def test_one_of_several_optimizers() -> None:
    either = (
        "import sys\nif sys.argv[1:]:\n    fluid.optimizer.SGD(0.1).minimize(loss)\n"
        "else:\n    fluid.optimizer.Adam(0.1).minimize(loss)\n"
    )
    script = HEAD + either + TRAINING
    assert "\ntranspile_program()\nexe.run(" in written(script)
    both = either.replace("else:\n", "if not sys.argv[2:]:\n")
    assert "FL102" in codes(HEAD + both + TRAINING)


@pytest.mark.parametrize(
    ("rate", "scaled"),
    [
        ("0.1", "scale_learning_rate(0.1)"),
        (
            "fluid.layers.piecewise_decay([9], values=[0.1, 0.2])",
            "piecewise_decay([9], values=scale_learning_rate([0.1, 0.2]))",
        ),
        (
            "fluid.layers.linear_lr_warmup(fluid.layers.cosine_decay(0.1, 8, 3), 4, 0.0, 0.1)",
            "linear_lr_warmup(fluid.layers.cosine_decay(scale_learning_rate(0.1), 8, 3), 4, "
            "scale_learning_rate(0.0), scale_learning_rate(0.1))",
        ),
    ],
)
def test_learning_rates_follow_the_trainers(rate: str, scaled: str) -> None:
    script = SCRIPT.replace("SGD(0.1)", f"SGD({rate})")
    assert scaled in written(script, batch_size="per-device", scale_lr="linear")
    assert "scale_learning_rate" not in written(script, batch_size="per-device")
    root = written(script, batch_size="per-device", scale_lr="sqrt")
    assert "float(get_trainer_count()) ** 0.5" in root


def test_learning_rates_that_cannot_follow_are_refused() -> None:
    script = SCRIPT.replace("SGD(0.1)", "Adam()")
    assert "FL312" in codes(script, batch_size="per-device", scale_lr="linear")


@pytest.mark.parametrize(
    ("fetched", "sums"),
    [
        ("[loss]", ""),
        ("[loss.name]", ""),
        ("[loss, total]", ", sums=[total]"),
        ("[right]", ""),
    ],
)
def test_numbers_that_are_fetched_are_averaged(fetched: str, sums: str) -> None:
    script = SCRIPT.replace(
        "exe = fluid",
        "total = fluid.layers.reduce_sum(y)\n"
        "right = fluid.layers.accuracy(fluid.layers.fc(x, 2), y)\nexe = fluid",
        1,
    ).replace(
        "exe.run(feed=feeder.feed(batch))\n",
        f"print(exe.run(feed=feeder.feed(batch), fetch_list={fetched}))\n",
    )
    text = written(script)
    names = fetched.replace(".name", "")
    assert f"add_averages({names}{sums})\ntranspile_program()\n" in text
    assert f"fetch_list=averages_of({fetched})" in text
    assert "FL305" not in codes(script)
    assert "averages_of" not in written(script, async_mode=True)


def test_what_is_not_a_number_of_the_batch_is_not_averaged() -> None:
    loading = 'fluid.io.load_persistables(exe, "saved")\n'
    for fetched, more in (("[x]", ""), ("[loss]", loading)):
        script = SCRIPT.replace(
            "exe.run(feed=feeder.feed(batch))\n",
            f"print(exe.run(feed=feeder.feed(batch), fetch_list={fetched}))\n",
        )
        assert "averages_of" not in written(script + more)
        assert "FL305" in codes(script + more)


@pytest.mark.parametrize(
    ("uses", "told"),
    [
        ("print(found[1], found[-1])", False),
        ("first, second, third = found; print(second + third)", False),
        ("if found[1] > 3: print(found[2])", False),
        ("print(found[0])", True),
        ("print(found[-3])", True),
        ("first, second, third = found; print(first)", True),
        ("print(found)", True),
        ("for each in found: print(each)", True),
    ],
)
def test_means_are_averaged_beside_what_is_none(uses: str, told: bool) -> None:
    script = SCRIPT.replace(
        "exe.run(feed=feeder.feed(batch))\n",
        f"found = exe.run(feed=feeder.feed(batch), fetch_list=[x, loss, loss])\n    {uses}\n",
    )
    assert "fetch_list=averages_of([x, loss, loss])" in written(script)
    assert ("FL305" in codes(script)) is told


@pytest.mark.parametrize(("place", "alike"), [(1, True), (0, False)])
def test_all_trainers_leave_by_a_mean_beside_what_is_none(place: int, alike: bool) -> None:
    script = SCRIPT.replace(
        "exe.run(feed=feeder.feed(batch))\n",
        "found = exe.run(feed=feeder.feed(batch), fetch_list=[x, loss])\n"
        f"    if found[{place}].mean() < 0.1:\n        break\n",
    )
    assert ("FL601" not in codes(script)) is alike


def test_a_training_loop_that_yields_is_heard() -> None:
    """It is no reader, though it yields."""
    run = "exe.run(feed=feeder.feed(batch))\n"
    head, _, loop = SCRIPT.rpartition("\nfor ")
    assert run in loop
    loop = f"for {loop}".replace(run, f"{run}    print(len(batch))\n    yield 1\n")
    body = "".join(f"    {line}" for line in loop.splitlines(keepends=True))
    script = f"{head}\n\n\ndef train():\n{body}\n\nfor one in train():\n    pass\n"
    assert "FL305" in codes(script), script


def test_a_loss_with_its_predictions_is_a_mean() -> None:
    """``return_softmax`` has the layer give both."""
    script = """\
import numpy as np
import paddle.fluid as fluid

data, labels = np.random.rand(32, 6).astype("float32"), np.zeros((32, 1), "int64")
x = fluid.data("x", [None, 6])
y = fluid.data("y", [None, 1], "int64")
score = fluid.layers.fc(x, 2)
each, chance = fluid.layers.softmax_with_cross_entropy(score, y, return_softmax=True)
loss = fluid.layers.mean(each)
right = fluid.layers.accuracy(chance, y)
fluid.optimizer.SGD(0.5).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for at in range(0, 32, 8):
    feed = {"x": data[at : at + 8], "y": labels[at : at + 8]}
    print(exe.run(feed=feed, fetch_list=[loss, right]))
"""
    assert not {"FL302", "FL305"} & set(codes(script))
    assert "averages_of([loss, right])" in written(script)


def test_metrics_of_a_share_are_said() -> None:
    fetched = "value = exe.run(feed=feeder.feed(batch), fetch_list=[loss, x])\n"
    script = SCRIPT.replace("exe.run(feed=feeder.feed(batch))\n", fetched)
    assert "FL305" not in codes(script)
    shown = script + "if value[1][0] < 1.0:\n    print(value)\nprint(2)\n"
    lines = [
        finding.line for finding in convert(shown, Options()).findings if finding.code == "FL305"
    ]
    assert [shown.splitlines()[line - 1].strip() for line in lines] == [
        "if value[1][0] < 1.0:",
        "print(value)",
    ]
    counted = script.replace("feeder =", "mean = fluid.average.WeightedAverage()\nfeeder =")
    assert "FL305" in codes(counted + "    mean.add(value[1], 1)\nprint(mean.eval())\n")


@pytest.mark.parametrize(
    "counted",
    [
        "seen += len(batch)",
        "seen += sum(row[1] for row in batch)",
        "seen += loss_value[0] * len(batch)",
        "seen = max(seen, max(len(row) for row in batch))",
    ],
)
@pytest.mark.parametrize("shown", ["print(seen)", 'numpy.savetxt("seen.txt", [seen])'])
def test_what_a_batch_itself_tells_is_of_a_share(counted: str, shown: str) -> None:
    """Whatever the fetched numbers are: those beside them are of trainer 0's rows."""
    run = "exe.run(feed=feeder.feed(batch))\n"
    fetched = run.replace("(batch))", "(batch), fetch_list=[loss])")
    assert run in SCRIPT
    script = "import numpy\n" + SCRIPT.replace(run, f"loss_value, = {fetched}    {counted}\n")
    script = script.replace("feeder =", "seen = 0\nfeeder =") + f"{shown}\n"
    (found,) = [one for one in convert(script, Options()).findings if one.code == "FL305"]
    assert "trainer 0 has a share" in found.message
    plain = script.replace(counted, "seen += 1")
    assert "FL305" not in codes(plain)


GUARDED = """\
import sys
import paddle
import paddle.fluid as fluid


def rows():
    yield [1.0], [2.0]


training = len(sys.argv) > 1
startup = fluid.Program()
if training:
    main = fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.layers.data("x", [1], dtype="float32")
        y = fluid.layers.data("y", [1], dtype="float32")
        costs = fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y)
        fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(costs))
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
if training:
    feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
    for batch in paddle.batch(rows, 8)():
        exe.run(main, feed=feeder.feed(batch))
"""


def test_a_program_that_is_made_on_one_way_is_transpiled_on_that_way() -> None:
    call = "if training:\n    transpile_program(program=main, startup_program=startup)\n"
    assert call + "exe.run(startup)" in written(GUARDED)
    assert "FL102" in codes(GUARDED.replace("if training:", "if len(sys.argv) > 1:"))


def test_counts_of_a_metric_are_the_trainers_own() -> None:
    auc = "area, _, states = fluid.layers.auc(fluid.layers.concat([x, y], 1), y)\n"
    reset = "for state in states:\n        fluid.global_scope().find_var(state.name)"
    step = f"{reset}.get_tensor().set([0], None)\n    exe.run(feed"
    script = SCRIPT.replace("exe.run(feed", step).replace("exe = ", auc + "exe = ", 1)
    assert "FL602" not in codes(script)
    assert "FL602" in codes(script.replace("state.name", '"w"'))


def test_the_environment_is_checked_behind_calls_between_the_imports() -> None:
    script = f"import random\n\nrandom.seed(5)\n{SCRIPT}"
    text = written(script)
    assert text.index("def setup_distributed") < text.index("\nsetup_distributed()\n")


@pytest.mark.parametrize("word", ["kldiv_loss", "scatter_nd_add", "layer_of_tomorrow"])
def test_a_layer_without_an_entry_is_named(word: str) -> None:
    """It does not count as one that takes each sample by itself."""
    layer = f"fluid.layers.mean(fluid.layers.{word}(fluid.layers.fc(x, 1), y))"
    found = convert(SCRIPT.replace("fluid.layers.mean(costs)", layer)).findings
    (said,) = (finding.message for finding in found if finding.code == "FL302")
    assert f"nothing is known of paddle.fluid.layers.{word}" in said


@pytest.mark.parametrize("word", ["fc", "dynamic_gru", "label_smooth", "pool2d", "sequence_pool"])
def test_a_layer_that_takes_each_sample_by_itself_is_not(word: str) -> None:
    layer = f"fluid.layers.mean(fluid.layers.{word}(fluid.layers.fc(x, 1), 1))"
    found = convert(SCRIPT.replace("fluid.layers.mean(costs)", layer)).findings
    assert "FL302" not in {finding.code for finding in found}
