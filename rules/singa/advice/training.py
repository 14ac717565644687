"""What to do about findings on training."""

from __future__ import annotations

ADVICE = {
    "SG102": """\
Why:
    A DistOpt joins the processes when it is made, and holds one optimizer.

How to fix:
    Train with one optimizer, or the models one after the other in scripts of their own.

Before:
    first, second = opt.SGD(0.1), opt.SGD(0.01)

After:
    sgd = opt.SGD(0.1)

When to ignore:
    Never: nothing is written.
""",
    "SG103": """\
Why:
    Nothing is seen that updates with this optimizer.

How to fix:
    Call it with the loss in train_one_batch.

Before:
    helpers.update(sgd, loss)

After:
    self.optimizer(loss)

When to ignore:
    Never: nothing is written.
""",
    "SG122": """\
Why:
    Each process has one GPU, and this one makes several devices.

How to fix:
    Make one device.

Before:
    devices = [device.create_cuda_gpu_on(i) for i in range(2)]

After:
    dev = device.create_cuda_gpu_on(0)

When to ignore:
    Never: processes would share GPUs.
""",
    "SG123": """\
Why:
    Each process must see all GPUs of its machine to take its own.

How to fix:
    Take it out, and set the variable where the processes are started.

Before:
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"

After:
    CUDA_VISIBLE_DEVICES=0,1 mpiexec -n 2 python train_dist.py

When to ignore:
    Never: all would take one GPU.
""",
    "SG124": """\
Why:
    A script that shares its work has its own meaning of a process.

How to fix:
    Train in the process that was started; a launcher starts the others.

Before:
    multiprocessing.Process(target=train).start()

After:
    train()

When to ignore:
    Never: nothing is written.
""",
    "SG132": """\
Why:
    Samples are shared out where arrays are copied to the device, and this comes another way.

How to fix:
    Copy batches with tensor.copy_from_numpy, from an array that all processes have.

Before:
    tx = helpers.load(x)

After:
    tx.copy_from_numpy(x)

When to ignore:
    Never: all processes would train on the same samples.
""",
    "SG142": """\
Why:
    What comes back is of one process's samples, and it is not known how the parts fit together.

How to fix:
    Read the outputs of the model, or its loss.

Before:
    value = helpers.inspect(model)

After:
    out, loss = model(tx, ty)

When to ignore:
    Never: numbers would be those of a share.
""",
    "SG143": """\
Why:
    A part of the batch is taken on the device, where only a share is.

How to fix:
    Take it to the host with tensor.to_numpy first.

Before:
    first = out[0]

After:
    first = tensor.to_numpy(out)[0]

When to ignore:
    Never: another sample would be read.
""",
    "SG152": """\
Why:
    The script has a path for several processes, which lacks something that it needs.

How to fix:
    Have the script give its ranks to that path, or take the path out.

Before:
    dist = opt.DistOpt(sgd, nccl_id=None)

After:
    dist = opt.DistOpt(sgd)

When to ignore:
    Never: nothing is written.
""",
    "SG153": """\
Why:
    The script shares its data out for the ranks that it is given.

How to fix:
    Choose --batch-size per-device for the sums that the script has for this.

Before:
    disttranspile train.py

After:
    disttranspile train.py --batch-size per-device

When to ignore:
    Where its shares are those that you want.
""",
    "SG154": """\
Why:
    What is printed is of a part of the data.

How to fix:
    Add it up with the optimizer's all_reduce.

Before:
    print(correct)

After:
    print(sgd.all_reduce(correct))

When to ignore:
    Where the part stands for the whole.
""",
    "SG162": """\
Why:
    The chosen form needs DistOpt to see every gradient by itself.

How to fix:
    Call the optimizer with the loss, or leave the option out.

Before:
    disttranspile train.py --dist-option fp16

After:
    disttranspile train.py

When to ignore:
    Never: nothing is written.
""",
    "SG163": """\
Why:
    The chosen form rounds gradients, or averages a part of them.

How to fix:
    Compare the accuracy with the plain form.

Before:
    disttranspile train.py --dist-option sparseTopK

After:
    disttranspile train.py

When to ignore:
    Where the accuracy was compared.
""",
    "SG181": """\
Why:
    Each process takes the statistics of its samples, and rank 0 saves its own.

How to fix:
    Take a larger batch, or another norm.

Before:
    batch_size = 16

After:
    batch_size = 256

When to ignore:
    Where shares are large.
""",
    "SG192": """\
Why:
    --batch-size per-device makes tensors larger, and none here says how large a batch is.

How to fix:
    Choose --batch-size global.

Before:
    disttranspile train.py --batch-size per-device

After:
    disttranspile train.py --batch-size global

When to ignore:
    Never: nothing is written.
""",
}
