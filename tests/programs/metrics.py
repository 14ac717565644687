"""What programs count while they train, what they keep, and what they decide by it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .choices import Choices
from .text import marked


@dataclass
class Metric:
    """Something that is counted over the batches of a pass.

    Args:
        construct: its production.
        start: before the pass.
        update: after each batch; ``L``, ``O``, ``Y``, ``X`` stand for the values there.
        value: what it says after the pass.
        before: what must be defined before the loop.
    """

    construct: str
    start: list[str]
    update: list[str]
    value: str
    before: list[str] = field(default_factory=list)


METER = [
    "class AverageMeter:",
    "    def __init__(self):",
    "        self.sum, self.count = 0.0, 0",
    "",
    "    def update(self, value, n=1):",
    "        self.sum += value * n",
    "        self.count += n",
    "",
    "    @property",
    "    def avg(self):",
    "        return self.sum / max(1, self.count)",
    "",
    "",
]

#: Of any loss: start, updates, value; ``Q`` is a name of its own for each metric.
OF_LOSSES: dict[str, tuple[list[str], list[str], str]] = {
    "mean_of_batches": (["Q = 0.0"], ["Q += L.item()"], "Q / len(G)"),
    "by_samples": (
        ["Q = 0.0", "seen = 0"],
        ["Q += L.item() * len(X)", "seen += len(X)"],
        "Q / seen",
    ),
    "by_dataset": (["Q = 0"], ["Q += L.item() * X.size(0)"], "Q / len(D)"),
    "by_number": (["Q = 0"], ["Q += float(L) * X.shape[0]"], "Q / N"),
    "list_mean": (["Q = []"], ["Q.append(L.item())"], "sum(Q) / len(Q)"),
    "tensor_list": (["Q = []"], ["Q.append(L.detach())"], "torch.stack(Q).mean().item()"),
    "tensor_sum": (["Q = torch.zeros(())"], ["Q += L.detach()"], "Q.item() / len(G)"),
    "rebinding": (["Q = 0"], ["Q = Q + L.detach()"], "float(Q)"),
    "last": (["Q = None"], ["Q = L.item()"], "Q"),
    "maximum": (["Q = 0.0"], ["Q = max(Q, L.item())"], "Q"),
    "smoothed": (["Q = 1.0"], ["Q = 0.9 * Q + 0.1 * L.item()"], "Q"),
    "meter": (["Q = AverageMeter()"], ["Q.update(L.item(), X.size(0))"], "Q.avg"),
    "enumerated_mean": (["Q, k = 0.0, 0"], ["k += 1", "Q += (L.item() - Q) / k"], "Q"),
    "squares": (["Q = 0.0"], ["Q += L.item() ** 2"], "Q"),
    "dict": (
        ["Q = {'loss': 0.0, 'n': 0}"],
        ["Q['loss'] += L.item()", "Q['n'] += 1"],
        "Q['loss'] / Q['n']",
    ),
}

OF_OUTPUTS: dict[str, tuple[list[str], list[str], str]] = {
    "output_mean": (["Q = 0.0"], ["Q += O.mean().item()"], "Q / len(G)"),
    "output_abs_max": (["Q = 0.0"], ["Q = max(Q, O.abs().max().item())"], "Q"),
    "output_norm": (["Q = []"], ["Q.append(O.detach().norm().item())"], "Q[-1]"),
    "output_sum": (["Q = 0.0"], ["Q += O.detach().sum().item()"], "Q"),
    "output_std": (["Q = 0.0"], ["Q += O.std().item()"], "Q / len(G)"),
    "collected": (["Q = []"], ["Q.extend(O.detach().flatten().tolist())"], "sum(Q) / len(Q)"),
    "collected_length": (["Q = []"], ["Q += O.tolist()"], "len(Q)"),
    "concatenated": (["Q = []"], ["Q.append(O.detach())"], "torch.cat(Q).std().item()"),
}

OF_CLASSES: dict[str, tuple[list[str], list[str], str]] = {
    "accuracy": (
        ["Q, total = 0, 0"],
        ["Q += (O.argmax(1) == Y).sum().item()", "total += Y.size(0)"],
        "Q / total",
    ),
    "accuracy_percent": (
        ["Q = 0"],
        ["_, predicted = torch.max(O, 1)", "Q += predicted.eq(Y).sum().item()"],
        "100.0 * Q / len(D)",
    ),
    "accuracy_mean": (
        ["Q = 0.0"],
        ["Q += (O.argmax(dim=-1) == Y).double().mean().item()"],
        "Q / len(G)",
    ),
    "accuracy_tensor": (
        ["Q = 0"],
        ["Q += torch.sum(O.max(1)[1] == Y.data)"],
        "Q.double().item() / len(D)",
    ),
    "accuracy_lists": (
        ["Q, truth = [], []"],
        ["Q.extend(O.argmax(1).tolist())", "truth.extend(Y.tolist())"],
        "sum(a == b for a, b in zip(Q, truth)) / len(truth)",
    ),
    "confusion": (
        ["Q = torch.zeros(3, 3, dtype=torch.long)"],
        ["for a, b in zip(Y, O.argmax(1)):", "    Q[a, b] += 1"],
        "Q.tolist()",
    ),
    "confusion_index_add": (
        ["Q = torch.zeros(9)"],
        ["Q += torch.bincount(Y * 3 + O.argmax(1), minlength=9)"],
        "Q.tolist()",
    ),
    "wrong": (["Q = []"], ["Q += [int(c) for c in Y[O.argmax(1) != Y]]"], "len(Q)"),
    "precision": (
        ["Q, fp = 0, 0"],
        [
            "p = O.argmax(1)",
            "Q += ((p == 1) & (Y == 1)).sum().item()",
            "fp += ((p == 1) & (Y != 1)).sum().item()",
        ],
        "Q / max(1, Q + fp)",
    ),
    "class_counts": (
        ["Q = [0, 0, 0]"],
        ["for c in Y.tolist():", "    Q[c] += 1"],
        "Q",
    ),
    "counter": (["Q = Counter()"], ["Q.update(Y.tolist())"], "sorted(Q.items())"),
    "top2": (
        ["Q = 0"],
        ["Q += (O.topk(2, dim=1)[1] == Y[:, None]).any(1).sum().item()"],
        "Q / len(D)",
    ),
}


def metrics_of(choices: Choices, place: str, kind: str, most: int) -> list[Metric]:
    """Some metrics for a kind of target."""
    found = []
    for number in range(choices.number(f"{place}.count", *range(most + 1))):
        table = dict(OF_LOSSES)
        if number:
            table = {**OF_OUTPUTS, **(OF_CLASSES if kind == "classes" else {})}
        which = choices.pick(f"{place}.{number}", list(table))
        start, update, value = table[which]
        own = f"{choices.pick(f'name.{place}.{number}', ('running', 'tot', 'acc', 'stat'))}{number}"
        construct = f"{place}={which}"
        found.append(
            Metric(
                construct,
                marked(construct, (line.replace("Q", own) for line in start)),
                marked(construct, (line.replace("Q", own) for line in update)),
                value.replace("Q", own),
                METER if which == "meter" else [],
            )
        )
    return found


@dataclass
class State:
    """What a program keeps over its batches.

    Args:
        before: before the loop.
        adjust: after the loss and before the backward pass; ``L`` may change.
        after: after the step.
        end: after the training.
        early: before the model is called.
    """

    before: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    adjust: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)


#: before, early, adjust, after, end.
STATES: dict[str, tuple[list[str], list[str], list[str], list[str], list[str]]] = {
    "ema_model": (
        ["ema = copy.deepcopy(M)"],
        [],
        [],
        [
            "with torch.no_grad():",
            "    for a, b in zip(ema.parameters(), M.parameters()):",
            "        a.mul_(0.9).add_(b, alpha=0.1)",
        ],
        ["torch.save(ema.state_dict(), 'ema.pt')"],
    ),
    "ema_dict": (
        ["shadow = {k: v.clone() for k, v in M.state_dict().items()}"],
        [],
        [],
        [
            "for k, v in M.state_dict().items():",
            "    shadow[k] = 0.9 * shadow[k] + 0.1 * v.detach()",
        ],
        ["torch.save(shadow, 'shadow.pt')"],
    ),
    "swa": (
        ["average = torch.optim.swa_utils.AveragedModel(M)"],
        [],
        [],
        ["average.update_parameters(M)"],
        ["torch.save(average.module.state_dict(), 'swa.pt')"],
    ),
    "teacher": (
        [
            "teacher = copy.deepcopy(M).eval()",
            "for p in teacher.parameters():",
            "    p.requires_grad_(False)",
        ],
        [],
        ["with torch.no_grad():", "    soft = TEACHER(X)", "L = L + 0.3 * F.mse_loss(O, soft)"],
        [],
        [],
    ),
    "output_mean_buffer": (
        ["center = torch.zeros(())"],
        [],
        ["L = L + 0.1 * (O.mean() - center).pow(2)"],
        ["center.mul_(0.9).add_(O.detach().mean(), alpha=0.1)"],
        ["print('center', center.item())"],
    ),
    "output_mean_float": (
        ["center = 0.0"],
        [],
        ["L = L + 0.1 * (O - center).pow(2).mean()"],
        ["center = 0.9 * center + 0.1 * O.mean().item()"],
        ["print('center', center)"],
    ),
    "loss_average": (
        ["usual = None"],
        [],
        [],
        ["usual = L.item() if usual is None else 0.8 * usual + 0.2 * L.item()"],
        ["print('usual', usual)"],
    ),
    "loss_scaled_by_average": (
        ["usual = 1.0"],
        [],
        ["L = L / usual"],
        ["usual = 0.9 * usual + 0.1 * L.item() * usual"],
        [],
    ),
    "rate_by_loss": (
        ["lowest = float('inf')"],
        [],
        [],
        [
            "if L.item() < lowest:",
            "    lowest = L.item()",
            "else:",
            "    for g in W.param_groups:",
            "        g['lr'] *= 0.9",
        ],
        ["print('lowest', lowest)"],
    ),
    "samples_seen": (
        ["seen_samples = 0"],
        [],
        [],
        ["seen_samples += len(X)"],
        ["print('samples', seen_samples)"],
    ),
    "replayed": (
        ["memory = deque(maxlen=2)"],
        [],
        ["if memory:", "    old_x, old_y = memory[0]", "    L = L + 0.2 * RELOSS"],
        ["memory.append((X.detach(), Y))"],
        [],
    ),
    "history": (
        ["history = []"],
        [],
        [],
        ["history.append(round(L.item(), 6))"],
        ["print(history)"],
    ),
    "history_file": (
        ["history = []"],
        [],
        [],
        ["history.append({'loss': L.item(), 'n': len(X)})"],
        ["with open('history.json', 'w') as f:", "    json.dump(history, f)"],
    ),
    "largest_input": (
        ["largest = 0.0"],
        [],
        [],
        ["largest = max(largest, X.abs().max().item())"],
        ["print('largest', largest)"],
    ),
    "class_counts_weight": (
        ["seen_counts = torch.ones(3)"],
        [],
        ["L = L * (seen_counts.max() / seen_counts.sum())"],
        ["seen_counts += torch.bincount(Y.flatten().clamp(min=0).long(), minlength=3)[:3]"],
        ["print(seen_counts.tolist())"],
    ),
    "gradient_norm": (
        ["norms = []"],
        [],
        [],
        ["norms.append(sum(p.grad.norm().item() for p in M.parameters() if p.grad is not None))"],
        ["print('norms', norms[-1], max(norms))"],
    ),
    "weights_clamped": (
        [],
        [],
        [],
        ["with torch.no_grad():", "    for p in M.parameters():", "        p.clamp_(-1.5, 1.5)"],
        [],
    ),
    "step_counter": (
        ["global_step = 0"],
        [],
        [],
        ["global_step += 1", "if global_step % 2 == 0:", "    print('at', global_step, L.item())"],
        [],
    ),
    "batch_print": ([], [], [], ["print(f'{L.item():.5f}')"], []),
    "tensor_print": ([], [], [], ["print('loss', L)"], []),
    "input_print": ([], [], [], ["print(X.sum().item(), tuple(X.shape))"], []),
    "written_rows": (
        ["table = open('rows.csv', 'w', newline='')", "writer = csv.writer(table)"],
        [],
        [],
        ["writer.writerow([L.item(), len(X)])"],
        ["table.close()"],
    ),
    "written_outputs": (
        ["kept = []"],
        [],
        [],
        ["kept.append(O.detach())"],
        ["torch.save(torch.cat(kept), 'outputs.pt')"],
    ),
    "hardest": (
        ["hardest = []"],
        [],
        [],
        [
            "hardest += [(float(v), int(k)) for k, v in enumerate(O.detach().flatten(1).sum(1))]",
            "hardest = sorted(hardest)[-3:]",
        ],
        ["print([round(v, 6) for v, _ in hardest])"],
    ),
    "patience_in_batches": (
        ["bad, best_batch = 0, float('inf')"],
        [],
        [],
        [
            "if L.item() < best_batch - 1e-3:",
            "    best_batch, bad = L.item(), 0",
            "else:",
            "    bad += 1",
            "if bad > 2:",
            "    break",
        ],
        [],
    ),
}


def _assigned(lines: list[str]) -> list[str]:
    return [line.partition(" = ")[0] for line in lines if " = " in line]


def state_of(choices: Choices, kind: str, simple_target: bool) -> State:
    """What the program keeps, if anything."""
    state = State()
    if not choices.chance("state.some", 0.35):
        return state
    for number in range(choices.number("state.count", 1, 2)):
        allowed = [
            name
            for name in STATES
            if (name != "class_counts_weight" or kind == "classes")
            and (name != "replayed" or simple_target)
        ]
        which = choices.pick(f"state.{number}", allowed)
        parts = [marked(f"state={which}", lines) for lines in STATES[which]]
        if set(_assigned(parts[0])) & set(_assigned(state.before)):
            continue
        state.before += parts[0]
        state.early += parts[1]
        state.adjust += parts[2]
        state.after += parts[3]
        state.end += parts[4]
    return state
