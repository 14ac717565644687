"""What a PyTorch job does once: the rules that all frameworks share, in its words."""

from __future__ import annotations

from transpile.once.rules import Words, once_rules
from transpile.rules.pytorch.effects._once import once_of

WORDS = Words(
    saver="torch.save",
    saving='torch.save(model.state_dict(), "model.pt")',
    saving_source=(
        "https://pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints"
    ),
    preparing='train_set = datasets.MNIST("data", train=True, download=True)',
    preparing_source="https://github.com/pytorch/pytorch/issues/68320",
    tracker="SummaryWriter",
    tracker_source="https://docs.wandb.ai/guides/track/log/distributed-training/",
    batches="train_loader",
    rank_source="https://pytorch.org/docs/stable/distributed.html#torch.distributed.get_rank",
)
RULES = once_rules("pytorch", "PT", WORDS, once_of)
