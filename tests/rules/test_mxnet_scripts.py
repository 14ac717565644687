"""What MXNet's rules refuse, leave or scale, on small scripts."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, LOADER, LOOP, STEP, SYMBOL, TRAINER, codes

from transpile import Options, Outcome


def step_of(script: str, options: Options | None = None) -> str:
    """The line of the converted script that takes the step."""
    result = convert(script, options)
    assert result.outcome is Outcome.CONVERTED, result.findings
    return next(line.strip() for line in result.text.splitlines() if ".step(" in line)


REFUSED = {
    "gradients limited by the size of a share": (
        GLUON + "        gluon.utils.clip_global_norm([net.weight.grad()], data.shape[0])\n" + STEP,
        "MX304",
    ),
    "parameters changed by hand": (
        HEAD
        + LOADER
        + LOOP
        + "        net.weight.set_data(net.weight.data() - net.weight.grad())\n",
        "MX307",
    ),
    "steps that cannot be seen": (
        HEAD
        + LOADER
        + TRAINER
        + "from mxnet.gluon.contrib.estimator import Estimator\n"
        + "estimator = Estimator(net, loss_fn, trainer=trainer)\n"
        + "estimator.fit(train_data=loader, epochs=1)\n",
        "MX302",
    ),
    "batches from no loader": (
        HEAD
        + TRAINER
        + "for i in range(8):\n    with autograd.record():\n        loss = loss_fn(net(x), y)\n"
        + "    loss.backward()\n    trainer.step(8)\n",
        "MX203",
    ),
    "a store used by hand": (
        GLUON + STEP + 'kv = mx.kv.create("local")\nkv.init(3, mx.nd.ones(2))\n',
        "MX105",
    ),
    "a loss divided by the batch of one worker": (
        HEAD + SYMBOL.replace('name="softmax"', 'normalization="batch"') + FIT,
        "MX303",
    ),
    "a module bound to other shapes, with settings that are not seen": (
        "import json\n"
        + HEAD
        + SYMBOL
        + 'module.bind(data_shapes=[("data", (16, 4))], label_shapes=[("softmax_label", (8,))])\n'
        + "module.init_params()\nmodule.init_optimizer(**json.load(open('o.json')))\n"
        + "for batch in train:\n    module.forward_backward(batch)\n    module.update()\n",
        "MX303",
    ),
    "a fit that cannot be analysed": (
        HEAD + SYMBOL + "import elsewhere\nelsewhere.make(symbol).fit(train)\n",
        "MX302",
    ),
    "a symbol of the shape of the batch": (
        HEAD
        + "batch_size = 8\n"
        + SYMBOL.replace("batch_size=8", "batch_size=batch_size").replace(
            'mx.sym.var("data")', 'mx.sym.var("data") + mx.sym.zeros((batch_size, 4))'
        )
        + FIT,
        "MX214",
    ),
    "data that may come from elsewhere": (
        HEAD
        + "import elsewhere\n"
        + LOADER
        + "if x.any():\n    loader = elsewhere.loader(8)\n"
        + TRAINER
        + LOOP.replace("in loader", "in iter(loader)")
        + STEP,
        "MX203",
    ),
    "a fit on data that may come from elsewhere": (
        HEAD
        + "import elsewhere\n"
        + SYMBOL
        + "if x.any():\n    train, _ = elsewhere.iterators(8)\n"
        + FIT,
        "MX203",
    ),
    "samples that roll over": (
        HEAD + SYMBOL.replace("batch_size=8", 'batch_size=8, last_batch_handle="roll_over"') + FIT,
        "MX202",
    ),
}


SHARED = {
    "exit that one worker decides": (
        GLUON + "        if loss.mean().asscalar() < 0.1:\n            break\n" + STEP,
        "if average_workers(loss.mean().asscalar()) < 0.1:",
    ),
    "a sampler of its own": (
        HEAD
        + "batch_size = 8\nsampler = gluon.data.FilterSampler(lambda s: s[1] > 0, x)\n"
        + "loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 8, sampler=sampler)\n"
        + TRAINER
        + LOOP
        + STEP,
        "sampler=SamplerShare(sampler)",
    ),
    "an iterator of the project": (
        HEAD
        + SYMBOL
        + "class Own(mx.io.DataIter):\n    def next(self):\n        raise StopIteration\n\n\n"
        + "module.fit(Own(8), num_epoch=1)\n",
        "share_batches(Own(8))",
    ),
    "several modules": (
        HEAD + SYMBOL + FIT + "other = mx.mod.Module(symbol)\nother.fit(train, num_epoch=1)\n",
        "WorkerStore(store)",
    ),
    "modules in a row": (
        HEAD
        + SYMBOL
        + "row = mx.mod.SequentialModule()\nrow.add(module)\nrow.fit(train, num_epoch=1)\n",
        "WorkerStore(store)",
    ),
    "a module and a trainer": (GLUON + STEP + SYMBOL + FIT, "WorkerStore(store)"),
    "data behind another iterator": (
        HEAD + SYMBOL + "train = mx.io.PrefetchingIter(train)\n" + FIT,
        "shard(x), shard(y)",
    ),
    "parameters initialised late": (
        GLUON + STEP + "    net.initialize(force_reinit=True)\n",
        "share_parameters(net.collect_params())",
    ),
    "states of optimizers on servers": (
        HEAD
        + SYMBOL
        + "done = mx.callback.module_checkpoint(module, 'm', save_optimizer_states=True)\n"
        + FIT,
        "WorkerStore(store)",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_workers_can_share_is_shared(name: str) -> None:
    script, piece = SHARED[name]
    result = convert(script)
    assert result.outcome is Outcome.CONVERTED
    assert piece in result.text


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_go_wrong_is_refused_with_its_reason(case: str) -> None:
    script, code = REFUSED[case]
    result = convert(script)
    assert result.outcome is Outcome.REFUSED, result.text
    assert code in codes(result)


def test_several_trainers_are_refused_where_servers_update() -> None:
    second = "other = gluon.Trainer(gluon.nn.Dense(1).collect_params(), 'sgd')\n"
    script = HEAD + LOADER + TRAINER + second + LOOP + STEP + "        other.step(batch_size)\n"
    assert convert(script).outcome is Outcome.CONVERTED
    result = convert(script, Options(kvstore="dist_async"))
    assert "MX103" in codes(result)


@pytest.mark.parametrize(
    ("script", "step"),
    [
        (GLUON + STEP, "trainer.step(batch_size)"),
        (
            GLUON + "        trainer.step(data.shape[0])\n",
            "trainer.step(data.shape[0] * get_num_workers())",
        ),
        (
            GLUON.replace("label)\n", "label).mean()\n") + "        trainer.step(1)\n",
            "trainer.step(get_num_workers())",
        ),
        (
            GLUON.replace("label)\n", "label).mean()\n") + "        trainer.step(data.shape[0])\n",
            "trainer.step(data.shape[0] * get_num_workers() * get_num_workers())",
        ),
    ],
)
def test_a_step_divides_by_the_samples_of_all_workers(script: str, step: str) -> None:
    assert step_of(script) == step


def test_data_that_the_script_parts_gets_as_many_batches_everywhere() -> None:
    made = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--batch', type=int, default=8)\n"
        "def parsed():\n    return parser.parse_args()\n\n\nargs = parsed()\n"
        "kv = mx.kv.create('device')\n"
        "train = mx.io.LibSVMIter(data_libsvm='a', data_shape=(4,), batch_size=args.batch,\n"
        "                         num_parts=kv.num_workers, part_index=kv.rank)\n"
    )
    resized = "train = mx.io.ResizeIter(train, 100)\n"
    text = convert(HEAD + SYMBOL + made + FIT).text
    assert "train = agree_on_length(mx.io.LibSVMIter(" in text
    assert "args = parsed()\nargs.batch = split_batch(args.batch)\n" in text
    assert convert(text, Options(respect_distributed=False)).text == text
    assert "agree_on_length" not in convert(HEAD + SYMBOL + made + resized + FIT).text


def test_a_step_with_a_batch_for_each_worker_counts_all_of_them() -> None:
    options = Options(batch_size="per-device")
    assert step_of(GLUON + STEP, options) == "trainer.step(batch_size * get_num_workers())"


def test_a_module_is_bound_to_the_share_of_the_batch() -> None:
    bound = (
        'module.bind(data_shapes=[("data", (8, 4))], label_shapes=[DataDesc("label", (4 * 2,))])\n'
    )
    loop = (
        "module.init_params()\nmodule.init_optimizer()\n"
        "for batch in train:\n    module.forward_backward(batch)\n    module.update()\n"
    )
    described = "from mxnet.io import DataDesc\n"
    result = convert(HEAD + SYMBOL + described + bound + loop)
    assert '("data", (split_batch(8), 4))' in result.text
    assert 'DataDesc("label", (split_batch(4 * 2),))' in result.text
    evaluating = (
        'test = mx.mod.Module(symbol)\ntest.bind([("data", (16, 4))], for_training=False)\n'
    )
    assert "(16, 4)" in convert(HEAD + SYMBOL + FIT + evaluating).text


def test_workers_end_together_behind_the_last_step() -> None:
    assert convert(GLUON + STEP + "print(1)\n").text.endswith("print_once(1)\nleave_together()\n")
    assert "leave_together" not in convert(HEAD + SYMBOL + FIT).text
    body = "".join(f"    {line}\n" for line in (GLUON + STEP).splitlines())
    called = convert(f"import sys\n\n\ndef main():\n{body}    return 0\n\n\nsys.exit(main())\n")
    assert "    leave_together()\n    return 0\n" in called.text


def test_batch_norm_of_a_share_is_said() -> None:
    for layer in (
        "gluon.nn.BatchNorm()",
        "gluon.contrib.nn.SyncBatchNorm()",
        "gluon.model_zoo.vision.resnet18_v1()",
        "gluon.model_zoo.vision.vgg11_bn()",
    ):
        script = GLUON.replace("gluon.nn.Dense(1)", layer) + STEP
        assert "MX315" in codes(convert(script))
        assert "MX315" not in codes(convert(script, Options(batch_size="per-device")))
    for layer in (
        "gluon.nn.BatchNorm(use_global_stats=True)",
        "gluon.nn.LayerNorm()",
        "gluon.model_zoo.vision.vgg11()",
    ):
        script = GLUON.replace("gluon.nn.Dense(1)", layer) + STEP
        assert "MX315" not in codes(convert(script))


def test_a_gpu_that_workers_would_share_is_said() -> None:
    for gpu in ("mx.gpu()", "mx.gpu(1)", "mx.context.gpu(device_id=0)"):
        result = convert(GLUON.replace("initialize()", f"initialize(ctx={gpu})") + STEP)
        assert "MX316" in codes(result) and result.outcome is Outcome.CONVERTED
    chosen = "import os\n" + GLUON.replace(
        "initialize()", 'initialize(ctx=mx.gpu(int(os.environ["LOCAL_GPU"])))'
    )
    assert "MX316" not in codes(convert(chosen + STEP))


def test_asynchronous_steps_divide_by_the_batch_of_one_worker() -> None:
    options = Options(kvstore="dist_async")
    assert step_of(GLUON + STEP, options) == "trainer.step(split_batch(batch_size))"
    assert "MX104" in codes(convert(GLUON + STEP, options))


def test_effects_before_the_import_are_those_of_servers_too() -> None:
    early = "import os\n\nos.makedirs('out')\n" + GLUON + STEP
    assert "MX102" in codes(convert(early))
    assert "MX102" not in codes(convert(GLUON + STEP + "import os\n\nos.makedirs('out')\n"))


def test_a_pass_over_the_training_data_is_said_to_be_partial() -> None:
    scored = HEAD + SYMBOL + FIT + "print(module.score(train, 'acc'))\n"
    assert "MX602" in codes(convert(scored))


def test_a_store_for_devices_alone_is_no_reason_to_leave_a_script() -> None:
    script = GLUON.replace('{"learning_rate": 0.1})', "kvstore='device')") + STEP
    result = convert(script)
    assert result.outcome is Outcome.CONVERTED
    assert "kvstore=store or 'device'" in result.text
    for kind in ("dist_device_sync", "p3store_dist", "horovod", "byteps"):
        shared = convert(script.replace("'device'", f"'{kind}'"))
        assert shared.outcome is Outcome.UNCHANGED
        assert codes(shared) == {"DT003"}


def test_a_layer_norm_keeps_samples_apart_whatever_the_shape_of_the_data() -> None:
    """It goes along as many numbers as it has parameters."""
    net = "net = gluon.nn.HybridSequential()\nnet.add(gluon.nn.Dense(8), gluon.nn.LayerNorm())"
    script = GLUON.replace("net = gluon.nn.Dense(1)", f"{net}\nnet.add(gluon.nn.Dense(1))")
    script = script.replace("x = np.zeros((64, 4), ", "x = np.load('x.npy').astype(").replace(
        'astype(dtype="float32")', 'astype("float32")'
    )
    result = convert(script + STEP, Options(shard="data"))
    assert "MX314" not in {one.code for one in result.findings}, script
