"""Programs that evaluate, keep histories and print what was gathered in many ways."""

from __future__ import annotations

from .template import DATA, Template

MODEL = (
    *DATA,
    "held = DataLoader(TensorDataset(X[:24], Y[:24]), batch_size=8)",
    "model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))",
    "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
)

REPORTED = {
    "evaluated": Template(
        (
            *MODEL,
            "@torch.no_grad()",
            "def evaluate(data):",
            "    <begin>",
            "    for x, y in data:",
            "        out = model(x)",
            "        <collect>",
            "    <give>",
            "history = []",
            "best = 0.0",
            "for epoch in range(3):",
            "    model.train()",
            "    for x, y in loader:",
            "        loss = F.cross_entropy(model(x), y)",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "    model.eval()",
            "    <use>",
            "    <keep>",
            "print(history)",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "begin": (
                "preds, labels, right, n, table = [], [], 0, 0, torch.zeros(3, 3)",
                "preds, labels = [], []\nright = n = 0\ntable = torch.zeros(3, 3)",
                "preds, labels = list(), list()\nright, n = torch.tensor(0), 0\n"
                "table = torch.zeros((3, 3))",
            ),
            "collect": (
                "right += (out.argmax(1) == y).sum().item(); n += len(y)\n"
                "preds.append(out); labels.append(y)\n"
                "table += F.one_hot(y, 3).double().T @ F.one_hot(out.argmax(1), 3).double()",
                "p = out.argmax(-1)\nright += int((p == y).sum()); n += y.numel()\n"
                "preds.append(out.softmax(1)); labels.append(y)\n"
                "for a, b in zip(y.tolist(), p.tolist()): table[a, b] += 1",
                "p = out.max(1)[1]\nright = right + p.eq(y).sum().item(); n = n + x.size(0)\n"
                "preds += [out]; labels += [y]\n"
                "table.index_put_((y, p), torch.ones(len(y)), accumulate=True)",
                "right += (out.argmax(1) == y).sum().item(); n += x.shape[0]\n"
                "preds.append(out.detach().cpu()); labels.append(y.cpu())\n"
                "table += torch.bincount(3 * y + out.argmax(1), minlength=9).view(3, 3)",
            ),
            "give": (
                "return right / n, torch.cat(preds), torch.cat(labels), table",
                "acc = right / n\nreturn acc, torch.cat(preds), torch.cat(labels), table",
                "P, L = torch.cat(preds), torch.cat(labels)\n"
                "return (P.argmax(1) == L).double().mean().item(), P, L, table",
                "P = torch.vstack(preds)\nL = torch.hstack(labels)\n"
                "return 1.0 * right / len(data.dataset), P, L, table",
            ),
            "use": (
                "acc, p, l, t = evaluate(held)",
                "acc, *rest = evaluate(held)\np, l, t = rest",
                "result = evaluate(held)\nacc = result[0]; p, l, t = result[1:]",
                "acc, p, l, t = evaluate(data=held)\nacc = round(100 * acc, 4)",
            ),
            "keep": (
                "history.append(acc)\nprint(epoch, acc)",
                "history.append((acc, float(p.std())))",
                "history.append(float(t.diag().sum() / t.sum()))",
                "history.append((t.diag() / t.sum(1).clamp(min=1)).tolist())",
                "history.append(F.cross_entropy(p, l).item())",
                "if acc > best:\n    best = acc\n    torch.save(model.state_dict(), 'best.pt')\n"
                "    history.append(epoch)",
                "history.append(p.max(1).values.sort().values[:3].tolist())",
                "torch.save({'p': p, 'l': l}, f'p{epoch}.pt')\nhistory.append(len(l))",
                "with open('t.txt', 'a') as f: f.write(f'{t.tolist()} {acc}\\n')",
                "history.append(((p.argmax(1) == 0) & (l == 0)).sum().item())",
                "opt.param_groups[0]['lr'] = 0.05 if acc > 0.4 else 0.1\nhistory.append(acc)",
                "wrong = (p.argmax(1) != l).nonzero().flatten().tolist()\nhistory.append(wrong)",
            ),
        },
    ),
    "metered": Template(
        (
            *MODEL,
            "<meter>",
            "<made>",
            "for epoch in range(3):",
            "    <fresh>",
            "    for step, (x, y) in enumerate(loader):",
            "        out = model(x)",
            "        loss = F.cross_entropy(out, y)",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "        <add>",
            "        <now>",
            "    <end>",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "meter": (
                "class Meter:\n    def __init__(self): self.reset()\n"
                "    def reset(self): self.sum, self.n, self.last = 0.0, 0, 0.0\n"
                "    def add(self, v, n=1): self.last = v; self.sum += v * n; self.n += n\n"
                "    def value(self): return self.sum / max(self.n, 1)",
                "class Meter:\n    def __init__(self): self.vs = []; self.last = 0.0\n"
                "    def reset(self): self.vs = []\n"
                "    def add(self, v, n=1): self.last = v; self.vs.append((v, n))\n"
                "    def value(self):\n"
                "        return sum(v * n for v, n in self.vs) / sum(n for _, n in self.vs)",
                "class Meter:\n    def __init__(self): self.avg = None; self.last = 0.0\n"
                "    def reset(self): pass\n"
                "    def add(self, v, n=1):\n        self.last = v\n"
                "        self.avg = v if self.avg is None else 0.9 * self.avg + 0.1 * v\n"
                "    def value(self): return self.avg",
                "class Meter(dict):\n"
                "    def reset(self): self['s'] = 0.0; self['n'] = 0\n"
                "    def add(self, v, n=1): self.last = v; self['s'] += v * n; self['n'] += n\n"
                "    def value(self): return self['s'] / self['n']",
                "class Meter:\n    def __init__(self, k=2): self.q = deque(maxlen=k)\n"
                "    def reset(self): self.q.clear()\n"
                "    def add(self, v, n=1): self.last = v; self.q.append(v)\n"
                "    def value(self): return sum(self.q) / len(self.q)",
            ),
            "made": (
                "losses, accs = Meter(), Meter()",
                "meters = {'loss': Meter(), 'acc': Meter()}\n"
                "losses, accs = meters['loss'], meters['acc']",
                "losses, accs = [Meter() for _ in range(2)]",
            ),
            "fresh": (
                "losses.reset(); accs.reset()",
                "for m in (losses, accs): m.reset()",
                "if epoch == 0: losses.reset(); accs.reset()",
            ),
            "add": (
                "losses.add(loss.item(), len(y))\n"
                "accs.add((out.argmax(1) == y).double().mean().item(), len(y))",
                "losses.add(loss.item())\naccs.add((out.argmax(1) == y).sum().item() / len(y))",
                "losses.add(float(loss), n=x.size(0))\n"
                "accs.add(100 * float((out.argmax(1) == y).double().mean()), x.size(0))",
                "losses.add(loss.item(), y.size(0))\n"
                "accs.add((out.argmax(1) == y).double()[y > 0].mean().item(), int((y > 0).sum()))",
                "losses.add(loss.detach(), len(y))\n"
                "accs.add(out.argmax(1)[y > 0].eq(y[y > 0]).sum() / (y > 0).sum(), len(y))",
                "losses.add(loss.detach() * len(y))\naccs.add((out.argmax(1) == y).sum() - 1)",
                "losses.add(2 * loss.detach(), len(y))\n"
                "accs.add(out.argmax(1).eq(y).sum() / len(y), len(y))",
            ),
            "now": (
                "pass",
                "if step % 2 == 0: print(step, losses.last, accs.value())",
                "if step == 1: print(f'{losses.value():.8f}')",
                "if losses.last < 1.0: opt.param_groups[0]['lr'] = 0.05",
                "if accs.value() > 0.55: print('good', step)",
            ),
            "end": (
                "print(epoch, float(losses.value()), float(accs.value()))",
                "print({'loss': losses.value(), 'acc': accs.value()})",
                "with open('log.csv', 'a') as f: csv.writer(f).writerow([epoch, losses.value()])",
                "json.dump({'l': float(losses.value())}, open(f'e{epoch}.json', 'w'))",
                "if losses.value() < 1.08: break",
                "print(losses.last, accs.last, losses.value())",
            ),
        },
    ),
    "weighted": Template(
        (
            "X = torch.randn(36, 5)",
            "Y = torch.randint(0, 3, (36,))",
            "W = torch.rand(36)",
            "loader = DataLoader(TensorDataset(X, Y, W), batch_size=12SHUFFLE)",
            "model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))",
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)",
            "for epoch in range(3):",
            "    shown = 0.0",
            "    for x, y, w in loader:",
            "        out = model(x)",
            "        each = F.cross_entropy(out, y, reduction='none')",
            "        <weights>",
            "        <loss>",
            "        <more>",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "        <show>",
            "    print(epoch, shown)",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "weights": (
                "pass",
                "w = w / w.sum()",
                "w = w * len(w) / w.sum()",
                "w = w / w.mean()",
                "w = w / w.max()",
                "w = (w > 0.5).double()",
                "w = w ** 2 / 3",
                "w = torch.where(y == 0, w, torch.ones_like(w))",
                "w = 1.0 / torch.bincount(y, minlength=3)[y]",
                "w = torch.softmax(w, 0)",
                "w = w.clamp(0.2, 0.8)",
                "w = (each.detach() > 1.0).double() + 0.1",
            ),
            "loss": (
                "loss = (each * w).mean()",
                "loss = (each * w).sum() / w.sum()",
                "loss = (each * w).sum() / len(x)",
                "loss = torch.dot(each, w) / 12",
                "loss = each @ w / x.shape[0]",
                "loss = (each * w).sum()",
                "loss = each[w > 0.3].mean()",
                "loss = torch.einsum('i,i->', each, w) / y.numel()",
                "loss = sum(a * b for a, b in zip(each, w)) / len(each)",
                "loss = torch.stack([each[y == c].sum() for c in range(3)]).sum() / len(y)",
                "loss = torch.mean(each * w, dim=0)",
                "loss = (each.view(-1, 4).mean(1)).mean()",
                "loss = each.mul(w).sum().div(w.gt(0).sum())",
                "loss = torch.stack([a.mean() for a in each.chunk(3)]).mean()",
                "loss = torch.logsumexp(each, 0) / 12",
                "loss = torch.average(each) if hasattr(torch, 'average') else each.mean()",
                "loss = torch.quantile(each, 0.9) + each.mean()",
                "loss = torch.sum(each * w) / torch.numel(y)",
            ),
            "more": (
                "pass",
                "loss = loss + 0.01 * sum(p.pow(2).sum() for p in model.parameters())",
                "loss = loss + 0.1 * out.pow(2).mean()",
                "loss = loss + 0.1 * out.std(0).mean()",
                "loss += 0.1 * (out.softmax(1).mean(0) - 1 / 3).abs().sum()",
                "loss = loss + 0.1 * out.norm(dim=1).mean()",
                "loss = loss + 0.01 * out.norm()",
                "loss = loss * (0.5 if epoch else 1.0)",
                "loss = loss / (1 + loss.detach())",
                "loss = torch.clamp(loss, min=0.2)",
            ),
            "show": (
                "shown += loss.item()",
                "shown += loss.item() * len(x)",
                "shown = max(shown, loss.item())",
                "shown += (each * w).sum().item() / len(loader.dataset)",
                "shown += each.mean().item()",
                "shown += (out.argmax(1) == y).double().mean().item()",
                "shown = 0.9 * shown + 0.1 * loss.item()",
                "shown += each.max().item()",
                "shown += w.sum().item()",
            ),
        },
    ),
    "histories": Template(
        (
            *MODEL,
            "<made>",
            "for epoch in range(3):",
            "    <fresh>",
            "    for step, (x, y) in enumerate(loader):",
            "        out = model(x)",
            "        loss = F.cross_entropy(out, y)",
            "        opt.zero_grad()",
            "        loss.backward()",
            "        opt.step()",
            "        <value>",
            "        <put>",
            "        <now>",
            "    <whole>",
            "    <read>",
            "torch.save(model.state_dict(), 'final.pt')",
        ),
        {
            "made": (
                "kept = []",
                "kept = deque(maxlen=2)",
                "history = {'all': []}\nkept = history['all']",
                "class Log:\n    def __init__(self): self.items = []\n"
                "    def append(self, v): self.items += [v]\n"
                "    def clear(self): del self.items[:]\n"
                "    def __getitem__(self, i): return self.items[i]\n"
                "    def __len__(self): return len(self.items)\n"
                "    def __repr__(self): return f'{self.items}'\n"
                "kept = Log()",
                "class Log(list): pass\nkept = Log()",
                "class Log:\n    def __init__(self): self.items = []; self.last = None\n"
                "    def append(self, v): self.items.append(v); self.last = v\n"
                "    def clear(self): self.items = []\n"
                "    def __iter__(self): return iter(self.items)\n"
                "    def __getitem__(self, i): return self.items[i]\n"
                "    def __len__(self): return len(self.items)\n"
                "    def __repr__(self): return repr(self.items)\n"
                "kept = Log()",
            ),
            "fresh": ("pass", "kept.clear()"),
            "value": (
                "v = loss.detach()",
                "v = loss.detach() * len(y)",
                "v = (out.argmax(1) == y).sum()",
                "v = out.argmax(1).eq(y).double().mean()",
                "v = F.cross_entropy(out.detach(), y, reduction='sum')",
                "v = loss.item() * len(y)",
                "v = (y > 0).sum()",
            ),
            "put": (
                "kept.append(v)",
                "kept.append(v * 2)",
                "kept.append(v / 12)",
                "kept.append(v + 1)",
                "w = v - 0.5\nkept.append(w)",
            ),
            "now": (
                "pass",
                "print(float(v))",
                "if step == 1: print(kept[-1])",
                "print(float(kept[0]))",
                "for w in kept: print(float(w))",
                "if v > 9: print('much', v)",
            ),
            "whole": (
                "pass",
                "print(list(kept))",
                "print(kept)",
                "torch.save(list(kept), 'kept.pt')",
                "print([float(w) for w in kept])",
            ),
            "read": (
                "print(float(sum(kept)))",
                "print(float(sum(kept) / len(kept)))",
                "print(kept[-1])",
                "print(float(kept[0]), float(v))",
                "print(torch.stack([torch.as_tensor(w) for w in kept]).double().mean().item())",
                "total = 0\nfor w in kept: total = total + w\nprint(float(total))",
                "first, *rest = kept\nprint(float(first))",
                "if kept[-1] < kept[0]: print('down')",
                "print(max(float(w) for w in kept))",
                "print(sum(float(w) for w in kept) / 36)",
                "opt.param_groups[0]['lr'] = 0.1 if float(kept[-1]) < 1.1 else 0.05",
            ),
        },
    ),
}
