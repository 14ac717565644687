"""What Paddle distributes training with, for the rules that frameworks have in common."""

from __future__ import annotations

from transpile.backends.backend import Backend
from transpile.backends.rules import common_rules
from transpile.plan.data.collation import Padding
from transpile.plan.data.padding_readers import Readers
from transpile.plan.models.reaches import Wrapper
from transpile.rules.paddle.effects._once import VOCABULARY
from transpile.rules.paddle.losses._evaluation import evaluations

DOCUMENTATION = "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle"
WORDS = {
    "starters": "``multiprocessing`` or\n``threading``",
    "starters_source": "https://docs.python.org/3/library/multiprocessing.html",
    "starting": "Process(target=train, args=(model,)).start()",
    "own_noise": "paddle.randn(p.shape)",
    "with_shared_noise": (
        "for p, noise in zip(model.parameters(), shared_noise):\n    p.grad.add_(noise)"
    ),
    "padded": (
        "def collate(samples):\n"
        "    longest = max(len(each) for each in samples)\n"
        "    return np.stack([np.pad(each, (0, longest - len(each))) for each in samples])"
    ),
    "padded_alike": (
        "def collate(samples):\n"
        "    return np.stack([np.pad(each, (0, 100 - len(each))) for each in samples])"
    ),
    "padding_source": f"{DOCUMENTATION}/io/DataLoader_en.html",
    "sampler": "DistributedBatchSampler",
    "sampler_source": f"{DOCUMENTATION}/io/DistributedBatchSampler_en.html",
    "wrap_lacks": (
        "``DataParallel`` has none of the model's own attributes. What it does as the model would\n"
        "(``state_dict``, ``train``, ``eval``, ``parameters``) stays as it is."
    ),
    "reaching": "paddle.summary(model, (1, 4))",
    "reaching_behind": "paddle.summary(unwrap(model), (1, 4))",
    "wrap_source": f"{DOCUMENTATION}/DataParallel_en.html",
}
WRAPPER = Wrapper(
    same=frozenset(
        {
            "train", "eval", "parameters", "buffers", "state_dict", "set_state_dict", "set_dict",
            "load_dict", "no_sync", "clear_gradients", "__call__", "forward",
            "_layers",
        }
    ),
    harmless=(
        "paddle.optimizer.", "paddle.DataParallel", "paddle.distributed.fleet.",
        "paddle.nn.SyncBatchNorm", "paddle.nn.utils.clip_grad", "builtins.isinstance",
    ),
)  # fmt: skip
PADDING = Padding(
    frozenset({"paddle.max", "paddle.amax"}),
    ("paddlenlp.data.Pad", "paddlenlp.data.DataCollator"),
    masks=frozenset(
        {
            "paddle.nn.CTCLoss", "paddle.nn.functional.ctc_loss", "masked_fill", "masked_fill_",
            "paddle.masked_select", "masked_select", "paddle.masked_fill",
        }
    ),
    masked=frozenset({"ignore_index", "attn_mask", "attention_mask", "sequence_length", "mask"}),
    readers=Readers(
        recurrent={
            "paddle.nn.GRU": ("direction", 3), "paddle.nn.LSTM": ("direction", 3),
            "paddle.nn.SimpleRNN": ("direction", 3), "paddle.nn.RNN": ("is_reverse", 1),
            "paddle.nn.BiRNN": None,
        },
        mixing=frozenset(
            {
                "paddle.nn.MultiHeadAttention", "paddle.nn.TransformerEncoderLayer",
                "paddle.nn.TransformerEncoder", "paddle.nn.TransformerDecoderLayer",
                "paddle.nn.TransformerDecoder", "paddle.nn.Transformer", "paddle.nn.Conv1D",
                "paddle.nn.functional.scaled_dot_product_attention",
                "paddle.nn.functional.conv1d",
            }
        ),
        before={
            "paddle.nn.GRU": 2, "paddle.nn.LSTM": 2, "paddle.nn.SimpleRNN": 2, "paddle.nn.RNN": 2,
            "paddle.nn.BiRNN": 2, "paddle.nn.MultiHeadAttention": 3,
            "paddle.nn.TransformerEncoderLayer": 1, "paddle.nn.TransformerEncoder": 1,
            "paddle.nn.TransformerDecoderLayer": 2, "paddle.nn.TransformerDecoder": 2,
            "paddle.nn.Transformer": 2, "paddle.nn.functional.scaled_dot_product_attention": 3,
        },
        one_way=("forward", False),
        told=frozenset(
            {
                "sequence_length", "attn_mask", "src_mask", "tgt_mask", "memory_mask", "is_causal",
            }
        ),
    ),
)  # fmt: skip
BACKEND = Backend(
    framework="paddle",
    prefix="PD",
    words=WORDS,
    wrapper=WRAPPER,
    padding=PADDING,
    evaluations=lambda plan: evaluations(plan, VOCABULARY),
    shared_noise="make the noise on one process and broadcast it",
)
RULES = common_rules(BACKEND)
