"""What PyTorch distributes training with, for the rules that frameworks have in common."""

from __future__ import annotations

from transpile.backends.backend import Backend
from transpile.backends.rules import common_rules
from transpile.rules.pytorch.agreement._steps import has_buffers
from transpile.rules.pytorch.data._loaders import PADDING
from transpile.rules.pytorch.losses._evaluation import evaluations
from transpile.rules.pytorch.models._data_parallel import WRAPPER, replaces_data_parallel
from transpile.rules.pytorch.processes.leave_horovod import left_out

WORDS = {
    "starters": "``multiprocessing``,\n``torch.multiprocessing`` or ``threading``",
    "starters_source": "https://pytorch.org/docs/stable/notes/multiprocessing.html",
    "starting": "mp.Process(target=train, args=(model,)).start()",
    "own_noise": "torch.randn_like(p)",
    "with_shared_noise": (
        "for p in model.parameters():\n"
        "    p.grad.add_(0.01 * torch.randn(p.shape, generator=shared))"
    ),
    "padded": (
        "def collate(samples):\n    return nn.utils.rnn.pad_sequence(samples, batch_first=True)"
    ),
    "padded_alike": (
        "def collate(samples):\n"
        "    return torch.stack("
        "[nn.functional.pad(each, (0, 100 - len(each))) for each in samples])"
    ),
    "padding_source": (
        "https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html"
    ),
    "sampler": "DistributedSampler",
    "sampler_source": "https://github.com/pytorch/pytorch/issues/25162",
    "wrap_lacks": (
        "``DistributedDataParallel`` has none of the model's own attributes, and its state dict "
        "carries\nthe prefix ``module.``: checkpoints would no longer load into the script's model."
    ),
    "reaching": 'torch.save(model.state_dict(), "model.pt")',
    "reaching_behind": 'torch.save(unwrap(model).state_dict(), "model.pt")',
    "wrap_source": "https://pytorch.org/docs/stable/notes/ddp.html",
}
BACKEND = Backend(
    framework="pytorch",
    prefix="PT",
    words=WORDS,
    wrapper=WRAPPER,
    padding=PADDING,
    evaluations=evaluations,
    shared_noise="draw them from a torch.Generator that every process seeds alike",
    starters=("torch.multiprocessing.",),
    in_place=replaces_data_parallel,
    broadcasts=has_buffers,
    removed=left_out,
)
RULES = common_rules(BACKEND)
