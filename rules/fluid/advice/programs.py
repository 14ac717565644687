"""What to do about findings on programs, order and batches."""

from __future__ import annotations

ADVICE = {
    "FL102": """\
Why:
    DistributeTranspiler cuts the program up and needs one program, one startup program and one
    place where they run.

How to fix:
    Minimise in the script, run the startup program once in front of the training loop, and name
    classes by their dotted names.

Before:
    helpers.train(loss)

After:
    optimizer.minimize(loss)
    executor.run(fluid.default_startup_program())

When to ignore:
    Never: nothing is written.
""",
    "FL103": """\
Why:
    What computes gradients and updates is not seen, so that nothing can be transpiled.

How to fix:
    Call minimize() of an optimizer of fluid.optimizer in the script or in a module that it
    imports.

Before:
    library.build(program)

After:
    fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)

When to ignore:
    Never where the script trains.
""",
    "FL104": """\
Why:
    A server that holds a slice would be given the whole array.

How to fix:
    Convert with --no-slice-var-up, or initialise without an array.

Before:
    fluid.initializer.NumpyArrayInitializer(table)

After:
    fluid.initializer.Xavier()

When to ignore:
    Never: the servers would fail.
""",
    "FL105": """\
Why:
    Every trainer updates by itself, and results differ from run to run.

How to fix:
    Compare the accuracy with that of a synchronous run.

Before:
    disttranspile train.py --async-mode

After:
    disttranspile train.py

When to ignore:
    Where the accuracy was compared.
""",
    "FL106": """\
Why:
    Paddle 2.5 and later have neither Fluid nor its transpiler.

How to fix:
    Ask for paddlepaddle 1.8, or move the script to paddle.distributed.

Before:
    paddlepaddle>=2.5

After:
    paddlepaddle==1.8.5

When to ignore:
    Never: the job would fail.
""",
    "FL107": """\
Why:
    The option is one of another framework.

How to fix:
    Leave it out (--eval shard, --mode collective), or choose --mode nccl2 or --mode pserver.

Before:
    disttranspile train.py --mode collective

After:
    disttranspile train.py --mode nccl2

When to ignore:
    Never: the option does nothing.
""",
    "FL108": """\
Why:
    The servers would not know these updates, or apply others than the trainers.

How to fix:
    Leave averages out, use an optimizer that the transpiler knows, or convert with --mode
    nccl2.

Before:
    fluid.optimizer.ModelAverage(0.15)

After:
    fluid.optimizer.SGD(learning_rate=0.1)

When to ignore:
    Never: parameters would stay without updates.
""",
    "FL109": """\
Why:
    The servers hold the rate, and what a trainer sets stays with it.

How to fix:
    Let the program compute the rate, or convert with --mode nccl2.

Before:
    scope.find_var("lr").get_tensor().set(rate, place)

After:
    fluid.layers.piecewise_decay([1000], [0.1, 0.01])

When to ignore:
    Never: the rate would not change.
""",
    "FL110": """\
Why:
    LARS divides by norms of whole variables, and servers hold slices.

How to fix:
    Convert with --no-slice-var-up.

Before:
    disttranspile train.py

After:
    disttranspile train.py --no-slice-var-up

When to ignore:
    Never: the rates would be others.
""",
    "FL112": """\
Why:
    The trainers take their shares of one order, which differs here.

How to fix:
    Seed what draws the order, or take what keeps it.

Before:
    random.shuffle(samples)

After:
    random.Random(0).shuffle(samples)

When to ignore:
    Never: shares would overlap.
""",
    "FL113": """\
Why:
    Machines may list files in another order, and shares overlap.

How to fix:
    Sort the listing.

Before:
    files = os.listdir("data")

After:
    files = sorted(os.listdir("data"))

When to ignore:
    Where all trainers run on one machine.
""",
    "FL114": """\
Why:
    Hashes of texts differ from process to process, and with them the order of a set.

How to fix:
    Sort the set, or take a hash of the text's bytes from zlib.

Before:
    words = {word: number for number, word in enumerate(set(text))}

After:
    words = {word: number for number, word in enumerate(sorted(set(text)))}

When to ignore:
    Where PYTHONHASHSEED is set for the job.
""",
    "FL202": """\
Why:
    A trainer takes its rows of each batch that is fed, and these cannot be cut.

How to fix:
    Feed arrays or lists of samples that the script makes.

Before:
    executor.run(feed=helpers.batch())

After:
    executor.run(feed={"x": x, "y": y})

When to ignore:
    Never: all trainers would train on the same samples.
""",
    "FL204": """\
Why:
    Lines are shared out file by file or line by line, and this data set reads them otherwise.

How to fix:
    Give the data set a list of files in the script.

Before:
    dataset = helpers.dataset()

After:
    dataset.set_filelist(files)

When to ignore:
    Never: all trainers would read the same lines.
""",
}
