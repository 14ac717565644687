"""The helper functions that give each worker its samples in the place of a sampler."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource
from transpile.rules.mxnet._helpers.names import MX, NUMPY


def adds_up(options: Options) -> bool:
    """Whether the servers add up numbers at any time, exactly and without an optimizer."""
    return options.kvstore != "dist_async" and options.compression == "none"


SAMPLER = '''
class $ShardSampler($mx.gluon.data.Sampler):
    """This worker's samples of each batch that all workers take together."""

    def __init__(self, length, shuffle=False, drop_last=False):
        self.length = length
        self.shuffle = shuffle
        self.drop_last = drop_last
@seed
    def __len__(self):
        workers = $get_num_workers()
        return self.length // workers if self.drop_last else -(-self.length // workers)

    def __iter__(self):
        order = $np.arange(self.length)
        if self.shuffle:
@draw
        order = order[$np.arange(len(self) * $get_num_workers()) % self.length]
        return iter(order[$get_rank() :: $get_num_workers()].tolist())
'''
DRAWN = """            $np.random.shuffle(order)
            order = $all_reduce(order * $is_main_process()).astype(int)"""
SEED = """        seed = $mx.nd.array([$np.random.randint(2**24)])
        $broadcast([seed])
        self.random = $np.random.RandomState(int(seed.asscalar()))
"""
SEEDED = "            self.random.shuffle(order)"


def shard_sampler(options: Options) -> HelperSource:
    """The sampler; each worker draws the common order itself where servers cannot hand it out."""
    helpers = ("get_num_workers", "get_rank")
    if adds_up(options):
        code = SAMPLER.replace("@seed", "").replace("@draw", DRAWN)
        return HelperSource(code, (MX, NUMPY), (*helpers, "is_main_process", "all_reduce"))
    code = SAMPLER.replace("@seed", SEED).replace("@draw", SEEDED)
    return HelperSource(code, (MX, NUMPY), (*helpers, "broadcast"))


SAMPLER_SHARE = '''
class $SamplerShare($mx.gluon.data.Sampler):
    """This worker's samples of a sampler that all workers draw from together."""

    def __init__(self, sampler, drop_last=False):
        self.sampler = sampler
        self.drop_last = drop_last

    def __len__(self):
        length, workers = len(self.sampler), $get_num_workers()
        return length // workers if self.drop_last else -(-length // workers)

    def __iter__(self):
        order = $np.array(list(self.sampler))
@agree        order = order[$np.arange(len(self) * $get_num_workers()) % len(order)]
        return iter(order[$get_rank() :: $get_num_workers()].tolist())
'''
AGREE = """        if $get_num_workers() > 1:
            order = $all_reduce(order * $is_main_process()).astype(order.dtype)
"""


def sampler_share(options: Options) -> HelperSource:
    """A part of a sampler of the script; servers that add up make sure that all have one order."""
    helpers = ("get_num_workers", "get_rank")
    if adds_up(options):
        code = SAMPLER_SHARE.replace("@agree", AGREE)
        return HelperSource(code, (MX, NUMPY), (*helpers, "is_main_process", "all_reduce"))
    return HelperSource(SAMPLER_SHARE.replace("@agree", ""), (MX, NUMPY), helpers)
