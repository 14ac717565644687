"""Shares of the batches, in an order that all trainers agree on."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.fluid._helpers.names import FLUID, NUMPY, RANDOM

SHARE_GLOBAL = '''
def $shard_reader(reader):
    """Return a reader of this trainer's share of every batch, padded to equal shares."""

    def sharded(*args):
        trainers = $get_trainer_count()
        largest = 0
        for batch in reader(*args):
            largest = $check_batch(len(batch), largest)
            padded = list(batch)
            while len(padded) % trainers:
                padded.append(padded[len(padded) % len(batch)])
            yield padded[$get_trainer_id() :: trainers]

    return sharded
'''

SHARE_PER_DEVICE = '''
def $shard_reader(reader):
    """Return a reader of this trainer's batches; the last ones are repeated for the others."""

    def sharded(*args):
        trainers = $get_trainer_count()
        turn = []
        for batch in reader(*args):
            turn.append(batch)
            if len(turn) == trainers:
                yield turn[$get_trainer_id()]
                turn = []
        if turn:
            yield turn[$get_trainer_id() % len(turn)]

    return sharded
'''


def shard_helper(options: Options) -> HelperSource:
    """The helper ``shard_reader`` for the chosen meaning of the batch size."""
    if options.batch_size == "per-device":
        return HelperSource(SHARE_PER_DEVICE, (), ("get_trainer_id", "get_trainer_count"))
    return HelperSource(SHARE_GLOBAL, (), ("get_trainer_id", "get_trainer_count", "check_batch"))


DATA: dict[str, HelperTemplate] = {
    "agree_on_order": HelperSource(
        '''
def $agree_on_order():
    """Have every trainer shuffle alike, so that their shares of a batch do not overlap."""
    if $get_trainer_count() > 1:
        $random.seed(0)
''',
        (RANDOM,),
        ("get_trainer_count",),
    ),
    "agree_on_order_with_numpy": HelperSource(
        '''
def $agree_on_order_with_numpy():
    """Have every trainer shuffle alike, so that their shares of a batch do not overlap."""
    if $get_trainer_count() > 1:
        $random.seed(0)
        $numpy.random.seed(0)
''',
        (NUMPY, RANDOM),
        ("get_trainer_count",),
    ),
    "check_batch": HelperSource(
        '''
def $check_batch(size, largest):
    """Return the largest batch so far; stop where a whole batch cannot be shared equally."""
    trainers = $get_trainer_count()
    if size >= largest and size % trainers:
        # Not SystemExit, which the thread of a loader would keep to itself.
        raise ValueError(
            "batch size %d is not divisible by %d trainers: the nearest that is: %d"
            % (size, trainers, max(1, int(round(size / float(trainers)))) * trainers)
        )
    return max(size, largest)
''',
        (),
        ("get_trainer_count",),
    ),
    "shard_reader": shard_helper,
    "shard_samples": HelperSource(
        '''
def $shard_samples(reader, batch_size, drop_last=True):
    """Return a reader of lists: this trainer's share of each batch of single samples."""

    def batches():
        batch = []
        for sample in reader():
            batch.append(sample)
            if len(batch) == batch_size:
                yield batch
                batch = []
        if batch and not drop_last:
            yield batch

    return $shard_reader(batches)
''',
        (),
        ("shard_reader",),
    ),
    "shard_arrays": HelperSource(
        '''
def $shard_arrays(reader):
    """Return a reader of this trainer's rows of every batch of arrays."""

    def sharded(*args):
        for batch in reader(*args):
            if isinstance(batch, dict):
                yield $shard_rows(batch)
            elif isinstance(batch, (list, tuple)):
                shared = $shard_rows(dict(enumerate(batch)))
                yield [shared[position] for position in range(len(batch))]
            else:
                yield $shard_rows({0: batch})[0]

    return sharded
''',
        (),
        ("shard_rows",),
    ),
    "shard_feed": HelperSource(
        '''
def $shard_feed(feed, program=None):
    """Return this trainer's rows of every array that is fed to the program."""
    if $get_trainer_count() == 1:
        return feed
    # A compiled program has no blocks of its own.
    program = getattr(program, "_program", program) or $fluid.default_main_program()
    block = program.global_block()
    shared = dict(feed)
    # What has no batch dimension is the same for every trainer.
    known = [name for name in feed if block.has_var(name)]
    batches = [name for name in known if block.var(name).shape[0] == -1]
    shared.update($shard_rows(dict((name, feed[name]) for name in batches)))
    return shared
''',
        (FLUID,),
        ("get_trainer_count", "shard_rows"),
    ),
    "shard_fixed_feed": HelperSource(
        '''
def $shard_fixed_feed(feed, program=None, fixed=()):
    """Return this trainer's rows of every array that is fed to the program.

    What is fixed is declared with the number of rows of a share.
    """
    if $get_trainer_count() == 1:
        return feed
    # A compiled program has no blocks of its own.
    program = getattr(program, "_program", program) or $fluid.default_main_program()
    block = program.global_block()
    shared = dict(feed)
    known = [name for name in feed if block.has_var(name)]
    batches = [n for n in known if n in fixed or block.var(n).shape[0] == -1]
    shared.update($shard_rows(dict((name, feed[name]) for name in batches)))
    return shared
''',
        (FLUID,),
        ("get_trainer_count", "shard_rows"),
    ),
    "share_size": HelperSource(
        '''
def $share_size(size):
    """Return how many rows this trainer has of a batch that has always this many."""
    trainers = $get_trainer_count()
    if size % trainers:
        raise ValueError(
            "batch size %d is not divisible by %d trainers: the nearest that is: %d"
            % (size, trainers, max(1, int(round(size / float(trainers)))) * trainers)
        )
    return size // trainers
''',
        (),
        ("get_trainer_count",),
    ),
    "shard_rows": HelperSource(
        '''
def $shard_rows(arrays):
    """Return this trainer's share of the rows of each array, padded to equal shares."""
    trainers = $get_trainer_count()
    if trainers == 1 or not arrays:
        return arrays
    if any(isinstance(rows, $fluid.LoDTensor) for rows in arrays.values()):
        raise ValueError("a LoDTensor cannot be divided: divide its samples")
    shared = dict((name, $numpy.asarray(rows)) for name, rows in arrays.items())
    sizes = sorted(set(len(rows) for rows in shared.values()))
    $shard_rows.largest = $check_batch(sizes[0], getattr($shard_rows, "largest", 0))
    if len(sizes) > 1 and any(size % trainers for size in sizes):
        raise ValueError("arrays of %s rows cannot be divided alike" % sizes)
    for name, rows in shared.items():
        share = -(-len(rows) // trainers)
        rows = $numpy.resize(rows, (share * trainers,) + rows.shape[1:])
        shared[name] = rows[share * $get_trainer_id() :][:share]
    return shared
''',
        (FLUID, NUMPY),
        ("get_trainer_count", "get_trainer_id", "check_batch"),
    ),
}
