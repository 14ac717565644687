"""Programs of other shapes than one model, one loss, one loop."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .choices import Choices
from .text import marked

TOP = [
    "import torch",
    "import torch.nn as nn",
    "import torch.nn.functional as F",
    "from torch.utils.data import DataLoader, TensorDataset",
    "",
    "torch.set_default_dtype(torch.float64)",
    "torch.manual_seed(0)",
    "",
]

DATA = [
    "X = torch.randn(36, 5)",
    "Y = torch.randint(0, 3, (36,))",
    "loader = DataLoader(TensorDataset(X, Y), batch_size=12SHUFFLE)",
]


@dataclass(frozen=True)
class Template:
    """A shape of program.

    Args:
        lines: its text after the imports; ``<name>`` stands for a choice.
        options: the options of each choice, the simplest first.
    """

    lines: tuple[str, ...]
    options: dict[str, tuple[str, ...]]


TEMPLATES = {
    "gan": Template(
        (
            *DATA,
            "G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))",
            "D = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))",
            "opt_g = torch.optim.<optimizer>(G.parameters(), lr=1e-2)",
            "opt_d = torch.optim.<optimizer>(D.parameters(), lr=1e-2)",
            "noises = torch.randn(36, 4)",
            "for epoch in range(2):",
            "    for i, (real, _) in enumerate(loader):",
            "        z = <noise>",
            "        fake = G(z)",
            "        d_loss = <d_loss>",
            "        opt_d.zero_grad()",
            "        d_loss.backward()",
            "        opt_d.step()",
            "        <twice>",
            "        g_loss = <g_loss>",
            "        opt_g.zero_grad()",
            "        g_loss.backward()",
            "        opt_g.step()",
            "        print(i, d_loss.item(), g_loss.item())",
            "torch.save({'g': G.state_dict(), 'd': D.state_dict()}, 'final.pt')",
        ),
        {
            "optimizer": ("SGD", "Adam"),
            "noise": ("real[:, :4] * 0.5", "torch.randn(real.size(0), 4)", "noises[:len(real)]"),
            "d_loss": (
                "F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()",
                "D(fake.detach()).mean() - D(real).mean()",
                "F.binary_cross_entropy_with_logits(D(real), torch.ones(real.size(0), 1)) + "
                "F.binary_cross_entropy_with_logits(D(fake.detach()), torch.zeros(len(real), 1))",
                "F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()",
                "F.softplus(D(fake.detach()).mean() - D(real)).mean()",
            ),
            "twice": (
                "pass",
                "fake = G(z)",
                "for p in D.parameters(): p.data.clamp_(-0.3, 0.3)",
            ),
            "g_loss": (
                "F.softplus(-D(fake)).mean()",
                "-D(fake).mean()",
                "F.softplus(-D(fake)).mean() + (fake.mean(0) - real.mean(0)).pow(2).sum()",
                "F.softplus(-D(G(z))).mean()",
            ),
        },
    ),
    "vae": Template(
        (
            "class VAE(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.enc = nn.Linear(5, 8)",
            "        self.mu, self.logvar = nn.Linear(8, 2), nn.Linear(8, 2)",
            "        self.dec = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 5))",
            "    def forward(self, x):",
            "        h = torch.relu(self.enc(x))",
            "        mu, logvar = self.mu(h), self.logvar(h)",
            "        z = <sample>",
            "        return self.dec(z), mu, logvar",
            *DATA,
            "model = VAE()",
            "opt = torch.optim.Adam(model.parameters(), lr=1e-2)",
            "for epoch in range(2):",
            "    total = 0",
            "    for x, _ in loader:",
            "        recon, mu, logvar = model(x)",
            "        rec = <rec>",
            "        kl = <kl>",
            "        loss = <whole>",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "        total += loss.item()",
            "    print(epoch, <report>)",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "sample": ("mu", "mu + 0.1 * torch.exp(0.5 * logvar)"),
            "rec": (
                "F.mse_loss(recon, x)",
                "F.mse_loss(recon, x, reduction='sum')",
                "F.mse_loss(recon, x, reduction='none').sum(1).mean()",
                "F.l1_loss(recon, x, reduction='sum') / x.size(0)",
            ),
            "kl": (
                "-0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())",
                "-0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp())",
                "(-0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1)).mean()",
                "torch.clamp(-0.5 * (1 + logvar - mu ** 2 - logvar.exp()).mean(0), min=0.1).sum()",
                "-0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp()) / len(x)",
            ),
            "whole": (
                "rec + kl",
                "rec + 0.1 * kl",
                "rec + min(1.0, 0.3 * (epoch + 1)) * kl",
                "rec + 0.5 * (kl - 0.4).abs()",
            ),
            "report": ("total / len(loader)", "total / len(loader.dataset)", "total"),
        },
    ),
    "two_views": Template(
        (
            "class Encoder(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))",
            "        self.temperature = nn.Parameter(torch.tensor(0.5))",
            "    def forward(self, a<second>):",
            "        return <encoded>",
            *DATA,
            "model = Encoder()",
            "opt = torch.optim.SGD(model.parameters(), lr=0.05)",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        <calls>",
            "        loss = <loss>",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "    print(epoch, loss.item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "second": ("",),
            "encoded": (
                "self.net(a)",
                "F.normalize(self.net(a), dim=-1)",
                "self.net(a) / self.temperature.exp()",
            ),
            "calls": (
                "u, v = model(x), model(x.flip(1))",
                "u, v = model(torch.cat([x, x * 1.1])).chunk(2)",
                "u, v = model(x), model(x + 0.1).detach()",
                "u = model(x); v = model(u.repeat(1, 2)[:, :5])",
            ),
            "loss": (
                "(u - v).pow(2).sum(1).mean()",
                "F.cross_entropy(u @ v.t() / 0.5, torch.arange(len(x)))",
                "-F.cosine_similarity(u, v, dim=-1).mean()",
                "F.triplet_margin_loss(u, v, v.roll(1, 0))",
                "F.triplet_margin_loss(u, v, u.flip(1))",
                "F.cosine_embedding_loss(u, v, 2.0 * (y > 0).double() - 1)",
                "(torch.corrcoef((u + v).t()) - torch.eye(4)).pow(2).mean()",
                "F.margin_ranking_loss(u[:, 0], v[:, 0], 2.0 * (y > 0).double() - 1, margin=0.1)",
                "F.mse_loss(u, v) + F.relu(1 - torch.sqrt(u.var(0) + 1e-4)).mean()",
            ),
        },
    ),
    "encoder_decoder": Template(
        (
            *DATA,
            "encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh())",
            "decoder = nn.Linear(8, 5)",
            "head = nn.Linear(8, 3)",
            "opt = torch.optim.Adam(<parameters>, lr=1e-2)",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        opt.zero_grad()",
            "        h = encoder(x)",
            "        loss = <loss>",
            "        loss.backward()",
            "        opt.step()",
            "    print(loss.item())",
            "for k, m in enumerate([encoder, decoder, head]):",
            "    torch.save(m.state_dict(), f'm{k}.pt')",
        ),
        {
            "parameters": (
                "[*encoder.parameters(), *decoder.parameters(), *head.parameters()]",
                "list(encoder.parameters()) + list(decoder.parameters()) + list(head.parameters())",
                "nn.ModuleList([encoder, decoder, head]).parameters()",
                "[{'params': encoder.parameters()}, {'params': decoder.parameters(), 'lr': 1e-3}, "
                "{'params': head.parameters()}]",
            ),
            "loss": (
                "F.mse_loss(decoder(h), x) + F.cross_entropy(head(h), y)",
                "F.mse_loss(decoder(h), x) + F.cross_entropy(head(h.detach()), y)",
                "F.mse_loss(decoder(h), x) * F.cross_entropy(head(h), y)",
                "F.mse_loss(decoder(h), x) if epoch == 0 else F.cross_entropy(head(h), y)",
                "F.mse_loss(decoder(h), x, reduction='sum') + F.cross_entropy(head(h), y)",
                "torch.stack([F.mse_loss(decoder(h), x), F.cross_entropy(head(h), y)]).max()",
            ),
        },
    ),
    "closure": Template(
        (
            *DATA,
            "model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))",
            "opt = torch.optim.<optimizer>",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        def closure():",
            "            opt.zero_grad()",
            "            loss = <loss>",
            "            loss.backward()",
            "            return loss",
            "        loss = opt.step(closure)",
            "        print(loss.item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "optimizer": (
                "SGD(model.parameters(), lr=0.1)",
                "LBFGS(model.parameters(), max_iter=3)",
                "LBFGS(model.parameters(), max_iter=2, line_search_fn='strong_wolfe')",
            ),
            "loss": (
                "F.cross_entropy(model(x), y)",
                "F.cross_entropy(model(x), y, reduction='sum')",
                "F.cross_entropy(model(x), y) + 1e-3 * sum(p.pow(2).sum() "
                "for p in model.parameters())",
            ),
        },
    ),
    "frozen": Template(
        (
            "class Net(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())",
            "        self.head = nn.Linear(8, 3)",
            "        self.spare = nn.Linear(8, 3)",
            "        <buffer>",
            "    def forward(self, x):",
            "        h = self.body(x)",
            "        <inside>",
            "        return self.head(h)",
            *DATA,
            "model = Net()",
            "<freeze>",
            "opt = torch.optim.SGD(<params>, lr=0.1<decay>)",
            "for epoch in range(2):",
            "    <unfreeze>",
            "    for x, y in loader:",
            "        opt.zero_grad()",
            "        loss = F.cross_entropy(model(x), y)",
            "        loss.backward()",
            "        opt.step()",
            "    print(epoch, loss.item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "buffer": ("pass", "self.register_buffer('mean', torch.zeros(8))", "self.count = 0"),
            "inside": (
                "pass",
                "h = h if self.training else h * 1.0",
                "h = h * 0.9 + 0.1 * h.detach()",
                "h = h + 0 * self.spare(h).sum(1, keepdim=True)",
                "h = torch.utils.checkpoint.checkpoint(self.body[1], h, use_reentrant=False)",
            ),
            "freeze": (
                "pass",
                "for p in model.body.parameters(): p.requires_grad = False",
                "model.body.requires_grad_(False)",
                "model.head.weight.register_hook(lambda g: g * 0.5)",
                "model.head.weight.register_hook(lambda g: g.clamp(-0.01, 0.01))",
                "model.head.weight = model.spare.weight",
            ),
            "params": (
                "model.parameters()",
                "filter(lambda p: p.requires_grad, model.parameters())",
                "model.head.parameters()",
                "[p for p in model.parameters() if p.requires_grad]",
            ),
            "decay": ("", ", momentum=0.9, nesterov=True", ", weight_decay=0.01"),
            "unfreeze": (
                "pass",
                "if epoch == 1: model.body.requires_grad_(True)",
                "for g in opt.param_groups: g['lr'] = 0.1 / (epoch + 1)",
            ),
        },
    ),
    "augmented": Template(
        (
            *DATA,
            "model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))",
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        <augment>",
            "        out = model(x)",
            "        loss = F.cross_entropy(out, y)",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "    print(epoch, loss.item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "augment": (
                "x = x * 1.1",
                "x = (x - X.mean(0)) / X.std(0)",
                "x = (x - x.mean(0)) / (x.std(0) + 1e-5)",
                "x = x - x.mean()",
                "x = x[:, torch.tensor([4, 3, 2, 1, 0])]",
                "x, y = torch.cat([x, -x]), torch.cat([y, y])",
                "x, y = x[y != 2], y[y != 2]",
                "x, y = x[:6], y[:6]",
                "x, y = x[:-1], y[:-1]",
                "x, y = x[::2], y[::2]",
                "x = 0.7 * x + 0.3 * x.flip(0)",
                "x = x.repeat(2, 1); y = y.repeat(2)",
                "order = y.argsort(); x, y = x[order], y[order]",
                "x = x / x.abs().max()",
                "x = x.clamp(-1, 1)",
                "keep = x[:, 0] > 0; x, y = x[keep], y[keep]",
                "if len(x) % 2: x, y = x[1:], y[1:]",
                "x = torch.where(y[:, None] == 1, -x, x)",
                "x = torch.stack(list(x)); y = torch.as_tensor(y.tolist())",
                "x = x + 0.01 * torch.arange(len(x))[:, None]",
            ),
        },
    ),
    "manual": Template(
        (
            *DATA,
            "model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))",
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        opt.zero_grad()",
            "        out = model(x)",
            "        loss = F.cross_entropy(out, y)",
            "        <backward>",
            "        <between>",
            "        opt.step()",
            "        <after>",
            "    print(epoch, loss.item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "backward": (
                "loss.backward()",
                "torch.autograd.backward(loss)",
                "loss.backward(torch.tensor(2.0))",
                "(loss * 2).backward()",
                "grads = torch.autograd.grad(loss, list(model.parameters()))\n"
                "        for p, g in zip(model.parameters(), grads): p.grad = g",
                "F.cross_entropy(model(x[:6]), y[:6]).backward(); "
                "F.cross_entropy(model(x[6:]), y[6:]).backward()",
                "loss.backward(); F.mse_loss(model(x), out.detach() * 0.5).backward()",
                "for k in range(3): (F.cross_entropy(model(x), y) / 3).backward()",
            ),
            "between": (
                "pass",
                "for p in model.parameters(): p.grad.mul_(0.5)",
                "for p in model.parameters(): p.grad = p.grad.sign() * 0.01",
                "for p in model.parameters(): p.grad.div_(p.grad.norm() + 1e-6)",
                "for p in model.parameters(): p.grad.add_(p.detach(), alpha=0.01)",
                "torch.nn.utils.clip_grad_norm_(list(model.parameters())[:2], 0.1)",
                "for p in model.parameters(): p.grad.div_(len(x))",
                "print(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))",
            ),
            "after": (
                "pass",
                "for g in opt.param_groups: g['lr'] *= 0.95",
                "for g in opt.param_groups: g['lr'] = 0.1 * min(1.0, loss.item())",
                "with torch.no_grad(): model[0].weight.div_(model[0].weight.norm())",
                "print(loss.item(), loss.detach().exp().item())",
                "print((out.argmax(1) == y).float().mean().item())",
                "print(f'{loss.item() * len(x):.4f}')",
                "print(len(x), y.sum().item())",
                "print(out.shape, x.shape)",
                "print(y.tolist())",
                "print(out[0].tolist())",
                "print(min(loss.item(), 1.0))",
                "print('ok' if loss.item() < 1.1 else 'high')",
                "print(x.mean().item(), x.std().item())",
                "print(out.softmax(1).mean(0).tolist())",
            ),
        },
    ),
}


def from_template(choices: Choices) -> list[str]:
    """The lines of a program of another shape."""
    name = choices.pick("template", list(TEMPLATES))
    lines = []
    for line in TEMPLATES[name].lines:
        if "SHUFFLE" in line:
            shuffle = choices.pick("template.shuffle", ("no", "yes"))
            line = line.replace("SHUFFLE", ", shuffle=True" if shuffle == "yes" else "")
        origin = ""
        for key in re.findall(r"<(\w+)>", line):
            chosen = choices.pick(f"{name}.{key}", TEMPLATES[name].options[key])
            line = line.replace(f"<{key}>", chosen)
            origin = f"{name}.{key}={chosen}"
        lines += marked(origin, [line]) if origin else [line]
    return [*TOP, *lines]
