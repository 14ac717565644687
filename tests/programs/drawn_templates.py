"""Programs of other shapes: what is drawn once for all samples of a batch."""

from __future__ import annotations

from .template import DATA, Template

DRAWN = {
    "drawn": Template(
        (
            *DATA,
            "random.seed(0)",
            "np.random.seed(0)",
            "beta = torch.distributions.Beta(torch.tensor(0.5), torch.tensor(0.5))",
            "order, w = [0, 1, 2], torch.ones(3)",
            "<helper>",
            "model = nn.Sequential(nn.Linear(<inputs>, 8), nn.Tanh(), nn.Linear(8, 3))",
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
            "for epoch in range(2):",
            "    <start>",
            "    for x, y in loader:",
            "        loss_of, k, s = F.cross_entropy, 0, 1.0",
            "        <draw>",
            "        x = x[:, k:k + <inputs>]",
            "        out = model(x * s)",
            "        loss = loss_of(out, y)",
            "        <after>",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "    print(epoch, model[0].weight.sum().item())",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "inputs": ("3", "4"),
            "helper": (
                "flip = random.random",
                "def flip(): return random.uniform(0.1, 1.5)",
            ),
            "start": (
                "pass",
                "random.shuffle(order)",
                "w = torch.rand(3)",
                "drop = np.random.choice(5, 2, replace=False)",
            ),
            "draw": (
                "k = random.randint(0, 1)",
                "k = int(torch.randint(0, 2, (1,)))",
                "s = np.random.beta(0.5, 0.5)",
                "s = beta.sample()",
                "s = torch.rand(1)",
                "x = x.roll(random.choice([1, 2]), 1)",
                "x = x[:, torch.randperm(5)]",
                "if random.random() < 0.5: x = x.flip(1)",
                "if np.random.rand() < 0.5: loss_of = lambda o, t: F.cross_entropy(o, t, "
                "label_smoothing=0.2)",
                "for i in random.sample(range(5), 2): x = x + x[:, i:i + 1]",
                "random.shuffle(order); x = x * (1 + order[0])",
                "w.uniform_(0.1, 1.0); s = w[0]",
                "x = x.clone(); x[:, torch.randint(0, 5, (1,))] = 0",
                "y = (y + random.randrange(3)) % 3",
                "x = x * flip()",
                "x = x.flip(1) if flip() < 0.5 else x",
                "k = np.random.default_rng(epoch).integers(0, 2)",
            ),
            "after": (
                "pass",
                "loss = loss * random.choice([0.5, 1.0])",
                "loss = loss + np.random.rand() * out.pow(2).mean()",
                "loss = (torch.rand(2).softmax(0) * torch.stack([loss, out.abs().mean()])).sum()",
                "if random.random() < 0.1: print('seldom')",
            ),
        },
    ),
}
