"""Layers over images and sequences, ended by rows of features."""

from __future__ import annotations

from .choices import Choices
from .layers import Layer


def image_layers(choices: Choices, place: str, channels: int) -> list[Layer]:
    """Convolutions, ended by rows of features."""
    out = choices.number(f"{place}.channels", 4, 6)
    layers = [
        Layer(
            (("conv", f"nn.Conv2d({channels}, {out}, 3, padding=1)"),),
            ("h = M.conv(h)",),
            "conv",
            out,
        )
    ]
    norm = choices.pick(
        f"{place}.norm", ("none", "group_norm", "instance_norm", "batch_norm"), (3, 1, 1, 0.2)
    )
    if norm != "none":
        made = {
            "group_norm": f"nn.GroupNorm(2, {out})",
            "instance_norm": f"nn.InstanceNorm2d({out})",
            "batch_norm": f"nn.BatchNorm2d({out})",
        }[norm]
        layers.append(Layer((("norm", made),), ("h = M.norm(h)",), f"model.norm={norm}", out))
    layers.append(Layer((), ("h = torch.relu(h)",), "activation", out))
    if choices.chance(f"{place}.depthwise", 0.3):
        made = f"nn.Conv2d({out}, {out}, 3, padding=1, groups={out})"
        layers.append(Layer((("depth", made),), ("h = h + M.depth(h)",), "model.depthwise", out))
    if choices.chance(f"{place}.squeeze", 0.25):
        layers.append(
            Layer(
                (("se", f"nn.Linear({out}, {out})"),),
                ("s = torch.sigmoid(M.se(h.mean(dim=(2, 3))))", "h = h * s[:, :, None, None]"),
                "model.squeeze",
                out,
            )
        )
    end = choices.pick(
        f"{place}.pool",
        ("flatten", "average", "mean", "adaptive", "view", "max", "permuted", "amax", "unfold"),
    )
    ways = {
        "flatten": (
            (("pool", "nn.MaxPool2d(2)"),),
            ("h = M.pool(h)", "h = torch.flatten(h, 1)"),
            out * 4,
        ),
        "average": ((), ("h = F.avg_pool2d(h, 2).flatten(start_dim=1)",), out * 4),
        "mean": ((), ("h = h.mean(dim=[2, 3])",), out),
        "adaptive": (
            (("pool", "nn.AdaptiveAvgPool2d(1)"), ("flat", "nn.Flatten()")),
            ("h = M.flat(M.pool(h))",),
            out,
        ),
        "view": ((), ("h = h.view(h.size(0), -1)",), out * 16),
        "max": ((), ("h = F.max_pool2d(h, 4)", "h = h.view(-1, h.shape[1])"), out),
        "permuted": (
            (),
            ("h = h.permute(0, 2, 3, 1).reshape(h.shape[0], -1, h.shape[1]).mean(1)",),
            out,
        ),
        "amax": ((), ("h = h.amax(dim=(-2, -1))",), out),
        "unfold": ((), ("h = F.unfold(h, 2, stride=2).mean(-1)",), out * 4),
    }
    made_, lines, size = ways[end]
    layers.append(Layer(made_, lines, f"model.pool={end}", size))
    return layers


def series_layers(choices: Choices, place: str, size: int, length: int, mask: str) -> list[Layer]:
    """Over sequences of features, ended by rows of features; ``mask`` is what pads them, if any."""
    out = 6
    body = choices.pick(
        f"{place}.body",
        (
            "none",
            "linear",
            "lstm",
            "gru_time_first",
            "gru_untransposed",
            "conv",
            "transformer",
            "transformer_time_first",
            "transformer_untransposed",
            "attention",
            "causal",
            "cell",
            "batch_norm",
        ),
        (1, 1, 1, 1, 0.15, 1, 1, 1, 0.15, 1, 1, 1, 0.15),
    )
    encoder = f"nn.TransformerEncoderLayer({size}, 2, 12, dropout=0.0"
    ways: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...], int]] = {
        "none": ((), (), size),
        "linear": ((("mix", f"nn.Linear({size}, {out})"),), ("h = torch.relu(M.mix(h))",), out),
        "lstm": (
            (("rnn", f"nn.LSTM({size}, {out}, batch_first=True)"),),
            ("h, _ = M.rnn(h)",),
            out,
        ),
        "gru_time_first": (
            (("rnn", f"nn.GRU({size}, {out})"),),
            ("h, last = M.rnn(h.transpose(0, 1))", "h = h.transpose(0, 1)"),
            out,
        ),
        "gru_untransposed": ((("rnn", f"nn.GRU({size}, {out})"),), ("h, _ = M.rnn(h)",), out),
        "conv": (
            (("conv", f"nn.Conv1d({size}, {out}, 3, padding=1)"),),
            ("h = M.conv(h.transpose(1, 2)).relu().transpose(1, 2)",),
            out,
        ),
        "transformer": ((("enc", f"{encoder}, batch_first=True)"),), ("h = M.enc(h)",), size),
        "transformer_time_first": (
            (("enc", f"{encoder})"),),
            ("h = M.enc(h.permute(1, 0, 2)).permute(1, 0, 2)",),
            size,
        ),
        "transformer_untransposed": ((("enc", f"{encoder})"),), ("h = M.enc(h)",), size),
        "attention": (
            (("q", f"nn.Linear({size}, {size})"), ("k", f"nn.Linear({size}, {size})")),
            (
                "w = torch.softmax(M.q(h) @ M.k(h).transpose(-2, -1) / 2.0, dim=-1)",
                "h = h + torch.matmul(w, h)",
            ),
            size,
        ),
        "causal": (
            (("q", f"nn.Linear({size}, {size})"),),
            (
                "n = h.size(1)",
                "w = M.q(h) @ h.mT",
                "later = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)",
                "w = w.masked_fill(later, float('-inf'))",
                "h = w.softmax(-1) @ h",
            ),
            size,
        ),
        "cell": (
            (("cell", f"nn.GRUCell({size}, {out})"),),
            (
                f"s = torch.zeros(h.size(0), {out})",
                "hs = []",
                "for k in range(h.size(1)):",
                "    s = M.cell(h[:, k], s)",
                "    hs.append(s)",
                "h = torch.stack(hs, dim=1)",
            ),
            out,
        ),
        "batch_norm": (
            (("bn", f"nn.BatchNorm1d({size})"),),
            ("h = M.bn(h.transpose(1, 2)).transpose(1, 2)",),
            size,
        ),
    }
    made, lines, size = ways[body]
    layers = [Layer(made, lines, f"model.body={body}", size)]
    options = ["mean", "last", "sum", "max", "attention", "flatten", "first"]
    if mask:
        options += ["masked_mean", "masked_fill"]
    end = choices.pick(f"{place}.end", options)
    ends: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...], int]] = {
        "mean": ((), ("h = h.mean(1)",), size),
        "last": ((), ("h = h[:, -1]",), size),
        "first": ((), ("h = h[:, 0, :]",), size),
        "sum": ((), ("h = h.sum(dim=1) / 4",), size),
        "max": ((), ("h, _ = h.max(dim=1)",), size),
        "flatten": ((), ("h = h.flatten(1)",), size * length),
        "attention": (
            (("score", f"nn.Linear({size}, 1)"),),
            ("a = torch.softmax(M.score(h), dim=1)", "h = (a * h).sum(1)"),
            size,
        ),
        "masked_mean": (
            (),
            (
                f"keep = ({mask}).to(h.dtype).unsqueeze(-1)",
                "h = (h * keep).sum(1) / keep.sum(1).clamp(min=1)",
            ),
            size,
        ),
        "masked_fill": (
            (),
            (f"h = h.masked_fill(~({mask}).unsqueeze(-1), -1e3).max(1)[0]",),
            size,
        ),
    }
    made, lines, size = ends[end]
    layers.append(Layer(made, lines, f"model.end={end}", size))
    return layers
