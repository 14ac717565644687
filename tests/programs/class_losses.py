"""Losses of programs that learn classes; see :mod:`.losses` for the letters."""

from __future__ import annotations

CLASSES: dict[str, list[str]] = {
    "cross_entropy": ["L = F.cross_entropy(O, Y)"],
    "cross_entropy_module": ["|criterion = nn.CrossEntropyLoss()", "L = criterion(O, Y)"],
    "cross_entropy_sum": ["L = F.cross_entropy(O, Y, reduction='sum')"],
    "sum_over_size": ["L = F.cross_entropy(O, Y, reduction='sum') / Y.size(0)"],
    "sum_over_len": ["L = nn.CrossEntropyLoss(reduction='sum')(O, Y) / len(X)"],
    "sum_over_constant": ["L = F.cross_entropy(O, Y, reduction='sum') / B"],
    "none_mean": ["L = F.cross_entropy(O, Y, reduction='none').mean()"],
    "weighted": [
        "|weight = torch.tensor([1.0, 2.0, 0.5])",
        "L = F.cross_entropy(O, Y, weight=weight)",
    ],
    "weighted_module": [
        "|criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 3.0]))",
        "L = criterion(O, Y)",
    ],
    "ignored_class": ["L = F.cross_entropy(O, Y, ignore_index=2)"],
    "ignored_class_module": [
        "|criterion = nn.CrossEntropyLoss(ignore_index=0)",
        "L = criterion(O, Y)",
    ],
    "smoothed": ["|criterion = nn.CrossEntropyLoss(label_smoothing=0.1)", "L = criterion(O, Y)"],
    "nll": ["L = F.nll_loss(F.log_softmax(O, dim=1), Y)"],
    "nll_by_hand": ["L = -torch.log_softmax(O, -1)[torch.arange(len(Y)), Y].mean()"],
    "gathered": ["L = -O.log_softmax(1).gather(1, Y.unsqueeze(1)).squeeze(1).mean()"],
    "probabilities": [
        "|criterion = nn.CrossEntropyLoss()",
        "L = criterion(O, F.one_hot(Y, 3).double())",
    ],
    "probabilities_weighted": [
        "|criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))",
        "L = criterion(O, F.one_hot(Y, 3).double())",
    ],
    "margin": ["L = F.multi_margin_loss(O, Y)"],
    "focal": [
        "ce = F.cross_entropy(O, Y, reduction='none')",
        "L = ((1 - torch.exp(-ce)) ** 2 * ce).mean()",
    ],
    "focal_of_mean": ["ce = F.cross_entropy(O, Y)", "L = (1 - torch.exp(-ce)) ** 2 * ce"],
    "focal_by_positives": [
        "ce = F.cross_entropy(O, Y, reduction='none')",
        "n_pos = (Y == 0).sum()",
        "L = ((1 - torch.exp(-ce)) ** 2 * ce).sum() / n_pos.clamp(min=1)",
    ],
    "masked": ["mask = Y != 2", "L = F.cross_entropy(O[mask], Y[mask])"],
    "masked_mean": [
        "mask = (Y > 0).double()",
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (ls * mask).sum() / mask.sum()",
    ],
    "masked_guarded": [
        "mask = (Y == 1).double()",
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (ls * mask).sum() / mask.sum().clamp(min=1.0)",
    ],
    "masked_max_item": [
        "mask = Y == 1",
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "n = mask.sum().item()",
        "L = ls[mask].sum() / max(n, 1)",
    ],
    "masked_if_zero": [
        "mask = Y == 1",
        "n = int(mask.sum())",
        "if n == 0:",
        "    n = 1",
        "L = (F.cross_entropy(O, Y, reduction='none') * mask).sum() / n",
    ],
    "masked_epsilon": [
        "mask = (Y != 1).double()",
        "L = (F.cross_entropy(O, Y, reduction='none') * mask).sum() / (mask.sum() + 1e-8)",
    ],
    "masked_mean_of_all": [
        "mask = (Y != 1).double()",
        "L = (F.cross_entropy(O, Y, reduction='none') * mask).mean()",
    ],
    "hard_mining": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = ls.topk(max(1, len(ls) // 2))[0].mean()",
    ],
    "hard_sorted": [
        "ls, _ = F.cross_entropy(O, Y, reduction='none').sort(descending=True)",
        "L = ls[:6].mean()",
    ],
    "above_mean": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = ls[ls > ls.mean().detach()].mean()",
    ],
    "above_threshold": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (ls * (ls > 0.9)).sum() / len(ls)",
    ],
    "softened": ["L = torch.logsumexp(F.cross_entropy(O, Y, reduction='none'), 0)"],
    "maximum": ["L = F.cross_entropy(O, Y, reduction='none').max()"],
    "median": ["L = F.cross_entropy(O, Y, reduction='none').median()"],
    "trimmed": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = ls[ls <= torch.quantile(ls.detach(), 0.8)].mean()",
    ],
    "root": ["L = F.cross_entropy(O, Y).sqrt()"],
    "squared": ["L = F.cross_entropy(O, Y) ** 2"],
    "clamped": ["L = F.cross_entropy(O, Y).clamp(max=1.05)"],
    "clamped_samples": ["L = F.cross_entropy(O, Y, reduction='none').clamp(max=1.5).mean()"],
    "flooded": ["L = (F.cross_entropy(O, Y) - 0.9).abs() + 0.9"],
    "bounded_max": ["L = torch.maximum(F.cross_entropy(O, Y), torch.tensor(1.02))"],
    "class_means": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = sum(ls[Y == c].mean() for c in range(3) if (Y == c).any())",
    ],
    "scattered": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "per = torch.zeros(3).scatter_add(0, Y, ls)",
        "L = (per / torch.bincount(Y, minlength=3).clamp(min=1)).mean()",
    ],
    "balanced": [
        "counts = torch.bincount(Y, minlength=3).double()",
        "w = counts.sum() / (3 * counts.clamp(min=1))",
        "L = (F.cross_entropy(O, Y, reduction='none') * w[Y]).mean()",
    ],
    "sample_weights": [
        "sw = 1.0 / (1.0 + Y.double())",
        "L = (sw * F.cross_entropy(O, Y, reduction='none')).sum() / sw.sum()",
    ],
    "normalised_weights": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (torch.softmax(ls.detach(), 0) * ls).sum()",
    ],
    "confidence_weighted": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (O.detach().softmax(1).max(1)[0] * ls).mean()",
    ],
    "dice": [
        "p, g = O.softmax(1), F.one_hot(Y, 3).double()",
        "L = 1 - (2 * (p * g).sum() + 1) / (p.sum() + g.sum() + 1)",
    ],
    "dice_by_sample": [
        "p, g = O.softmax(1), F.one_hot(Y, 3).double()",
        "L = (1 - (2 * (p * g).sum(1) + 1) / (p.sum(1) + g.sum(1) + 1)).mean()",
    ],
    "one_hot_squares": ["L = ((O.softmax(-1) - F.one_hot(Y, 3)) ** 2).sum(1).mean()"],
    "loop_over_samples": [
        "L = 0",
        "for k in range(len(Y)):",
        "    L = L + F.cross_entropy(O[k:k + 1], Y[k:k + 1])",
        "L = L / len(Y)",
    ],
    "loop_without_mean": ["L = sum(F.cross_entropy(o[None], c[None]) for o, c in zip(O, Y))"],
    "loop_over_classes": [
        "L = 0.0",
        "for c in range(3):",
        "    L = L + F.binary_cross_entropy_with_logits(O[:, c], (Y == c).double()) / 3",
    ],
    "contrastive": [
        "z = F.normalize(O, dim=1)",
        "sim = z @ z.t() / 0.5",
        "same = Y[:, None] == Y[None, :]",
        "L = F.binary_cross_entropy_with_logits(sim, same.double())",
    ],
    "centroids": [
        "mu = torch.stack([O[Y == c].mean(0) if (Y == c).any() else O.mean(0) for c in range(3)])",
        "L = F.cross_entropy(-torch.cdist(O, mu), Y)",
    ],
    "function": [
        "|def criterion(o, c):",
        "|    return -(F.log_softmax(o, 1) * F.one_hot(c, 3)).sum(1).mean()",
        "|",
        "L = criterion(O, Y)",
    ],
    "function_reduction": [
        "|def criterion(o, c, reduction='mean'):",
        "|    ls = F.cross_entropy(o, c, reduction='none')",
        "|    if reduction == 'mean':",
        "|        return ls.mean()",
        "|    return ls.sum() if reduction == 'sum' else ls",
        "|",
        "L = criterion(O, Y, reduction=R)",
    ],
    "class_of_loss": [
        "|class Smooth(nn.Module):",
        "|    def __init__(self, eps=0.1):",
        "|        super().__init__()",
        "|        self.eps = eps",
        "|",
        "|    def forward(self, o, c):",
        "|        lp = F.log_softmax(o, dim=-1)",
        "|        nll = -lp.gather(-1, c[:, None]).squeeze(-1)",
        "|        return ((1 - self.eps) * nll + self.eps * -lp.mean(-1)).mean()",
        "|",
        "|criterion = Smooth()",
        "L = criterion(O, Y)",
    ],
    "mixup": [
        "L = 0.7 * F.cross_entropy(O, Y) + 0.3 * F.cross_entropy(O, Y.flip(0))",
    ],
    "two_halves": ["L = F.cross_entropy(O[::2], Y[::2]) + 0.5 * F.cross_entropy(O[1::2], Y[1::2])"],
    "first_half": ["L = F.cross_entropy(O[: len(O) // 2], Y[: len(Y) // 2])"],
    "mean_entropy": [
        "q = O.softmax(1).mean(0)",
        "L = F.cross_entropy(O, Y) + 0.1 * (q * q.log()).sum()",
    ],
    "guarded_entropy": [
        "ent = -(O.softmax(1) * O.log_softmax(1)).sum(1).mean()",
        "L = F.cross_entropy(O, Y) + torch.clamp(ent, min=1.08)",
    ],
    "relu_margin": ["L = F.relu(F.cross_entropy(O, Y, reduction='none') - 0.3).mean()"],
    "relu_of_mean": ["L = F.relu(F.cross_entropy(O, Y) - 1.05) + 0.1 * O.pow(2).mean()"],
    "divided_by_itself": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = ls.mean() / (ls.detach().mean() + 1e-6)",
    ],
    "detached_scale": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = (ls * ls.detach()).mean()",
    ],
    "variance": [
        "ls = F.cross_entropy(O, Y, reduction='none')",
        "L = ls.mean() + 0.5 * ls.var()",
    ],
    "exponent": ["L = torch.exp(F.cross_entropy(O, Y))"],
    "uncertainty": ["L = F.cross_entropy(O, Y) * 0.5 + math.log(2.0)"],
    "nan_guard": [
        "L = F.cross_entropy(O, Y)",
        "if torch.isnan(L):",
        "    continue",
    ],
    "skip_small": [
        "L = F.cross_entropy(O, Y)",
        "if L.item() < 1.05:",
        "    continue",
    ],
    "skip_without_class": [
        "if not (Y == 1).any():",
        "    continue",
        "L = F.cross_entropy(O, Y)",
    ],
}
