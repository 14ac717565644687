"""Layers that follow rows of features: those that keep the samples apart, and those that do not."""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices


@dataclass
class Layer:
    """One step of a model.

    Args:
        make: the attribute and what makes it, as ``("fc1", "nn.Linear(4, 8)")``; empty if the step
            has none.
        apply: what it does to the hidden value ``h``, with ``M`` for the model itself.
        construct: the name of the production.
        size: how many features come out.
    """

    make: tuple[tuple[str, str], ...]
    apply: tuple[str, ...]
    construct: str
    size: int

    @property
    def module(self) -> str:
        """What makes it, where it is one module that is called plainly."""
        if len(self.make) == 1 and self.apply == (f"h = M.{self.make[0][0]}(h)",):
            return self.make[0][1]
        return ""


ACTIVATIONS = ("nn.ReLU()", "nn.Tanh()", "nn.GELU()", "nn.SiLU()", "nn.LeakyReLU(0.1)", "nn.ELU()")
CALLED = ("F.relu(h)", "torch.tanh(h)", "h.relu()", "torch.sigmoid(h)", "F.gelu(h)")

#: Steps over features that keep the samples apart: attributes to make, lines, by name.
APART = {
    "layer_norm": (("nn.LayerNorm(K)",), ("h = M.A0(h)",)),
    "dropout_0": (("nn.Dropout(0.0)",), ("h = M.A0(h)",)),
    "residual": (("nn.Linear(K, K)",), ("h = h + M.A0(h)",)),
    "gate": (("nn.Linear(K, K)",), ("h = h * torch.sigmoid(M.A0(h))",)),
    "softmax_1": ((), ("h = h * torch.softmax(h, dim=1)",)),
    "softmax_last": (("nn.Softmax(dim=-1)",), ("h = M.A0(h)",)),
    "normalize": ((), ("h = F.normalize(h, dim=1)",)),
    "normalize_default": ((), ("h = F.normalize(h)",)),
    "norm_1": ((), ("h = h / (h.norm(dim=1, keepdim=True) + 1e-3)",)),
    "center_1": ((), ("h = h - h.mean(1, keepdim=True)",)),
    "max_1": ((), ("h = h / (1 + h.abs().max(dim=1, keepdim=True)[0])",)),
    "sort_1": ((), ("h = h + h.sort(dim=1)[0]",)),
    "cumsum_1": ((), ("h = torch.cumsum(h, dim=-1) / K",)),
    "flip_1": ((), ("h = h + h.flip(1)",)),
    "roll_1": ((), ("h = h + torch.roll(h, 1, dims=1)",)),
    "chunk": ((), ("a, b = h.chunk(2, dim=1)", "h = torch.cat([a * b, a + b], dim=1)")),
    "split": ((), ("a, b = torch.split(h, K // 2, dim=-1)", "h = torch.cat((b, a), -1)")),
    "halves": ((), ("h = torch.cat([h[:, ::2], h[:, 1::2].tanh()], dim=1)",)),
    "where": ((), ("h = torch.where(h > 0, h, 0.1 * h)",)),
    "clamp": ((), ("h = h.clamp(min=-0.5)",)),
    "einsum": (
        ("nn.Parameter(0.3 * torch.randn(K, K))",),
        ("h = torch.einsum('bi,ij->bj', h, M.A0)",),
    ),
    "parameter_matmul": (("nn.Parameter(0.3 * torch.randn(K, K))",), ("h = h @ M.A0",)),
    "transposed": (("nn.Parameter(0.3 * torch.randn(K, K))",), ("h = (M.A0 @ h.t()).t()",)),
    "scale": (("nn.Parameter(torch.ones(K))",), ("h = h * M.A0",)),
    "outer": (
        ("nn.Linear(K * K, K)",),
        ("h = M.A0(torch.bmm(h.unsqueeze(2), h.unsqueeze(1)).flatten(1))",),
    ),
    "grouped": ((), ("h = h + h.view(h.size(0), 2, -1).mean(1).repeat(1, 2)",)),
    "reshaped": ((), ("h = h.reshape(len(h), 2, K // 2).transpose(1, 2).reshape(len(h), -1)",)),
    "attention_in_sample": (
        ("nn.Linear(1, 4)", "nn.MultiheadAttention(4, 2, batch_first=True)"),
        ("t = M.A0(h.unsqueeze(-1))", "h = h + M.A1(t, t, t)[0].mean(-1)"),
    ),
    "conv1d": (
        ("nn.Conv1d(1, 2, 3, padding=1)",),
        ("h = h + M.A0(h.unsqueeze(1)).mean(1)",),
    ),
    "experts": (
        ("nn.ModuleList([nn.Linear(K, K) for _ in range(2)])", "nn.Linear(K, 2)"),
        (
            "g = torch.softmax(M.A1(h), dim=-1)",
            "h = sum(g[:, j:j + 1] * f(h) for j, f in enumerate(M.A0))",
        ),
    ),
    "bilinear": (("nn.Bilinear(K, K, K)",), ("h = M.A0(h, h)",)),
    "prelu": (("nn.PReLU()",), ("h = M.A0(h)",)),
    "loop": ((), ("for _ in range(2):", "    h = h + 0.1 * torch.sin(h)")),
    "group_norm": (("nn.GroupNorm(2, K)",), ("h = M.A0(h)",)),
}

#: Steps that let the samples of a batch see each other.
COUPLED = {
    "center_0": ((), ("h = h - h.mean(0)",)),
    "center_all": ((), ("h = h - h.mean()",)),
    "std_0": ((), ("h = h / (h.std(dim=0, keepdim=True) + 1e-3)",)),
    "softmax_0": ((), ("h = h * torch.softmax(h, dim=0)",)),
    "normalize_0": ((), ("h = F.normalize(h, dim=0)",)),
    "norm_all": ((), ("h = h / h.norm()",)),
    "max_0": ((), ("h = h / (1 + h.abs().max(dim=0)[0])",)),
    "max_all": ((), ("h = h / (1 + h.abs().max().detach())",)),
    "sort_0": ((), ("h = h + h.sort(dim=0)[0]",)),
    "cumsum_0": ((), ("h = h + torch.cumsum(h, dim=0) / len(h)",)),
    "flip_0": ((), ("h = h + 0.5 * h.flip(0)",)),
    "roll_0": ((), ("h = h + 0.5 * torch.roll(h, 1, 0)",)),
    "roll_flat": ((), ("h = h + 0.5 * torch.roll(h, 1)",)),
    "median_0": ((), ("h = h - h.median(dim=0)[0]",)),
    "quantile_0": ((), ("h = h - torch.quantile(h, 0.3, dim=0)",)),
    "batch_norm_function": ((), ("h = F.batch_norm(h, None, None, training=True)",)),
    "batch_norm": (("nn.BatchNorm1d(K)",), ("h = M.A0(h)",)),
    "attention_over_batch": (
        ("nn.MultiheadAttention(K, 2, batch_first=True)",),
        ("t = h.unsqueeze(0)", "h = h + M.A0(t, t, t)[0].squeeze(0)"),
    ),
    "attention_sequence_first": (
        ("nn.MultiheadAttention(K, 2)",),
        ("t = h.unsqueeze(1)", "h = h + M.A0(t, t, t)[0].squeeze(1)"),
    ),
    "similarity": ((), ("h = h + torch.softmax(h @ h.t(), dim=-1) @ h",)),
    "gram": ((), ("h = h @ (h.t() @ h) / (h.size(0) * 10)",)),
    "instance_norm": (
        ("nn.InstanceNorm1d(K)",),
        ("h = M.A0(h.t().unsqueeze(0)).squeeze(0).t()",),
    ),
    "branch_on_mean": ((), ("if h.abs().mean() > 0.35:", "    h = 0.5 * h")),
    "branch_on_any": ((), ("if (h > 1.2).any():", "    h = h.clamp(max=1.0)")),
    "neighbours": ((), ("h = h + 0.3 * h[torch.cdist(h, h).topk(2, largest=False)[1][:, 1]]",)),
    "mixed_view": ((), ("h = h + 0.3 * h.t().reshape(h.shape)",)),
    "shifted": ((), ("h = h + 0.5 * torch.cat([h[-1:], h[:-1]])",)),
    "half_of_batch": ((), ("n = len(h) // 2", "h = h + 0.5 * torch.cat([h[n:], h[:n]], 0)")),
    "running_attribute": (
        (),
        (
            "M.seen = 0.9 * getattr(M, 'seen', 0.0) + 0.1 * h.detach().abs().mean()",
            "h = h / (0.5 + M.seen)",
        ),
    ),
    "einsum_batch": ((), ("h = h + torch.einsum('bi,ci->cb', h, h) @ h / 50",)),
    "logsumexp_0": ((), ("h = h - torch.logsumexp(h, dim=0)",)),
    "first_sample": ((), ("h = h - 0.5 * h[0]",)),
}


def feature_layers(choices: Choices, place: str, size: int) -> list[Layer]:
    """Blocks over rows of features, one row for each sample."""
    layers = []
    for block in range(choices.number(f"{place}.blocks", 1, 2, 3)):
        name = f"{place}.{block}"
        out = choices.number(f"{name}.size", 8, 6, 12)
        layers.append(
            Layer(
                ((f"fc{block}", f"nn.Linear({size}, {out})"),),
                (f"h = M.fc{block}(h)",),
                "linear",
                out,
            )
        )
        size = out
        if choices.pick(f"{name}.activation", ("module", "function")) == "module":
            which = choices.pick(f"{name}.activation.module", ACTIVATIONS)
            layers.append(
                Layer(((f"act{block}", which),), (f"h = M.act{block}(h)",), "activation", size)
            )
        else:
            which = choices.pick(f"{name}.activation.function", CALLED)
            layers.append(Layer((), (f"h = {which}",), "activation", size))
        kind = choices.pick(f"{name}.extra", ("none", "apart", "coupled"), (3, 2.5, 0.25))
        if kind != "none":
            table = APART if kind == "apart" else COUPLED
            which = choices.pick(f"{name}.{kind}", list(table))
            made, lines = table[which]
            layers.append(filled(made, lines, f"model.{kind}={which}", size, f"{kind}{block}"))
    return layers


def filled(
    made: tuple[str, ...], lines: tuple[str, ...], construct: str, size: int, stem: str
) -> Layer:
    """A production with its sizes and attribute names in place."""
    attributes = [f"{stem}_{number}" if number else stem for number in range(len(made))]
    make = tuple(
        (attribute, text.replace("K", str(size)))
        for attribute, text in zip(attributes, made, strict=True)
    )
    apply = []
    for line in lines:
        for number, attribute in enumerate(attributes):
            line = line.replace(f"A{number}", attribute)
        apply.append(line.replace("K", str(size)))
    return Layer(make, tuple(apply), construct, size)
