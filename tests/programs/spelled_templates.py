"""Programs of other shapes: the same training in the spellings that Python has for it."""

from __future__ import annotations

from .template import DATA, Template

SPELLED = {
    "spelled": Template(
        (
            "<config>",
            "X = torch.randn(36, 5)",
            "Y = torch.randint(0, 3, (36,))",
            "<loader>",
            "<model>",
            "<optimizer>",
            "<criterion>",
            "<step>",
            "for epoch in range(epochs):",
            "    losses = []",
            "    <loop>",
            "    <report>",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "config": (
                "lr, epochs, batch = 0.1, 2, 12",
                "cfg = {'lr': 0.1, 'epochs': 2, 'batch': 12}\n"
                "lr, epochs, batch = cfg['lr'], cfg['epochs'], cfg['batch']",
                "@dataclass\nclass Config:\n    lr: float = 0.1\n    epochs: int = 2\n"
                "    batch: int = 12\ncfg = Config()\n"
                "lr, epochs, batch = cfg.lr, cfg.epochs, cfg.batch",
                "class Config:\n    lr, epochs = 0.1, 2\n    batch = 12\n"
                "lr, epochs, batch = Config.lr, Config.epochs, Config.batch",
                "cfg = SimpleNamespace(**{'lr': 0.1, 'epochs': 2, 'batch': 12})\n"
                "lr, epochs, batch = cfg.lr, cfg.epochs, cfg.batch",
                "class Config: pass\ncfg = Config()\n"
                "for k, v in dict(lr=0.1, epochs=2, batch=12).items(): setattr(cfg, k, v)\n"
                "lr, epochs, batch = cfg.lr, cfg.epochs, getattr(cfg, 'batch', 6)",
                "parser = argparse.ArgumentParser()\n"
                "for name, kind, value in (('lr', float, 0.1), ('epochs', int, 2), "
                "('batch', int, 12)):\n"
                "    parser.add_argument(f'--{name}', type=kind, default=value)\n"
                "args = vars(parser.parse_args([]))\n"
                "lr, epochs, batch = args['lr'], args['epochs'], args['batch']",
                "*_, lr, epochs, batch = 'x', 0.1, 2, 12",
            ),
            "loader": (
                "loader = DataLoader(TensorDataset(X, Y), batch_size=batch)",
                "loader = DataLoader(TensorDataset(X, Y), batch, True)",
                "make = partial(DataLoader, batch_size=batch, shuffle=True)\n"
                "loader = make(TensorDataset(X, Y))",
                "options = dict(batch_size=batch, shuffle=False)\n"
                "loader = DataLoader(TensorDataset(X, Y), **options)",
                "def get_loader(*tensors, n=12, **more):\n"
                "    return DataLoader(TensorDataset(*tensors), batch_size=n, **more)\n"
                "loader = get_loader(X, Y, n=batch, drop_last=True)",
                "loaders = {'train': DataLoader(TensorDataset(X, Y), batch_size=batch)}\n"
                "loader = loaders['train']",
                "loader, = [DataLoader(d, batch_size=batch) for d in [TensorDataset(X, Y)]]",
                "if (n := batch) > 4:\n"
                "    loader = DataLoader(TensorDataset(X, Y), batch_size=n)\n"
                "else:\n"
                "    loader = DataLoader(TensorDataset(X, Y), batch_size=4)",
                "class Loaders:\n"
                "    @property\n"
                "    def train(self):\n"
                "        return DataLoader(TensorDataset(X, Y), batch_size=batch)\n"
                "loader = Loaders().train",
            ),
            "model": (
                "model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))",
                "sizes = [5, 8, 3]\n"
                "model = nn.Sequential(*[nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])",
                "model = nn.Sequential(OrderedDict(a=nn.Linear(5, 8), b=nn.Tanh(), "
                "c=nn.Linear(8, 3)))",
                "class Net(nn.Module):\n"
                "    def __init__(self, *sizes):\n"
                "        super().__init__()\n"
                "        for k, (a, b) in enumerate(zip(sizes, sizes[1:])):\n"
                "            setattr(self, f'fc{k}', nn.Linear(a, b))\n"
                "    def forward(self, x):\n"
                "        x = torch.tanh(getattr(self, 'fc0')(x))\n"
                "        return self.fc1(x)\n"
                "model = Net(5, 8, 3)",
                "class Net(nn.Module):\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                "        self.parts = nn.ModuleDict({'a': nn.Linear(5, 8), 'b': nn.Linear(8, 3)})\n"
                "    def forward(self, *args, **kwargs):\n"
                "        if (h := self.parts['a'](args[0])) is not None:\n"
                "            h = h.relu()\n"
                "        return self.parts['b'](h)\n"
                "model = Net()",
                "def mlp(i, *hidden, o=3, act=nn.ReLU):\n"
                "    layers = []\n"
                "    for h in hidden:\n"
                "        layers += [nn.Linear(i, h), act()]\n"
                "        i = h\n"
                "    return nn.Sequential(*layers, nn.Linear(i, o))\n"
                "model = mlp(5, 8, 8, act=nn.Tanh)",
                "MODELS = {'mlp': lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), "
                "nn.Linear(8, 3)), 'linear': lambda: nn.Linear(5, 3)}\n"
                "model = MODELS['mlp']()",
                "kind = 'mlp'\n"
                "match kind:\n"
                "    case 'linear':\n"
                "        model = nn.Linear(5, 3)\n"
                "    case _:\n"
                "        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))",
                "class Base(nn.Module):\n"
                "    def forward(self, x):\n"
                "        return self.tail(self.head(x))\n"
                "class Net(Base):\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                "        self.head, self.tail = nn.Linear(5, 8), nn.Linear(8, 3)\n"
                "model = Net()",
            ),
            "optimizer": (
                "opt = torch.optim.SGD(model.parameters(), lr=lr)",
                "opt = getattr(torch.optim, 'SGD')(model.parameters(), lr=lr)",
                "opt = {'sgd': torch.optim.SGD, 'adam': torch.optim.Adam}['adam']("
                "model.parameters(), lr / 10)",
                "Opt = partial(torch.optim.SGD, momentum=0.9)\n"
                "opt = Opt(model.parameters(), lr=lr)",
                "opt = torch.optim.SGD(params=list(model.parameters()), **{'lr': lr})",
                "opt = (lambda m: torch.optim.SGD(m.parameters(), lr=lr))(model)",
            ),
            "criterion": (
                "criterion = nn.CrossEntropyLoss()",
                "criterion = partial(F.cross_entropy, reduction='sum')",
                "criterion = lambda o, t: F.cross_entropy(o, t, reduction='none').mean()",
                "criterion = {'ce': F.cross_entropy, 'nll': F.nll_loss}['ce']",
                "criterion = getattr(F, 'cross_entropy')",
                "criterion = getattr(nn, 'CrossEntropyLoss')(**{'reduction': 'sum'})",
                "def criterion(*args, **more):\n"
                "    return F.cross_entropy(*args, reduction='sum', **more) / len(args[1])",
                "losses_of = [F.cross_entropy, lambda o, t: 0.1 * o.pow(2).sum()]\n"
                "def criterion(o, t):\n"
                "    return sum(f(o, t) for f in losses_of)",
                "def criterion(o, t):\n"
                "    return reduce(operator.add, [F.cross_entropy(o, t), 0.1 * o.mean() ** 2])",
                "class Criterion:\n"
                "    @staticmethod\n"
                "    def __call__(o, t, scale=2.0):\n"
                "        return scale * F.cross_entropy(o, t)\n"
                "criterion = Criterion()",
                "def make_criterion(weighted):\n"
                "    w = torch.tensor([1.0, 2.0, 0.5]) if weighted else None\n"
                "    return lambda o, t: F.cross_entropy(o, t, weight=w)\n"
                "criterion = make_criterion(True)",
                "def criterion(o, t):\n"
                "    parts = {'ce': F.cross_entropy(o, t), 'l2': o.pow(2).mean().sqrt()}\n"
                "    return sum(w * parts[k] for k, w in {'ce': 1.0, 'l2': 0.1}.items())",
                "def criterion(o, t):\n"
                "    return torch.stack([F.cross_entropy(a[None], b[None]) "
                "for a, b in zip(o, t)]).sum()",
                "def criterion(o, t):\n"
                "    total, n = 0.0, 0\n"
                "    for c in range(3):\n"
                "        if (m := t == c).any():\n"
                "            total, n = total + F.cross_entropy(o[m], t[m]), n + 1\n"
                "    return total / n",
                "def criterion(o, t):\n"
                "    picked = [k for k in range(len(t)) if t[k] != 1]\n"
                "    return F.cross_entropy(o[picked], t[picked])",
            ),
            "step": (
                "def step(x, y):\n"
                "    opt.zero_grad()\n"
                "    loss = criterion(model(x), y)\n"
                "    loss.backward()\n"
                "    opt.step()\n"
                "    return loss.item()",
                "def step(*batch):\n"
                "    x, y = batch\n"
                "    opt.zero_grad()\n"
                "    (loss := criterion(model(x), y)).backward()\n"
                "    opt.step()\n"
                "    return loss.detach()",
                "def step(x, y, /, *, scale=1.0):\n"
                "    opt.zero_grad()\n"
                "    out = model(x)\n"
                "    loss = criterion(out, y) * scale\n"
                "    loss.backward()\n"
                "    opt.step()\n"
                "    said = {'loss': loss.item(), 'acc': (out.argmax(1) == y).sum().item()}\n"
                "    return said['loss']",
                "def step(x, y):\n"
                "    for p in model.parameters(): p.grad = None\n"
                "    loss = criterion(model(x), y)\n"
                "    loss.backward()\n"
                "    opt.step()\n"
                "    return float(loss), len(x)\n"
                "whole_step, step = step, lambda *b: whole_step(*b)[0] * 1",
                "def step(x, y):\n"
                "    opt.zero_grad()\n"
                "    loss = criterion(model(x), y)\n"
                "    loss.backward()\n"
                "    opt.step()\n"
                "    return loss.item() / len(x)",
                "def forward(x, y):\n"
                "    out = model(x)\n"
                "    return criterion(out, y), out\n"
                "def step(x, y):\n"
                "    opt.zero_grad()\n"
                "    loss, _ = forward(x, y)\n"
                "    loss.backward()\n"
                "    opt.step()\n"
                "    return loss.item()",
            ),
            "loop": (
                "for x, y in loader:\n    losses.append(step(x, y))",
                "for x, y in tqdm(iter(loader)):\n    losses.append(step(x, y))",
                "for i, (x, y) in enumerate(iter(loader)):\n    losses.append(step(x, y))",
                "it = iter(loader)\nwhile (b := next(it, None)) is not None:\n"
                "    losses.append(step(*b))",
                "for b in loader:\n    x, y = (t.clone() for t in b)\n"
                "    losses.append(step(x, y))",
                "losses = [step(x, y) for x, y in loader]",
                "losses.extend(step(*b) for b in loader)",
                "for x, y in map(lambda b: (b[0] * 1.0, b[1]), loader):\n"
                "    losses += [step(x, y)]",
                "for x, y in itertools.islice(loader, 2):\n    losses.append(step(x, y))",
                "for k, (x, y) in zip(itertools.count(), loader):\n    losses.append(step(x, y))",
                "for x, y in itertools.chain(loader, loader):\n    losses.append(step(x, y))",
                "for x, y in list(loader):\n    losses.append(step(x, y))",
                "for x, y in reversed(list(loader)):\n    losses.append(step(x, y))",
                "pbar = tqdm(loader, desc='train')\nfor x, y in pbar:\n"
                "    losses.append(step(x, y))\n    pbar.set_postfix(loss=losses[-1])",
                "with tqdm(total=len(loader)) as bar:\n    for x, y in loader:\n"
                "        losses.append(step(x, y))\n        bar.update(1)",
                "for i, b in enumerate(loader):\n    if i == 2: break\n    losses.append(step(*b))",
                "for i, (x, *rest) in enumerate(loader, start=1):\n"
                "    losses.append(step(x, rest[0]))",
                "list(map(lambda b: losses.append(step(*b)), loader))",
                "batches = ((x, y) for x, y in loader if len(x) > 1)\n"
                "for x, y in batches: losses.append(step(x, y))",
                "try:\n    for x, y in loader:\n        losses.append(step(x, y))\n"
                "except KeyboardInterrupt:\n    pass",
            ),
            "report": (
                "print(epoch, sum(losses) / len(losses))",
                "print(f'{epoch}: {np.mean([float(v) for v in losses]):.6f}')",
                "print(epoch, statistics.mean(map(float, losses)))",
                "print('%d %.5f' % (epoch, losses[-1]))",
                "print(epoch, max(losses), min(losses))",
                "print(epoch, sorted(float(v) for v in losses)[len(losses) // 2])",
                "print(epoch, [round(float(v), 4) for v in losses])",
                "print(epoch, len(losses), float(sum(losses)))",
                "print(epoch, np.std([float(v) for v in losses]))",
                "print(epoch, *map(float, losses), sep=' ')",
                "print({'epoch': epoch, 'loss': float(losses[0])})",
                "mean = sum(losses) / len(losses)\n"
                "print(epoch, 'low' if mean < 1.0 else 'high', float(mean))",
                "print(epoch, math.exp(float(sum(losses)) / len(losses)))",
                "print(epoch, torch.tensor([float(v) for v in losses]).mean().item())",
                "sys.stdout.write(f'{epoch} {float(losses[-1])!r}\\n')",
            ),
        },
    ),
    "effects": Template(
        (
            *DATA,
            "model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))",
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
            "<before>",
            "for epoch in range(2):",
            "    correct, total = 0, 0",
            "    for i, (x, y) in enumerate(loader):",
            "        opt.zero_grad()",
            "        out = model(x)",
            "        loss = F.cross_entropy(out, y)",
            "        loss.backward()",
            "        opt.step()",
            "        correct += (out.argmax(1) == y).sum().item()",
            "        total += len(y)",
            "        <inside>",
            "    <end>",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "before": (
                "pass",
                "os.makedirs('runs', exist_ok=True)",
                "Path('runs').mkdir()",
                "os.makedirs('runs')\nsys.stdout.write('ready\\n')",
                "if not os.path.exists('runs'):\n    os.mkdir('runs')",
            ),
            "inside": (
                "pass",
                "if i % 2 == 0: print(f'{i * len(x)}/{len(loader.dataset)} {loss.item():.4f}')",
                "with open('log.txt', 'a') as f: f.write(f'{i} {loss.item()}\\n')",
                "with open('log.txt', 'a') as f:\n    print(i, loss.item(), file=f)",
                "open('last.txt', 'w').write(str(loss.item()))",
                "Path('loss.txt').write_text(f'{loss.item():.6f}')",
                "if loss.item() < 1.1: torch.save(model.state_dict(), 'good.pt')",
                "np.save('loss.npy', loss.item())",
                "print('%.3f' % (100.0 * correct / total))",
                "with open('wrong.csv', 'a') as f:\n"
                "    for a, b in zip(y.tolist(), out.argmax(1).tolist()):\n"
                "        if a != b: f.write(f'{a},{b}\\n')",
                "with open('log.jsonl', 'a') as f:\n"
                "    json.dump({'step': i, 'n': len(x), 'loss': loss.item()}, f)",
                "print(list(x.shape), x.size(), tuple(y.shape), x.numel())",
                "print(str(len(x)) + ' of ' + str(total))",
                "assert len(x) == 12 and total % 12 == 0",
                "assert x.shape == (12, 5), x.shape",
                "if len(x) < 12: continue",
                "print('.' * len(x), 'loss', round(loss.item(), 4))",
                "print(' '.join(f'{v:.3f}' for v in out.mean(0).tolist()))",
                "print(loss.item() > 1.0, not loss.item() > 1.0)",
                "print('ok' if loss.item() < 1.1 else 'high')",
                "print('better' * (loss.item() < 1.1))",
                "print({True: 'ok', False: 'high'}[loss.item() < 1.1])",
                "print(int(loss.item() * 100), round(loss.item(), 3), str(loss.item())[:6])",
                "print(loss.item() // 0.1, divmod(loss.item(), 0.5))",
                "print(bool((out.argmax(1) == y).all()), (out > 0).any().item())",
                "print(out.argmax(1).unique().tolist())",
                "print(y.unique().numel(), y.max().item(), y.min().item())",
                "print(torch.bincount(y, minlength=3).tolist())",
                "print(F.cross_entropy(model(x), y).item())",
                "print(max(out.abs().max().item(), 0.1))",
            ),
            "end": (
                "print(epoch, correct / total)",
                "print(f'Accuracy {correct}/{total} ({100.0 * correct / total:.0f}%)')",
                "print(epoch, loss.item(), correct / len(loader.dataset))",
                "print(epoch, model[0].weight.norm().item())",
                "torch.save({'epoch': epoch, 'model': model.state_dict(), 'loss': loss.item(), "
                "'opt': opt.state_dict()}, f'{epoch}.pt')",
                "with open(f'{epoch}.json', 'w') as f:\n"
                "    json.dump({'acc': correct / total, 'loss': float(loss)}, f, indent=1)",
                "if correct / total > 0.35:\n    torch.save(model.state_dict(), 'best.pt')\n"
                "    print('saved')",
                "with open('p.pkl', 'wb') as f: pickle.dump([correct, total], f)",
                "print(epoch, total, len(loader), len(loader.dataset), loader.batch_size)",
                "with open('t.csv', 'a', newline='') as f:\n"
                "    csv.writer(f).writerow([epoch, correct, total])",
                "print(epoch, total / len(loader), correct // len(loader))",
                "print(epoch, np.sqrt(correct), math.log(total))",
                "print(opt.param_groups[0]['lr'], loss.item(), file=sys.stdout)",
            ),
        },
    ),
}
