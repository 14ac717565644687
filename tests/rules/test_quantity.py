"""What values are when every process sees a share of the batch: means, sums, counts, samples."""

from __future__ import annotations

import libcst as cst
import pytest

from transpile.facts.interpreter import interpret
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.quantity.asking import Duty, Kind, Quantity, describe, quantity
from transpile.rules.pytorch import TABLE
from transpile.text.source import read_source

SCRIPT = '''\
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=12)
parser.add_argument("--alpha", type=float, default=0.5)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        h = torch.relu(self.layer(x))
        return self.head(h / h.norm(dim=1, keepdim=True))


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, y=None):
        out = self.net(x)
        if y is None:
            return out
        return F.cross_entropy(out, y), out


class Margin(nn.Module):
    """A loss without parameters."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, a, b):
        return (F.relu(a - b + self.scale) ** 2).mean()


class Contrastive(nn.Module):
    def forward(self, z, y):
        similar = torch.matmul(z, z.t()) / 0.1
        return F.cross_entropy(similar, torch.arange(z.size(0)))


{top}

train = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)),
                   batch_size=args.batch_size, shuffle=True)
valid = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)))
model = Net()
whole = WithLoss()
optimizer = torch.optim.SGD([*model.parameters(), *whole.parameters()], lr=0.1)
scaler = torch.cuda.amp.GradScaler()
weights = torch.rand(3)
fixed = torch.randn(16, 4)
for x, y, m in train:
    out = model(x)
    {body}
    F.mse_loss(out, m).backward()
    optimizer.step()
'''


def plan_of(text: str) -> Plan:
    source = read_source(text.encode(), "train.py")
    project = Project(source, None)
    facts = interpret(project.entry, TABLE.dialect, project.find)
    return build_plan(facts, TABLE, Options())


def measured(body: str, top: str = "") -> Quantity:
    """The quantity of what the last assignment to `q` in a training step binds."""
    lines = body.strip().splitlines()
    if not any(line.lstrip().startswith("q =") for line in lines):
        lines[-1] = f"q = {lines[-1]}"
    plan = plan_of(SCRIPT.format(body="\n    ".join(lines), top=top))
    found = [
        node.value
        for node in plan.entry.source.nodes
        if isinstance(node, cst.Assign)
        and isinstance(node.targets[0].target, cst.Name)
        and node.targets[0].target.value == "q"
    ]
    values = plan.facts.values_of(found[-1])
    assert values, "the snippet is never reached"
    return quantity(plan, values)


def check(body: str, expected: str, top: str = "") -> None:
    found = measured(body, top)
    assert describe(found).startswith(expected), describe(found)


@pytest.mark.parametrize(
    "expression",
    [
        "args.alpha",
        "3.5",
        "fixed",
        "fixed.mean()",
        "len(train)",
        "len(train.dataset)",
        "x.size(1)",
        "x.shape[1]",
        "out.dim()",
        "weights.sum()",
        "model.head.weight.pow(2).sum()",
        "sum(p.norm() for p in model.parameters())",
        "args.batch_size",
        "x.device",
        "torch.randn(16, 4)",
        "optimizer.param_groups[0]['lr']",
        "model(fixed).sum()",
        "sum(F.cross_entropy(model(a), b) for a, b, c in valid)",
        "math.sqrt(args.alpha)",
        "len(y) / y.size(0)",
        "x.numel() // len(x)",
        "range(3)[0]",
    ],
)
def test_what_does_not_depend_on_the_batch(expression: str) -> None:
    check(expression, "independent")


@pytest.mark.parametrize(
    "expression",
    [
        "x",
        "out",
        "x.to('cpu')",
        "x.cuda(non_blocking=True).float()",
        "Variable(x)",
        "x.view(-1, 4)",
        "x * 2 - weights[0]",
        "F.softmax(out, dim=1)",
        "out.max(1)[1]",
        "out.argmax(dim=-1)",
        "torch.max(out, 1)[0]",
        "out.topk(2, 1, True, True)[1]",
        "y == out.argmax(1)",
        "x.sum(1)",
        "x.mean(dim=(1,))",
        "x[:, 0]",
        "x.unsqueeze(1)",
        "torch.cat([x, out], dim=1)",
        "-x.pow(2)",
        "torch.stack([m, m], dim=1)",
        "F.cross_entropy(out, y, reduction='none')",
        "torch.exp(out)",
        "F.mse_loss(out, x, reduce=False)",
        "nn.CrossEntropyLoss(reduction='none')(out, y)",
        "torch.randn_like(x)",
        "torch.randn(x.size(0), 8)",
        "torch.zeros(x.shape)",
        "weights[y]",
        "torch.full((x.shape[0],), 1.0)",
        "np.random.normal(0, 1, (x.shape[0], 8))",
        "x / x.size(1)",
        "torch.ones(len(x))",
        "torch.cuda.FloatTensor(x.size(0), 1).fill_(1.0)",
        "x.norm(dim=1)",
        "F.normalize(x)",
        "F.cosine_similarity(x, out)",
        "torch.where(y > 0, m, -m)",
        "x + out",
        "x @ weights.diag()",
        "torch.mm(x, model.head.weight.t())",
        "F.one_hot(y, 3)",
        "x.detach()",
        "torch.bmm(x.unsqueeze(1), x.unsqueeze(2))",
        "torch.einsum('nc,nc->n', x, x)",
        "x.data",
        "torch.einsum('nc,kc->nk', x, weights)",
        "F.dropout(out, 0.5)",
        "out.gather(1, y.view(-1, 1))",
        "out[torch.arange(len(y)), y]",
        "nn.Softmax(dim=1)(out)",
        "model(torch.randn(len(x), 4))",
        "model.layer(x)",
        "(x if args.alpha else out)",
        "[t for t in (x, out)]",
        "x.clamp(min=0)",
    ],
)
def test_what_has_an_entry_for_each_sample(expression: str) -> None:
    check(expression, "samples")


@pytest.mark.parametrize(
    "expression",
    [
        "out.mean()",
        "torch.mean(out)",
        "F.cross_entropy(out, y)",
        "nn.CrossEntropyLoss()(out, y)",
        "F.nll_loss(F.log_softmax(out, 1), y)",
        "F.mse_loss(out, x)",
        "nn.MSELoss()(out, x)",
        "nn.BCEWithLogitsLoss(weight=weights, pos_weight=weights)(out, y)",
        "nn.L1Loss()(out, x)",
        "F.binary_cross_entropy(out, y, m)",
        "nn.KLDivLoss(reduction='batchmean')(out, x)",
        "F.kl_div(out, x, reduction='batchmean')",
        "nn.TripletMarginLoss()(out, x, x)",
        "F.smooth_l1_loss(out, x)",
        "nn.HuberLoss()(out, x)",
        "nn.MarginRankingLoss()(m, m, y)",
        "nn.CTCLoss()(out, y, m, m)",
        "F.cross_entropy(out, y, None, None)",
        "Margin(0.2)(out, x)",
        "F.cross_entropy(out, y, reduction='mean', label_smoothing=0.1)",
        "out.sum(1).mean()",
        "out.sum() / x.size(0)",
        "out.sum() / len(x)",
        "torch.sum(out) / out.shape[0] * 2",
        "out.mean(0).sum()",
        "out.sum(dim=0).sum().div(x.size(0))",
        "(out / x.size(0)).sum()",
        "F.cross_entropy(out, y) + args.alpha * out.mean()",
        "sum([out.mean(), x.mean()])",
        "F.cross_entropy(out, y) / 4",
        "0.5 * out.mean() + 1e-4 * sum(p.norm() for p in model.parameters())",
        "scaler.scale(F.cross_entropy(out, y))",
        "torch.stack([out.mean(), x.mean()]).sum()",
        "(out.argmax(1) == y).float().mean()",
        "(m.mean() if args.alpha else out.mean())",
        "whole(x, y)[0]",
        "-out.mean().detach()",
        "out.mean().cpu()",
        "F.cross_entropy(out, y, size_average=True)",
        "((torch.autograd.grad(out.sum(), x, create_graph=True)[0].norm(dim=1) - 1) ** 2).mean()",
        "-0.5 * torch.mean(torch.sum(1 + out - out.pow(2), dim=1))",
        "F.triplet_margin_loss(out, x, x)",
        "torch.nn.parallel.DataParallel(model)(x).mean()",
        "model.train()(x).mean()",
        "tqdm(train) and F.cross_entropy(out, y)",
        "torch.utils.checkpoint.checkpoint(model, x).mean()",
        "(m.sum() / 12) / (len(m) / 12)",
        "nn.functional.huber_loss(out, x)",
        "torch.dot(m, m) / len(m)",
    ],
)
def test_what_is_a_mean_over_equal_shares(expression: str) -> None:
    found = measured(expression)
    assert found.kind is Kind.PART and found.degree == 0, describe(found)
    assert not found.pending


@pytest.mark.parametrize(
    "expression",
    [
        "out.sum()",
        "torch.sum(out)",
        "F.mse_loss(out, x, reduction='sum')",
        "sum(m)",
        "nn.MSELoss(reduction='sum')(out, x)",
        "nn.CrossEntropyLoss(None, False)(out, y)",
        "F.cross_entropy(out, y, size_average=False)",
        "out.sum() / 12",
        "out.sum() / args.batch_size",
        "F.cross_entropy(out, y) * len(x)",
        "-0.5 * torch.sum(1 + out - out.pow(2))",
        "x[y > 0].sum()",
        "F.cross_entropy(out, y, reduction='none').sum()",
        "(m * F.cross_entropy(out, y, reduce=False)).sum()",
        "F.cross_entropy(out, y, weights, reduction='sum')",
        "m[m > 0].sum()",
        "out.sum(0)[0]",
        "torch.einsum('nc,nc->', x, x)",
        "(out.t() @ x)[0, 0]",
        "torch.count_nonzero(y)",
        "torch.dot(m, m)",
        "nn.NLLLoss(weight=weights, reduction='sum')(out, y)",
        "out.nansum()",
        "sum([out.sum(), x.sum()])",
    ],
)
def test_what_is_a_sum_over_the_batch(expression: str) -> None:
    found = measured(expression)
    assert found.kind is Kind.PART and found.degree == 1, describe(found)


@pytest.mark.parametrize(
    "expression",
    [
        "len(x)",
        "x.size(0)",
        "x.shape[0]",
        "y.numel()",
        "x.size()[0]",
        "len(out)",
        "2 * len(x)",
        "train.batch_size",
        "int(x.size(0))",
        "len(train.sampler)",
        "x.view(-1, 4).size(0)",
    ],
)
def test_what_counts_samples(expression: str) -> None:
    check(expression, "count")


def test_shapes_are_unpacked() -> None:
    check("n, width = x.shape\nq = n", "count")
    check("n, width = x.size()\nq = width", "independent")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("torch.mm(out, out.t()).mean()", "compares the samples"),
        ("(out @ out.T).mean()", "compares the samples"),
        ("torch.matmul(out, out.transpose(0, 1)).mean()", "compares the samples"),
        ("torch.einsum('id,jd->ij', out, out).mean()", "compares the samples"),
        ("torch.cdist(out, out).mean()", "compares the samples"),
        ("torch.pdist(out).mean()", "compares the samples"),
        ("(out.unsqueeze(0) - out.unsqueeze(1)).pow(2).mean()", "compares the samples"),
        ("F.cosine_similarity(out[:, None], out[None], dim=2).mean()", "compares the samples"),
        ("Contrastive()(out, y)", "compares the samples"),
        ("F.cross_entropy(out @ out.t(), torch.arange(len(out)))", "compares the samples"),
        ("torch.sqrt(F.mse_loss(out, x))", "sqrt"),
        ("F.mse_loss(out, x) ** 0.5", "power"),
        ("out.mean().exp()", "exp"),
        ("(out - out.mean(0)).pow(2).mean()", "single samples"),
        ("((out - out.mean()) / out.std()).mean()", "looks at all samples"),
        ("out.std()", "looks at all samples"),
        ("out.std(0).mean()", "looks across the samples"),
        ("out.max()", "looks at all samples"),
        ("torch.norm(out)", "looks at all samples"),
        ("F.softmax(out, dim=0).mean()", "looks across the samples"),
        ("out.mean() * x.mean()", "multiplies two numbers"),
        ("1.0 / out.mean()", "denominator"),
        ("out.sum() / out.abs().sum()", "denominator"),
        ("x[y > 0].std()", "looks at all samples"),
        ("F.huber_loss(out[y > 0], x[y > 0])", "how many differs"),
        ("F.cross_entropy(out, y, reduction=args.alpha)", "reduction"),
        ("(out.sum() if args.alpha else out.mean())", "different ways"),
        ("sum(F.mse_loss(out[i], x[i]) for i in range(len(x)))", "one by one"),
        ("out.mean(dim=args.alpha)", "dimensions"),
        ("ssim(out, x)", "nothing is known"),
        ("torch.log(F.cross_entropy(out, y))", "log"),
        ("out.mean(0).pow(2).sum()", "power"),
    ],
)
def test_what_cannot_be_told(expression: str, reason: str) -> None:
    found = measured(expression, top="from pytorch_msssim import ssim")
    assert found.kind is Kind.UNKNOWN, describe(found)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("expression", "duty"),
    [
        ("(m * F.cross_entropy(out, y, reduction='none')).sum() / m.sum()", Duty.DENOMINATOR),
        ("(out.sum(1) * m).sum().div(m.sum())", Duty.DENOMINATOR),
        ("torch.div((out.sum(1) * m).sum(), m.sum())", Duty.DENOMINATOR),
        ("(out.sum(1) * m).sum() / (m.sum() + 1e-8)", Duty.DENOMINATOR),
        ("(out.sum(1) * m).sum() / m.sum().clamp(min=1)", Duty.DENOMINATOR),
        ("(out.sum(1) * m).sum() / torch.sum(y != 0)", Duty.DENOMINATOR),
        ("(out.sum(1) * (m / m.sum())).sum()", Duty.DENOMINATOR),
        ("(1.0 / m.sum()) * (out.sum(1) * m).sum()", Duty.DENOMINATOR),
        ("F.cross_entropy(out, y, weight=weights)", Duty.LOSS),
        ("F.cross_entropy(out, y, weights)", Duty.LOSS),
        ("F.cross_entropy(out, y, ignore_index=0)", Duty.LOSS),
        ("nn.CrossEntropyLoss(ignore_index=0)(out, y)", Duty.LOSS),
        ("nn.CrossEntropyLoss(weights).cuda()(out, y)", Duty.LOSS),
        ("nn.NLLLoss(weight=weights)(out, y)", Duty.LOSS),
        ("out.mean() * x.mean().item()", Duty.NUMBER),
        ("F.cross_entropy(out[y > 0], y[y > 0])", Duty.LOSS),
        ("nn.MSELoss()(out[y > 0], x[y > 0])", Duty.LOSS),
    ],
)
def test_what_needs_an_agreement(expression: str, duty: Duty) -> None:
    found = measured(expression)
    assert found.kind is Kind.PART and found.degree == 0, describe(found)
    assert [pending.duty for pending in found.pending] == [duty]


def test_many_constants_are_constants() -> None:
    check(f"torch.tensor({list(range(1, 40))})", "independent")


def test_fields_of_a_named_tuple_are_what_they_were_given() -> None:
    top = "from collections import namedtuple\nPair = namedtuple('Pair', ['first', 'second'])"
    check("Pair(x, out).second.mean()", "mean", top=top)
    check("sum(F.mse_loss(t, t) for t in Pair(x, out))", "mean", top=top)


def test_targets_that_are_marked_to_be_left_out() -> None:
    assert not measured("F.cross_entropy(out, y)").pending
    assert measured("F.cross_entropy(out, y)", top="IGNORED = -100").pending
    assert not measured("F.cross_entropy(out, y)", top="# CIFAR-100").pending


def test_a_sum_and_a_penalty_stay_apart() -> None:
    found = measured("out.sum() + args.alpha * sum(p.norm() for p in model.parameters())")
    assert {(term.degree, term.gradient) for term in found.terms} == {(1, True), (0, True)}
    assert describe(found) == "mean and sum"


def test_a_sum_and_a_constant_have_one_gradient() -> None:
    found = measured("out.sum() + args.alpha")
    assert {(term.degree, term.gradient) for term in found.terms} == {(1, True), (0, False)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("total = 0\nfor k in range(3):\n    total = total + out[:, k].mean()\nq = total", "mean"),
        ("total = 0\nfor k in range(3):\n    total += out[:, k].sum()\nq = total", "sum"),
        (
            "losses = []\nfor k in range(3):\n    losses.append(out[:, k].mean())\nq = sum(losses)",
            "mean",
        ),
        ("q = out.sum()\nfor k in range(3):\n    q = q * len(x)\nq = q", "unknown"),
    ],
)
def test_loops_come_to_an_end(body: str, expected: str) -> None:
    check(body, expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("out.mean().item()", "independent"),
        ("float(out.mean())", "independent"),
        ("out.sum().item()", "count"),
        ("out.sum().item() / len(x)", "independent"),
        ("F.mse_loss(out, x).item() * x.size(0)", "count"),
        ("math.exp(out.mean().item())", "independent"),
        ("max(out.mean().item(), 1.0)", "independent"),
    ],
)
def test_numbers_are_equal_once_they_are_reduced(expression: str, expected: str) -> None:
    found = measured(expression)
    assert found.pending, "a number of one process is taken for equal"
    assert describe(found) == expected


def test_numbers_that_were_never_tensors() -> None:
    found = measured("np.mean(out.argmax(1).numpy() == y.numpy())")
    assert found.kind is Kind.PART and found.degree == 0
    assert not found.tensor


def test_only_batches_of_training_count() -> None:
    body = "for a, b, c in valid:\n    q = F.cross_entropy(model(a), b, reduction='sum')"
    check(body, "independent")


ACCURACY = """
def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    batch_size = target.size(0)
    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    res = []
    for k in topk:
        correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
        res.append(correct_k.mul_(100.0 / batch_size))
    return res
"""


def test_the_well_known_accuracy() -> None:
    check("accuracy(out, y, topk=(1, 2))[0]", "mean", top=ACCURACY)


REDUCE = """
import torch.distributed as dist

def world_size():
    return dist.get_world_size() if dist.is_initialized() else 1

def averaged(tensor):
    if not dist.is_initialized():
        return tensor
    tensor = tensor.detach().clone()
    dist.all_reduce(tensor)
    return tensor / world_size()

def agreed(tensor):
    tensor = tensor.detach().clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    return tensor
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("out.sum() * world_size()", "mean"),
        ("out.sum() * dist.get_world_size()", "mean"),
        ("averaged(out.mean())", "independent"),
        ("averaged(out.mean()).item()", "independent"),
        ("averaged(m.sum())", "count"),
        ("agreed(out.mean())", "independent"),
        ("agreed(m.sum())", "count"),
        ("len(x) * world_size()", "independent"),
        ("args.batch_size // world_size()", "count"),
    ],
)
def test_what_is_reduced_already(expression: str, expected: str) -> None:
    found = measured(expression, top=REDUCE)
    assert describe(found) == expected
    assert not found.pending


@pytest.mark.parametrize("move", ["cuda()", "double()"])
def test_a_tensor_that_may_be_moved_is_reduced_once(move: str) -> None:
    body = f"t = m.sum().detach()\nif args.alpha:\n    t = t.{move}\ndist.all_reduce(t)\nq = t"
    check(body, "independent", REDUCE)


def test_an_averaged_denominator_is_right() -> None:
    found = measured("(out.sum(1) * m).sum() / averaged(m.sum())", top=REDUCE)
    assert describe(found) == "mean"
    assert not found.pending


ATTENTION = """
import odd_library

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, x):
        states = []
        for row in x.unbind(1):
            states.append(torch.tanh(self.query(row)))
        q = torch.stack(states, 1)
        return {made}

attention = Attention()
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("q.flatten(1)", "samples"),
        ("odd_library.mix(q, x)", "unknown (nothing is known of odd_library.mix)"),
        ("q * x.abs().max()", "unknown ('max' looks at all samples of the batch at once)"),
    ],
)
def test_models_keep_samples_apart_where_that_is_shown(made: str, expected: str) -> None:
    found = measured("attention(x)", top=ATTENTION.replace("{made}", made))
    assert describe(found).startswith(expected)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("model(x).norm(2).pow(2)", "sum"),
        ("model(x).norm() ** 2", "sum"),
        ("torch.norm(model(x)).square() * 1.0", "unknown"),
        ("torch.norm(model(x), p=2).pow(2) / len(x)", "mean"),
        ("model(x).norm(1).pow(2)", "unknown"),
        ("model(x).norm(2).pow(3)", "unknown"),
        ("model(x).norm(dim=0).pow(2).sum()", "unknown"),
    ],
)
def test_squares_of_norms_are_sums(made: str, expected: str) -> None:
    assert describe(measured(made)).startswith(expected)


def test_functions_of_layer_packages_are_no_layers() -> None:
    """What a function of torch.nn.utils gives of outputs has no methods of a layer."""
    found = measured("torch.nn.utils.parameters_to_vector([model(x)]).norm()")
    assert describe(found).startswith("unknown (nothing is known of torch.nn.utils.")
    found = measured(
        "normed(x)", top="normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))"
    )
    assert describe(found).startswith("samples")


def test_models_that_compare_samples_are_found_out() -> None:
    top = """
class InBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)

    def forward(self, a, b):
        z = self.encoder(a)
        return F.cross_entropy(z @ self.encoder(b).t(), torch.arange(len(z)))

in_batch = InBatch()
"""
    check("in_batch(x, x)", "unknown (it compares", top=top)


def test_sequences_of_packed_length_are_selections() -> None:
    top = "from torch.nn.utils.rnn import pack_padded_sequence"
    body = (
        "packed = pack_padded_sequence(y, m, batch_first=True)[0]\n"
        "q = F.cross_entropy(packed, packed)"
    )
    check(body, "mean over a denominator that differs", top=top)


LAID_OUT = """
from torch.nn.utils.rnn import pad_sequence


def collate(samples):
    xs, ys = zip(*samples)
    {body}


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(24, 5, 4), torch.ones(24)), 12, collate_fn=collate)
for x in loader:
    loss = net({batch}).sum() / {count}
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "batch", "count", "kind"),
    [
        ("return torch.stack(xs), torch.tensor(ys)", "x[0]", "x[0].size(0)", 0),
        ("return torch.stack(xs), torch.tensor(ys)", "x[0]", "x[0].size(1)", 1),
        ("return torch.stack(xs, dim=1), torch.tensor(ys)", "x[0]", "x[0].size(1)", 0),
        ("return torch.stack(xs, dim=1), torch.tensor(ys)", "x[0]", "x[0].size(0)", 1),
        ("return torch.stack(xs, 1)", "x", "x.size(1)", 0),
        ("return pad_sequence(xs), torch.tensor(ys)", "x[0]", "x[0].shape[1]", 0),
        ("return pad_sequence(xs), torch.tensor(ys)", "x[0]", "len(x[1])", 0),
        ("return pad_sequence(xs, batch_first=True)", "x", "x.size(0)", 0),
        ("return torch.stack(xs).transpose(0, 1).float()", "x", "x.size(1)", 0),
        ("return torch.stack(xs).permute(2, 0, 1)", "x", "x.size(1)", 0),
        ("return {'x': torch.stack(xs, 1), 'y': ys}", "x['x']", "x['x'].size(1)", 0),
        (
            "out = torch.zeros(5, len(samples), 4)\n    out[:, 0] = 1\n    return out, ys",
            "x[0]",
            "x[0].size(1)",
            0,
        ),
    ],
)
def test_collate_function_decides_where_samples_are_counted(
    body: str, batch: str, count: str, kind: int
) -> None:
    head = SCRIPT.split("class WithLoss", 1)[0].replace("norm(dim=1", "norm(dim=-1")
    text = head + LAID_OUT.replace("{body}", body).replace("{batch}", batch).replace(
        "{count}", count
    )
    source = read_source(text.encode(), "train.py")
    facts = interpret(Project(source, None).entry, TABLE.dialect, lambda name, module: None)
    plan = build_plan(facts, TABLE, Options())
    (backward,) = plan.backwards
    found = quantity(plan, backward.loss)
    assert (found.kind, found.degree) == (Kind.PART, kind)


HELPERS = """\
import torchvision


def reduced(values, how="mean"):
    return values.sum() if how == "sum" else values.mean()


def handed(values, **more):
    return reduced(values, **more)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("((out - out.mean()) * (x - x.mean())).mean()", "unknown (it combines single samples"),
        ("(out.mean() / out).mean()", "unknown (it combines single samples"),
        ("out.mean().clamp(min=0.3)", "unknown ('clamp'"),
        ("torchvision.ops.sigmoid_focal_loss(out, x)", "samples"),
        ("torchvision.ops.sigmoid_focal_loss(out, x, reduction='mean')", "mean"),
        ("torch.einsum('nd,nd->d', out, x)", "sum"),
        ("torch.einsum('nd,nd->n', out, x)", "samples"),
        ("out[:len(out) // 2].mean()", "unknown (it takes samples of a batch by their place"),
        ("nn.BCEWithLogitsLoss(pos_weight=x.mean(0))(out, x)", "unknown (it combines"),
        ("F.binary_cross_entropy_with_logits(out, x, pos_weight=x.mean(0))", "unknown (it comb"),
        ("round(out.mean().item(), 2)", "unknown (it rounds"),
        ("F.mse_loss(out, x, size_average=False)", "sum"),
        ("F.mse_loss(out, x, reduce=False)", "samples"),
        ("out.sum() / out.abs().sum()", "unknown (its denominator depends on the samples"),
        ("(m.sum() if args.alpha else 1)", "unknown (it is a sum over the batch on one path"),
        ("torch.autograd.grad(out.mean(), x)[0].sum()", "mean"),
        ("torch.autograd.grad(out.mean(), x)[0].pow(2).mean()", "unknown (a power of"),
        ("torch.autograd.grad(out.sum(), x)[0].pow(2).mean()", "mean"),
        ("(x + torch.arange(len(x))[:, None]).mean()", "unknown (it computes with where each"),
        ("(out * torch.arange(len(x))[:, None]).mean()", "unknown (it computes with where each"),
        ("out[torch.arange(len(y)), y].mean()", "mean"),
        ("m.sum() / len(x) ** 2", "degree -1"),
        ("out[args.alpha :].mean()", "unknown (it takes samples of a batch by their place"),
        ("out[: int(args.alpha * len(x))].mean()", "unknown (it takes samples of a batch by their"),
        ("out[: len(x)].mean()", "mean"),
        ("out[: x.shape[0]].mean()", "mean"),
        ("out[None][:, 2:].mean()", "unknown (it takes samples of a batch by their place"),
        ("z = torch.cat([x, out])\nq = (z[: len(x)] - z[len(x) :]).mean()", "mean"),
        ("len(x) ** 2", "scaled count"),
        ("x[torch.arange(len(x) - 1, -1, -1)]", "unknown (it brings the samples"),
        ("out[torch.arange(1, len(x)), 0].mean()", "unknown (it brings the samples"),
        ("out[torch.arange(0, len(x)), y].mean()", "mean"),
        ("out.unsqueeze(0).flatten(0, 1).softmax(1)", "samples"),
        ("out.t().flatten(1).mean(1).pow(2).mean()", "unknown ('mean' looks along a dimension"),
        ("out.t().flatten(1).softmax(1).mean()", "unknown ('softmax' looks along a dimension"),
        ("torch.movedim(out, 0, -1).mean(-1).pow(2)", "unknown ('mean' looks along a dimension"),
        ("out.unsqueeze(1).transpose(0, -1).flip(-1)", "unknown (it brings the samples"),
        ("(out.t().flatten(1) - out).mean()", "unknown (it compares the samples"),
        ("out.sum() / out.t().flatten(1).size(0)", "unknown (the size that it takes may be"),
        ("m.sum() / y.size(-1)", "unknown (the size that it takes may be"),
        ("m.sum() / y.shape[-1]", "unknown (the size that it takes may be"),
        ("m.sum() / y.size(args.alpha)", "unknown (the size that it takes may be"),
        ("out.sum() / out.size(-1)", "sum"),
        ("out.sum() / out.shape[-1]", "sum"),
        ("m.softmax(-1).sum()", "unknown ('softmax' looks along the last dimension"),
        ("F.log_softmax(out, -1).mean()", "mean"),
        ("out.squeeze(-1).mean(-1).mean()", "mean"),
        ("torch.mean(torch.mean(out.squeeze(-1), -1))", "mean"),
        ("out.squeeze(-1).sum(-1).sum()", "sum"),
        ("out.squeeze(-1).mean(-1).sum()", "unknown ('mean' looks along the last dimension"),
        ("(out.squeeze(-1).mean(-1) * 2).mean()", "unknown ('mean' looks along the last"),
        ("sum(x.shape)", "unknown (it computes with the shape"),
        ("x.shape * 2", "unknown (it computes with the shape"),
        ("out.sum() // 2", "unknown (a quotient without its remainder of a number"),
        ("out.sum() / (len(x) // 5)", "unknown (a quotient without its remainder of something"),
        ("x.numel() // len(x)", "independent"),
        ("torch.unique(y).shape[0]", "unknown ('unique' looks at all samples"),
        ("max(range(3), key=lambda c: float(out.max()))", "unknown ('max' looks at all samples"),
        ("kept = torch.zeros(4)\nkept.add_(out.sum(0))\nq = kept.sum()", "sum"),
        *(
            (f"kept = {start}\nkept.add_(out.sum(0))\nq = kept.sum()", "sum")
            for start in (
                "torch.zeros(4).cuda()",
                "torch.tensor([0.0] * 4)",
                "x.new_zeros(4)",
                "torch.full((4,), 0.0)",
                "weights.clone().zero_()",
                "torch.zeros_like(weights).detach()",
            )
        ),
        *(
            (f"kept = {start}\nkept.add_(out.sum(0))\nq = kept.sum()", "unknown (sums over the")
            for start in (
                "torch.ones(4)",
                "F.normalize(weights, dim=0)",
                "torch.tensor([0.0, 0.0, 0.0, 1.0])",
                "torch.full((4,), args.alpha)",
                "weights.clone()",
                "torch.randn(4).cuda()",
            )
        ),
        ("kept = torch.ones(4)\nkept.mul_(0.9).add_(out.mean(0))\nq = kept.sum()", "mean"),
        ("kept = torch.zeros(4)\nkept.mul_(0.9).add_(out.mean(0))\nq = kept.sum()", "mean"),
        ("kept = torch.zeros(4)\nkept.copy_(out.max(0)[0])\nq = kept.sum()", "unknown ('max'"),
        ("kept = torch.zeros(4)\nkept[0] += len(x)\nq = kept.sum()", "sum"),
        (
            "kept = torch.zeros(4)\nkept[0] += len(x)\nkept[1] += out.sum().item()\nq = kept.sum()",
            "unknown (it holds numbers of one process beside",
        ),
        (
            "kept = x.clone()\nkept[0] = 0\nq = kept.mean()",
            "unknown (it takes samples of a batch by",
        ),
        ("kept = x.clone()\nkept[:, 0] = 0\nq = kept.mean()", "mean"),
        (
            "seen = set()\nfor label in y.tolist():\n    seen.add(label)\nq = len(seen)",
            "unknown (the samples of this process alone decide",
        ),
    ],
)
def test_each_of_these_rests_on_one_line_of_the_analysis(expression: str, expected: str) -> None:
    check(expression, expected, HELPERS)


WHERE_NEEDED = "options = {}\nif args.alpha:\n    options['how'] = 'sum'\n"


@pytest.mark.parametrize(
    "body",
    [
        WHERE_NEEDED + "q = reduced(out, **options)",
        WHERE_NEEDED + "q = handed(out, **options)",
        WHERE_NEEDED + "others = {}\nothers.update(options)\nq = reduced(out, **others)",
        WHERE_NEEDED + "q = F.mse_loss(out, x, reduction=options.get('how', 'mean'))",
        "options = {'how': 'sum'} if args.alpha else {}\nq = reduced(out, **options)",
        WHERE_NEEDED.replace("how", "reduction") + "q = F.mse_loss(out, x, **options)",
        WHERE_NEEDED.replace("how", "reduction") + "q = nn.MSELoss(**options)(out, x)",
    ],
)
def test_an_argument_that_may_be_absent_leaves_its_default(body: str) -> None:
    assert measured(body, HELPERS).kind is Kind.UNKNOWN


def test_a_weight_that_may_be_absent_is_none_on_one_path() -> None:
    body = "options = {}\nif args.alpha:\n    options['weight'] = weights\n"
    found = measured(body + "q = F.cross_entropy(out, y, **options)")
    assert "weights on one path" in found.reason


def test_a_dict_that_is_shared_is_what_it_was_at_each_call() -> None:
    made = "options = {'how': 'mean'}\n"
    changed = "options['how'] = 'sum'\n"
    check(made + "q = reduced(out, **options)\n" + changed + "reduced(out, **options)", "mean",
          HELPERS)  # fmt: skip
    check(made + "reduced(out, **options)\n" + changed + "q = reduced(out, **options)", "sum",
          HELPERS)  # fmt: skip
