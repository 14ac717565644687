"""Short expressions of a training step, of which numbers tell whether the analysis is right.

`x` are 12 rows of 4 inputs, `y` their classes, `m` a number for each, `out` the outputs of a model;
`weights`, `fixed` and `alpha` are the script's own.
"""

from __future__ import annotations

FUNCTIONS = (
    "exp", "abs", "sigmoid", "tanh", "relu", "square", "sin", "cos", "neg", "log1p_", "sqrt_",
    "expm1", "sign", "round", "floor", "ceil", "erf", "atan", "sinh", "cosh",
)  # fmt: skip
ACTIVATIONS = (
    "relu", "softplus", "gelu", "silu", "elu", "selu", "leaky_relu", "logsigmoid", "tanhshrink",
    "softsign", "hardtanh", "relu6", "celu", "mish", "hardswish", "sigmoid", "tanh",
)  # fmt: skip
OF_TWO = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div",
    "poisson_nll_loss", "binary_cross_entropy_with_logits",
)  # fmt: skip


def applied(function: str) -> str:
    """A function of each element of the outputs; some of them need positive ones."""
    word = function.rstrip("_")
    return f"torch.{word}(out.abs())" if function.endswith("_") else f"torch.{word}(out)"


ROWS = [
    *map(applied, FUNCTIONS),
    *(f"F.{word}(out)" for word in ACTIVATIONS),
    "out", "x", "m", "out * m.unsqueeze(1)", "out + m[:, None]", "x * 2 - 1", "x / x.size(1)",
    "out.softmax(1)", "out.log_softmax(dim=-1)", "F.normalize(out, dim=1)", "out.clamp(0, 1)",
    "out.clamp(min=0.1)", "out.pow(2)", "out ** 3", "x @ fixed.t()", "torch.mm(x, fixed.t())",
    "x.sum(1)", "x.mean(1)", "out.max(1)[0]", "out.max(dim=1).values", "out.logsumexp(1)",
    "x.norm(dim=1)", "x.std(1)", "x.var(dim=1)", "out.cumsum(1)", "x.view(-1, 2, 2)",
    "x.reshape(len(x), -1)", "x.unsqueeze(1)", "x[:, 0]", "x[:, 1:]", "x[:, :2] * x[:, 2:]",
    "torch.cat([x, out], 1)", "torch.stack([m, m], 1)", "torch.where(m[:, None] > 0.5, x, -x)",
    "(out - x[:, :3]).abs()", "out.gather(1, y.view(-1, 1))", "F.one_hot(y, 3)", "weights[y]",
    "F.cosine_similarity(x, x + 1)", "F.pairwise_distance(out, x[:, :3])", "x.flip(1)",
    "x.roll(1, 1)", "out.topk(2, dim=1)[0]", "out.sort(dim=1)[0]", "torch.ones_like(m)",
    "torch.zeros(len(x), 2)", "out.argmax(1)", "(out.argmax(1) == y).double()", "y == 1",
    "F.cross_entropy(out, y, reduction='none')", "F.nll_loss(out, y, reduction='none')",
    "F.mse_loss(out, x[:, :3], reduction='none')", "out.detach()", "torch.exp(-(x ** 2).sum(1))",
    "torch.bmm(x.unsqueeze(1), x.unsqueeze(2))", "torch.einsum('nc,nc->n', x, x)",
    "(x * fixed[0]).sum(dim=1)", "out[:, 0] - out[:, 1]", "1 - m", "m.log()", "m.sqrt()",
    "torch.maximum(out, -out)", "torch.minimum(m, 1 - m)", "x.abs().amax(1)", "out.t().t()",
    "x.flatten(1)", "model(x) * alpha", "F.layer_norm(x, (4,))", "out.masked_fill(out < 0, 0)",
    "x.prod(1)", "x.narrow(1, 0, 2)", "x.chunk(2, dim=1)[0]", "x.split(2, 1)[1]",
    "x.index_select(1, torch.tensor([0, 2]))", "out.repeat(1, 2)",
    "torch.lerp(x, -x, 0.3)", "torch.addcmul(x, x, x)", "x.median(dim=1)[0]",
]  # fmt: skip

MEANS = [
    *(f"{applied(each)}.mean()" for each in FUNCTIONS),
    *(f"F.{word}(out).mean()" for word in ACTIVATIONS),
    *(f"F.{word}(out, x[:, :3])" for word in OF_TWO[:4]),
    "F.cross_entropy(out, y)", "nn.CrossEntropyLoss()(out, y)", "F.nll_loss(out, y)",
    "F.cross_entropy(out, y, label_smoothing=0.1)", "nn.MSELoss()(out, x[:, :3])",
    "F.binary_cross_entropy_with_logits(out[:, 0], m)", "F.soft_margin_loss(out[:, 0], m)",
    "F.kl_div(out.log_softmax(1), x[:, :3].softmax(1), reduction='batchmean')",
    "F.kl_div(out.log_softmax(1), x[:, :3].softmax(1))", "F.multi_margin_loss(out, y)",
    "F.poisson_nll_loss(out, x[:, :3].abs())", "F.hinge_embedding_loss(out[:, 0], m.sign())",
    "F.triplet_margin_loss(out, x[:, :3], -out)", "F.gaussian_nll_loss(out[:, 0], m, m + 1)",
    "F.cosine_embedding_loss(out, x[:, :3], m.sign())", "out.mean(0).mean()", "out.mean(0).sum()",
    "out.sum() / len(x)", "out.sum() / x.size(0)", "out.sum() / x.shape[0]", "out.sum(1).mean()",
    "out.sum().div(len(x))", "x.mean(dim=0)", "x.mean((0, 1))", "out.mean() * 3",
    "out.mean() + x.mean()", "out.mean() - 0.5 * x.mean()", "-out.mean()", "out.mean() / 7",
    "alpha * out.mean() + (1 - alpha) * m.mean()", "(out * m[:, None]).mean()",
    "(F.cross_entropy(out, y, reduction='none') * m).mean()", "torch.mean(out ** 2)",
    "(out.argmax(1) == y).double().mean()", "(out.argmax(1) == y).sum() / y.size(0)",
    "x.sum(0) / len(x)", "out.abs().sum() / out.numel() * 2", "F.relu(1 - out[:, 0]).mean()",
    "sum([out.mean(), m.mean()])", "torch.stack([out.mean(), m.mean()]).sum()",
    "(x.t() @ x) / len(x)", "torch.logsumexp(out, 1).mean()", "out.mean() + weights.sum()",
    "(-(out.softmax(1) * out.log_softmax(1)).sum(1)).mean()", "out.norm(dim=1).mean()",
    "F.mse_loss(out, x[:, :3], reduction='sum') / len(x)", "out.mean().unsqueeze(0)",
]  # fmt: skip

SUMS = [
    *(f"{applied(each)}.sum()" for each in FUNCTIONS),
    *(f"F.{word}(out, x[:, :3], reduction='sum')" for word in OF_TWO[:4]),
    "F.cross_entropy(out, y, reduction='sum')", "nn.NLLLoss(reduction='sum')(out, y)",
    "nn.BCEWithLogitsLoss(reduction='sum')(out[:, 0], m)", "out.sum(0)", "x.sum((0, 1))",
    "out.mean() * len(x)", "out.mean() * x.size(0)", "(out * m[:, None]).sum()", "x.sum() / 4",
    "(out.argmax(1) == y).sum()", "(y == 1).sum()", "F.one_hot(y, 3).sum(0)", "x.t() @ x",
    "torch.sum(out ** 2)", "m.sum() - out.sum()", "m.sum(dim=0)", "x.abs().sum(1).sum()",
    "out[y == 1].sum()", "out.mean(1).sum()", "torch.einsum('nc,nk->ck', x, out)", "m.dot(m)",
    "sum(out[:, 0])", "0.5 * torch.sum(out.exp() - out - 1)",
    "torch.zeros(3).index_add(0, y, m)", "torch.zeros(3).scatter_add(0, y, m)",
    "(x.t() @ x).trace()", "torch.diag(x.t() @ x)", "(x.t() @ x).diagonal()",
]  # fmt: skip

#: The same whatever the samples are.
EQUALS = [
    "weights.sum()", "fixed.mean()", "alpha * 2", "x.size(1)", "x.dim()", "torch.ones(3)",
    "fixed @ fixed.t()", "model.weight.pow(2).sum()", "sum(p.norm() for p in model.parameters())",
    "len(y) / x.size(0)", "model(fixed).mean()", "weights.softmax(0)", "out.shape[-1]",
]  # fmt: skip

#: Whatever the analysis takes these for must hold; it may well say that it does not know.
OTHERS = [
    "x.repeat(1, 2)", "out.mT.mean(-1).pow(2).mean()",
    "out.transpose(-1, -2).mean(-1).pow(2).mean()",
    "out.expand(2, -1, -1).mean(1).pow(2).mean()", "m.repeat(1, 5).mean(1).pow(2).mean()",
    "m.expand(2, -1).t()", "out.t().transpose(0, -1).mean(1).pow(2).mean()",
    "out.index_select(0, y).mean()", "out.gather(0, y[:, None]).mean()",
    "F.pad(x, (0, 0, 1, 1)).mean()", "F.pad(m, (1, 1)).mean()", "F.pad(out, (1, 1)).pow(2).mean()",
    "F.pad(out[:, None, None], (1, 1, 1, 1)).pow(2).mean()",
    "m.unsqueeze(-2).mean(-1).pow(2).mean()", "m.unsqueeze(-1).mean(-1).pow(2).mean()",
    "out.unsqueeze(1).expand(-1, 5, -1).mean(1).pow(2).mean()",
    "out.softmax(0).mean()", "F.normalize(x, dim=0).sum()", "x.max()", "x.min(0)[0]", "m.median()",
    "x.sort(0)[0]", "x.flip(0)", "x.roll(1, 0)", "x.cumsum(0)", "x.std()", "x.var(0)", "m.norm()",
    "x - x.mean(0)", "(x - x.mean(0)).pow(2).mean()", "x / x.sum()", "x / x.norm()", "x @ x.t()",
    "out.mean().exp()", "out.mean().pow(2)", "out.sum().sqrt()", "out.sum().clamp(min=1)",
    "max(out.mean(), 0.5)", "out.mean().clamp(max=0.01)", "out.mean() * m.mean()",
    "out.mean() / m.mean()", "out.sum() / m.sum()", "(out[:, 0] * m).sum() / m.sum()",
    "out[y == 1].mean()", "out[m > 0.5].mean()", "out.masked_select(out > 0).mean()",
    "F.cross_entropy(out, y, weight=weights)", "F.cross_entropy(out, y, ignore_index=1)",
    "(out * out.mean()).sum()", "out.logsumexp(0).sum()", "torch.cdist(x, x).mean()", "m @ x",
    "x[0]",
    "x[:3].sum()", "x[-1].mean()", "x[::2].mean()", "len(x) ** 2", "len(x)", "out.sum() + 1",
    "out.sum() + out.mean()", "out.mean() + len(x)", "torch.unique(y).numel()", "y.bincount()",
    "x.quantile(0.5)", "x.mean(0).norm()", "x.mean(0).pow(2).sum()", "(x.t() @ x).norm()",
    "torch.corrcoef(x.t())", "torch.cov(x.t())", "x.view(2, -1).mean(1)", "x.view(-1).softmax(0)",
    "x.reshape(-1, 8).max(1)[0].mean()", "x.t().softmax(1).t().mean()", "m.argsort()", "m.argmax()",
    "x.repeat(2, 1).sum()", "torch.cat([x, x]).mean()", "torch.cat([x, fixed]).mean()",
    "m.unsqueeze(0) - m.unsqueeze(1)", "(m[:, None] * m[None]).mean()", "out.prod(0)", "m.prod()",
    "x.any(0)", "(x > 0).all()", "m.cummax(0)[0]", "m.diff()", "torch.outer(m, m).sum()",
    "m.logcumsumexp(0)", "F.softmin(m, 0).sum()", "m.topk(3)[0].mean()", "m.kthvalue(2)[0]",
    "F.batch_norm(x, None, None, training=True).pow(3).mean()", "x.nanmean()", "x.nansum()",
    "F.layer_norm(x, x.shape).mean()", "m.mean() if m.mean() > 0.5 else m.sum()", "m.cumprod(0)",
    "x.unbind(0)[0].sum()",
    "x.split(3)[0].mean()", "x.chunk(2)[1].sum()", "torch.arange(12) * m.sum()", "m.dist(1 - m)",
    "torch.trapezoid(m)", "m.tile(2).mean()", "x.movedim(0, 1).softmax(0).mean()", "x.T.sum(0)",
    "x.swapaxes(0, 1).mean(0)", "torch.vander(m).mean()", "x.unfold(0, 2, 2).amax(2).mean()",
    "torch.tensordot(m, m, 1)", "m.var(unbiased=False)", "torch.std_mean(x)[0]", "x.aminmax()[0]",
    "m.histc(3, 0, 1)", "F.avg_pool1d(x.t()[None], 2).amax()", "torch.linalg.norm(x)",
    "x.mean(-1)", "x.mean(-1).sum()",
    "torch.full_like(m, 1 / len(x))", "torch.full((len(x),), 1 / len(x))",
    "x.new_full((x.size(0), 2), x.shape[0])", "torch.full((3,), float(len(x)))",
    "(m * torch.full_like(m, 1 / len(x))).sum()", "torch.full((3,), x.mean().item())",
    "torch.zeros(3).index_put((y,), m, accumulate=True)", "torch.zeros(3).index_put((y,), m)",
    "m.unfold(0, 2, 1).mean()", "x.unfold(1, 2, 1)",
    "F.scaled_dot_product_attention(x, x, x).pow(2).mean()",
    "F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None]).mean()",
    "F.linear(x.t(), x.t()).mean()", "x.shape.numel()", "x.size().numel() / len(x)",
    "torch.where(y == 0)[0].numel()", "torch.where(y == 0)[0].size(0)",
    "(y == 0).nonzero(as_tuple=True)[0].numel()", "x[(y == 0).nonzero(as_tuple=True)[0]].sum()",
    "torch.eye(len(x)).mean()", "torch.ones(len(x), len(x)).sum()",
    "torch.ones((len(x), len(x))).mean(1)", "torch.tril(torch.ones(len(x), len(x))) @ m",
    "torch.tensor([len(x), 3.])", "torch.tensor([x.mean(), float(len(x))])", "torch.roll(x, 1)",
    "x.roll(1)", "torch.linspace(0, len(x), 5)",
    "torch.diagonal(out @ out.T).mean()", "torch.trace(x @ x.t())", "torch.diag(m).sum()",
]  # fmt: skip
