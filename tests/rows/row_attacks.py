"""Models that were written to hide from the solver how they mix their samples."""

from __future__ import annotations

from row_models import CONV, IMAGE, LINEAR, SERIES, Small

#: None of them keeps its samples apart, whatever it looks like.
ATTACKS = [
    Small(
        "alias in place", ("h = self.fc(x)\n" "g = h\n" "g.sub_(h.mean(0))\n" "return h"), LINEAR
    ),
    Small("alias augassign", ("h = self.fc(x)\n" "g = h\n" "g -= h.mean(0)\n" "return h"), LINEAR),
    Small(
        "view in place",
        ("h = self.fc(x)\n" "v = h[:, 0]\n" "v.add_(h[:, 1].sum())\n" "return h"),
        LINEAR,
    ),
    Small(
        "out=",
        (
            "h = self.fc(x)\n"
            "o = torch.empty_like(h)\n"
            "torch.sub(h, h.mean(0), out=o)\n"
            "return o"
        ),
        LINEAR,
    ),
    Small("torch.Tensor.mean", ("h = self.fc(x)\n" "return h - torch.Tensor.mean(h, 0)"), LINEAR),
    Small("getattr torch", ("h = self.fc(x)\n" "return getattr(torch, 'softmax')(h, 0)"), LINEAR),
    Small("getattr tensor", ("h = self.fc(x)\n" "return h - getattr(h, 'mean')(0)"), LINEAR),
    Small(
        "ctor dim", "return F.normalize(self.fc(x), dim=self.dim)", (LINEAR + "\n" "self.dim = 0")
    ),
    Small(
        "lambda attr",
        "return self.act(self.fc(x))",
        (LINEAR + "\n" "self.act = lambda h: h - h.mean(0)"),
    ),
    Small(
        "flatten softmax", ("h = self.fc(x)\n" "return h.view(-1).softmax(0).view_as(h)"), LINEAR
    ),
    Small(
        "reshape -1 cumsum",
        ("h = self.fc(x)\n" "return h.reshape(-1).cumsum(0).reshape(h.shape)"),
        LINEAR,
    ),
    Small("T softmax", "return self.fc(x).t().softmax(1).t()", LINEAR),
    Small(
        "permute mean",
        ("h = self.fc(x).permute(1, 0)\n" "return (h - h.mean(1, keepdim=True)).permute(1, 0)"),
        LINEAR,
    ),
    Small("layer norm over all", ("h = self.fc(x)\n" "return F.layer_norm(h, h.shape)"), LINEAR),
    Small(
        "lstm unsqueeze0",
        ("h = self.fc(x).unsqueeze(0)\n" "return self.rnn(h)[0][0]"),
        (LINEAR + "\n" "self.rnn = nn.LSTM(3, 3, batch_first=True)"),
    ),
    Small(
        "lstm unsqueeze1",
        ("h = self.fc(x).unsqueeze(1)\n" "return self.rnn(h)[0][:, 0]"),
        (LINEAR + "\n" "self.rnn = nn.LSTM(3, 3)"),
    ),
    Small(
        "conv over samples",
        ("h = self.fc(x).t().unsqueeze(0)\n" "return F.conv1d(h, self.w, padding=1)[0].t()"),
        (LINEAR + "\n" "self.w = nn.Parameter(torch.randn(3, 3, 3))"),
    ),
    Small(
        "avgpool over samples",
        ("h = self.fc(x).t().unsqueeze(0)\n" "return F.avg_pool1d(h, 3, 1, 1)[0].t()"),
        LINEAR,
    ),
    Small(
        "std_mean",
        ("s, m = torch.std_mean(self.fc(x), 0)\n" "return (self.fc(x) - m) / s"),
        LINEAR,
    ),
    Small("linalg norm", ("h = self.fc(x)\n" "return h / torch.linalg.norm(h)"), LINEAR),
    Small(
        "linalg vector norm",
        ("h = self.fc(x)\n" "return h / torch.linalg.vector_norm(h, dim=0)"),
        LINEAR,
    ),
    Small(
        "nograd ema",
        (
            "h = self.fc(x)\n"
            "with torch.no_grad():\n"
            "    self.m.copy_(0.9 * self.m + 0.1 * h.mean(0))\n"
            "return h - self.m"
        ),
        (LINEAR + "\n" "self.register_buffer('m', torch.zeros(3))"),
    ),
    Small(
        "nograd ema data",
        (
            "h = self.fc(x)\n"
            "self.m.data = 0.9 * self.m.data + 0.1 * h.mean(0)\n"
            "return h - self.m"
        ),
        (LINEAR + "\n" "self.m = nn.Parameter(torch.zeros(3))"),
    ),
    Small(
        "list state",
        ("h = self.fc(x)\n" "self.kept.append(h.detach())\n" "return h + self.kept[0].mean(0)"),
        (LINEAR + "\n" "self.kept = []"),
    ),
    Small(
        "list state 2",
        (
            "h = self.fc(x)\n"
            "if len(self.kept) > 0:\n"
            "    h = h + self.kept[-1]\n"
            "self.kept.append(h.detach())\n"
            "return h"
        ),
        (LINEAR + "\n" "self.kept = []"),
    ),
    Small(
        "dict state",
        ("h = self.fc(x)\n" "self.kept['h'] = h.detach()\n" "return h + self.kept.get('h', 0)"),
        (LINEAR + "\n" "self.kept = {}"),
    ),
    Small(
        "counter",
        ("self.n += x.size(0)\n" "return self.fc(x) / self.n"),
        (LINEAR + "\n" "self.n = 0"),
    ),
    Small(
        "closure list",
        (
            "acc = []\n"
            "def f(h):\n"
            "    acc.append(h.mean(0))\n"
            "    return h\n"
            "h = f(self.fc(x))\n"
            "return h - acc[0]"
        ),
        LINEAR,
    ),
    Small(
        "nonlocal",
        (
            "m = 0\n"
            "def f(h):\n"
            "    nonlocal m\n"
            "    m = h.mean(0)\n"
            "    return h\n"
            "h = f(self.fc(x))\n"
            "return h - m"
        ),
        LINEAR,
    ),
    Small(
        "generator",
        (
            "def g(h):\n"
            "    yield h\n"
            "    yield h.mean(0)\n"
            "a, b = g(self.fc(x))\n"
            "return a - b"
        ),
        LINEAR,
    ),
    Small(
        "partial",
        (
            "import functools\n"
            "f = functools.partial(torch.softmax, dim=0)\n"
            "return f(self.fc(x))"
        ),
        LINEAR,
    ),
    Small(
        "map",
        ("h = self.fc(x)\n" "a = list(map(lambda t: t.mean(0), [h]))\n" "return h - a[0]"),
        LINEAR,
    ),
    Small(
        "as_strided",
        ("h = self.fc(x)\n" "return h.as_strided((3, 6), (1, 3)).softmax(1)"),
        LINEAR,
    ),
    Small("unfold samples", ("h = self.fc(x)\n" "return h.unfold(0, 2, 1).sum(-1)"), LINEAR),
    Small(
        "expand pair",
        (
            "h = self.fc(x)\n"
            "n = h.size(0)\n"
            "return (h.unsqueeze(0).expand(n, n, 3) - h.unsqueeze(1)).sum(1)"
        ),
        LINEAR,
    ),
    Small(
        "repeat pair",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return h.repeat(n, 1).view(n, n, 3).mean(1)"),
        LINEAR,
    ),
    Small(
        "repeat interleave pair",
        (
            "h = self.fc(x)\n"
            "n = h.size(0)\n"
            "return h.repeat_interleave(n, 0).view(n, n, 3).mean(0)"
        ),
        LINEAR,
    ),
    Small(
        "repeat reinterpret",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return h.repeat(2, 1).view(n, 2, 3).mean(1)"),
        LINEAR,
    ),
    Small(
        "cat view wrong",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return torch.cat([h, -2 * h]).view(n, 2, 3).sum(1)"),
        LINEAR,
    ),
    Small(
        "cat chunk softmax0",
        ("h = torch.cat([x, x])\n" "a, b = self.fc(h).softmax(0).chunk(2)\n" "return a"),
        LINEAR,
    ),
    Small(
        "stack0 reshape",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return torch.stack([h, -2 * h]).view(n, -1)"),
        LINEAR,
    ),
    Small(
        "stack0 view mean",
        (
            "h = self.fc(x)\n"
            "n = h.size(0)\n"
            "return torch.stack([h, h * 2, h * 3]).reshape(n, 3, 3).mean(1)"
        ),
        LINEAR,
    ),
    Small(
        "transpose merge view",
        (
            "B, T, C = x.shape\n"
            "return self.fc(x.transpose(0, 1).reshape(T * B, C)).view(B, T, -1).mean(1)"
        ),
        LINEAR,
        SERIES,
    ),
    Small(
        "transpose merge reshape -1",
        ("B, T, C = x.shape\n" "return self.fc(x.transpose(0, 1).reshape(-1, C)).view(B, -1)"),
        LINEAR,
        SERIES,
    ),
    Small(
        "flatten samples with channel last",
        "return self.fc(x.transpose(0, 1).flatten(0, 1)).view(x.size(0), -1)",
        LINEAR,
        SERIES,
    ),
    Small(
        "view(T*B) order",
        ("B, T, C = x.shape\n" "return x.view(T, B * C).mean(0).view(B, C)"),
        LINEAR,
        SERIES,
    ),
    Small("mask by batch stat", ("h = self.fc(x)\n" "m = h > h.mean()\n" "return h * m"), LINEAR),
    Small("where stat", ("h = self.fc(x)\n" "return torch.where(h.sum(0) > 0, h, -h)"), LINEAR),
    Small("clamp by stat", ("h = self.fc(x)\n" "return torch.minimum(h, h.amax(0))"), LINEAR),
    Small("clamp max kw", ("h = self.fc(x)\n" "return h.clamp(max=h.mean(0))"), LINEAR),
    Small(
        "scatter reduce",
        (
            "h = self.fc(x)\n"
            "return h.scatter_reduce(0, h.argmax(1, keepdim=True).expand(-1, 3), h, 'sum')"
        ),
        LINEAR,
    ),
    Small(
        "gather samples",
        ("h = self.fc(x)\n" "return h.gather(0, h.argmax(1, keepdim=True).expand(-1, 3))"),
        LINEAR,
    ),
    Small("index rows", ("h = self.fc(x)\n" "return h[h.argmax(1)]"), LINEAR),
    Small(
        "index select",
        ("h = self.fc(x)\n" "return h.index_select(0, torch.tensor([1, 0, 2, 3, 4, 5]))"),
        LINEAR,
    ),
    Small(
        "arange reversed",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return h[torch.arange(n - 1, -1, -1)]"),
        LINEAR,
    ),
    Small(
        "arange plus 1 mod",
        ("h = self.fc(x)\n" "n = h.size(0)\n" "return h[(torch.arange(n) + 1) % n]"),
        LINEAR,
    ),
    Small("arange flip", ("h = self.fc(x)\n" "return h[torch.arange(h.size(0)).flip(0)]"), LINEAR),
    Small(
        "arange floor div", ("h = self.fc(x)\n" "return h[torch.arange(h.size(0)) // 2]"), LINEAR
    ),
    Small(
        "arange place 2d", ("h = self.fc(x)\n" "return h[torch.arange(h.size(0)) % 2, 0]"), LINEAR
    ),
    Small("linspace", "return self.fc(x) * torch.linspace(0, 1, x.size(0)).unsqueeze(1)", LINEAR),
    Small(
        "eye",
        (
            "h = self.fc(x)\n"
            "return torch.eye(x.size(0)) @ h.cumsum(1) + torch.ones(x.size(0), x.size(0)) @ h"
        ),
        LINEAR,
    ),
    Small(
        "ones matmul", ("h = self.fc(x)\n" "return h - torch.ones(1, x.size(0)) @ h / 6"), LINEAR
    ),
    Small(
        "while stat",
        ("h = self.fc(x)\n" "while h.abs().max() > 1:\n" "    h = h / 2\n" "return h"),
        LINEAR,
    ),
    Small(
        "for count",
        ("h = self.fc(x)\n" "for _ in range(x.size(0)):\n" "    h = h * 1.1\n" "return h"),
        LINEAR,
    ),
    Small(
        "try",
        (
            "h = self.fc(x)\n"
            "try:\n"
            "    h = h - h.mean(0)\n"
            "except RuntimeError:\n"
            "    pass\n"
            "return h"
        ),
        LINEAR,
    ),
    Small("item if", ("h = self.fc(x)\n" "s = 1 if h.sum() > 0 else -1\n" "return h * s"), LINEAR),
    Small("item arith", ("h = self.fc(x)\n" "s = h.sum().item()\n" "return h * s"), LINEAR),
    Small(
        "numpy",
        ("import numpy as np\n" "h = self.fc(x)\n" "return h * float(np.mean(h.detach().numpy()))"),
        LINEAR,
    ),
    Small(
        "and or",
        ("h = self.fc(x)\n" "b = h.sum() > 0 and True\n" "return h * 2 if b else h"),
        LINEAR,
    ),
    Small(
        "comprehension if",
        (
            "h = self.fc(x)\n"
            "parts = [p for p in h.unbind(1) if p.sum() > 0]\n"
            "return torch.stack(parts + [h[:, 0]], 1)"
        ),
        LINEAR,
    ),
    Small(
        "sorted list",
        (
            "h = self.fc(x)\n"
            "parts = sorted(h.unbind(1), key=lambda p: p.sum())\n"
            "return torch.stack(parts, 1)"
        ),
        LINEAR,
    ),
    Small(
        "max builtin",
        ("h = self.fc(x)\n" "parts = max(h.unbind(1), key=lambda p: p.sum())\n" "return parts"),
        LINEAR,
    ),
    Small(
        "dict key",
        ("h = self.fc(x)\n" "d = {True: h, False: -h}\n" "return d[bool(h.sum() > 0)]"),
        LINEAR,
    ),
    Small(
        "topk idx",
        (
            "h = self.fc(x)\n"
            "i = h.sum(1).topk(3).indices\n"
            "h = h.clone()\n"
            "h[i] = 0\n"
            "return h"
        ),
        LINEAR,
    ),
    Small(
        "hook",
        "return self.fc(x)",
        (LINEAR + "\n" "self.fc.register_forward_hook(lambda m, i, o: o - o.mean(0))"),
    ),
    Small(
        "parametrized forward patch",
        "return self.fc(x)",
        (LINEAR + "\n" "self.fc.forward = lambda h: h - h.mean(0)"),
    ),
    Small("global state", ("global KEPT\n" "KEPT = self.fc(x)\n" "return KEPT"), LINEAR),
    Small(
        "class attr", ("h = self.fc(x)\n" "Net.kept = h.mean(0)\n" "return h - Net.kept"), LINEAR
    ),
    Small(
        "bn eval-less groups",
        "return self.bn(self.fc(x).view(1, -1, 3).transpose(1, 2))[0].t()",
        (LINEAR + "\n" "self.bn = nn.InstanceNorm1d(3)"),
    ),
    Small("kthvalue", ("h = self.fc(x)\n" "return h - h.kthvalue(2, dim=0).values"), LINEAR),
    Small(
        "cosine dim0",
        ("h = self.fc(x)\n" "return h * F.cosine_similarity(h, h + 1, dim=0)"),
        LINEAR,
    ),
    Small("logsumexp all", ("h = self.fc(x)\n" "return h - torch.logsumexp(h, (0, 1))"), LINEAR),
    Small("sum tuple", ("h = self.fc(x)\n" "return h - h.sum((0,))"), LINEAR),
    Small("sum list neg", ("h = self.fc(x)\n" "return h[:, :] - h.sum([-2])"), LINEAR),
    Small("prod builtin sum over rows", ("h = self.fc(x)\n" "return h - sum(h)"), LINEAR),
    Small(
        "sum of iter",
        ("h = self.fc(x)\n" "t = 0\n" "for row in h:\n" "    t = t + row\n" "return h - t"),
        LINEAR,
    ),
    Small(
        "reduce",
        (
            "from functools import reduce\n"
            "h = self.fc(x)\n"
            "return h - reduce(lambda a, b: a + b, list(h))"
        ),
        LINEAR,
    ),
    Small(
        "mha cross whole",
        (
            "h = self.fc(x)\n"
            "k = h.unsqueeze(0).expand(x.size(0), -1, -1)\n"
            "return self.att(h.unsqueeze(1), k, k)[0]"
        ),
        (LINEAR + "\n" "self.att = nn.MultiheadAttention(3, 1, batch_first=True)"),
    ),
    Small("sdpa", ("h = self.fc(x)\n" "return F.scaled_dot_product_attention(h, h, h)"), LINEAR),
    Small(
        "sdpa 3d t",
        ("h = self.fc(x)[:, :].unsqueeze(0)\n" "return F.scaled_dot_product_attention(h, h, h)[0]"),
        LINEAR,
    ),
    Small(
        "pool samples adaptive",
        ("h = self.fc(x).t()[None]\n" "return F.adaptive_avg_pool1d(h, 1)[0].t() + self.fc(x)"),
        LINEAR,
    ),
    Small(
        "interpolate samples",
        ("h = self.fc(x).t()[None]\n" "return F.interpolate(h, scale_factor=2)[0].t()[::2]"),
        LINEAR,
    ),
    Small("fft", ("h = self.fc(x)\n" "return torch.fft.fft(h, dim=0).real"), LINEAR),
    Small("fft2", ("h = self.fc(x)\n" "return torch.fft.fft2(h).real"), LINEAR),
    Small("diff", ("h = self.fc(x)\n" "return torch.diff(h, dim=0, prepend=h[:1])"), LINEAR),
    Small("vmap", ("h = self.fc(x)\n" "return torch.vmap(lambda r: r - h.mean(0))(h)"), LINEAR),
    Small(
        "einops",
        (
            "from einops import rearrange\n"
            "return rearrange(self.fc(x), '(b c) d -> b (c d)', c=2)"
        ),
        LINEAR,
    ),
    Small(
        "autograd in forward",
        (
            "h = self.fc(x)\n"
            "return torch.autograd.grad(h.sum(), self.fc.weight, create_graph=True)[0].sum() * h"
        ),
        LINEAR,
    ),
    Small("call super", "return super().__call__(x)", LINEAR),
    Small(
        "weights from samples",
        ("h = self.fc(x)\n" "w = h.t() @ h\n" "return F.linear(h, w)"),
        LINEAR,
    ),
    Small(
        "conv weights",
        ("h = self.conv(x)\n" "return F.conv2d(h, h[:4, :, :3, :3])"),
        CONV,
        IMAGE,
    ),
    Small(
        "embedding lookup own", ("h = self.fc(x)\n" "return F.embedding(h.argmax(1), h)"), LINEAR
    ),
    Small(
        "default arg",
        (
            "def f(h, acc=[]):\n"
            "    acc.append(h.mean(0))\n"
            "    return acc[0]\n"
            "h = self.fc(x)\n"
            "return h - f(h)"
        ),
        LINEAR,
    ),
    Small(
        "setattr",
        ("h = self.fc(x)\n" "setattr(self, 'm', h.mean(0))\n" "return h - self.m"),
        (LINEAR + "\n" "self.m = 0"),
    ),
    Small(
        "__dict__",
        ("h = self.fc(x)\n" "self.__dict__['m'] = h.mean(0)\n" "return h - self.m"),
        (LINEAR + "\n" "self.m = 0"),
    ),
    Small(
        "chunk unsqueeze bn",
        ("h = self.fc(x)\n" "return F.instance_norm(h.t().unsqueeze(0))[0].t()"),
        LINEAR,
    ),
    Small(
        "prelu fine but group",
        ("h = self.conv(x)\n" "B, C, H, W = h.shape\n" "return h.view(C, B, H, W).mean(1)"),
        CONV,
        IMAGE,
    ),
    Small(
        "minibatch discrimination",
        (
            "M = (x @ self.t).view(-1, 3, 2)\n"
            "d = (M.unsqueeze(0) - M.unsqueeze(1)).abs().sum(3)\n"
            "return torch.exp(-d).sum(0)"
        ),
        "self.t = nn.Parameter(torch.randn(5, 6))",
    ),
    Small(
        "minibatch stddev",
        ("s = self.fc(x).std(0).mean()\n" "return torch.cat([x, s.expand(x.size(0), 1)], 1)"),
        LINEAR,
    ),
    Small(
        "stylegan group",
        (
            "h = self.conv(x)\n"
            "N, C, H, W = h.shape\n"
            "y = h.reshape(2, -1, 1, C, H, W)\n"
            "y = y - y.mean(0)\n"
            "return h + y.mean((0, 3, 4, 5)).mean()"
        ),
        CONV,
        IMAGE,
    ),
    Small(
        "ghost bn",
        (
            "h = self.fc(x)\n"
            "parts = [self.bn(p) for p in h.chunk(2, 0)]\n"
            "return torch.cat(parts)"
        ),
        (LINEAR + "\n" "self.bn = nn.BatchNorm1d(3)"),
    ),
    Small(
        "temporal shift merged",
        (
            "h = self.fc(x)\n"
            "n = h.size(0) // 2\n"
            "v = h.view(n, 2, 3)\n"
            "return v.flip(1).view(-1, 3)"
        ),
        LINEAR,
    ),
    Small(
        "segments", ("h = self.fc(x).view(-1, 2, 3)\n" "return h.flip(1).reshape(-1, 3)"), LINEAR
    ),
    Small(
        "segments symbol",
        ("h = self.fc(x).view(-1, self.k, 3)\n" "return h.mean(1)"),
        (LINEAR + "\n" "self.k = 2"),
    ),
    Small("drawn item decides", "if torch.rand(1).item() > 0.5:\n    x = x * 2\nreturn x", LINEAR),
    Small("drawn float decides", "if float(torch.rand(1)) > 0.5:\n    x = x * 2\nreturn x", LINEAR),
    Small("drawn item for all", "return x * torch.rand(1).item()", LINEAR),
    Small("drawn float for all", "return x * float(torch.rand(1))", LINEAR),
    Small("drawn place for all", "k = torch.randint(0, 3, (1,)).item()\nreturn x * k", LINEAR),
    Small("drawn int for all", "k = int(torch.randint(0, 3, (1,)))\nreturn self.fc(x) * k", LINEAR),
    Small("drawn list for all", "k = torch.rand(3).tolist()\nreturn x * k[0]", LINEAR),
    Small("drawn start for all", "i = torch.randint(5, (1,)).item()\nreturn x[:, i:]", LINEAR),
    Small("einsum over samples", "h = self.fc(x)[:, 0:2]\nreturn torch.einsum('nd->d', h)", LINEAR),
    Small("divided by the number", "return self.fc(x) / len(x)", LINEAR),
    Small("places times values", "return self.fc(x) * torch.arange(len(x))[:, None]", LINEAR),
    Small(
        "repeated in two orders",
        "n = x.size(0)\na = x.repeat(2, 1)\nb = x.repeat_interleave(2, 0)\nreturn (a * b).view(n, 2, -1).mean(1)",  # noqa: E501
        LINEAR,
    ),
    Small("flip of samples", "return torch.flip(x, (0,))", LINEAR),
    Small("roll of samples", "return x.roll(1)", LINEAR),
    Small("fft over all axes", "return torch.fft.fftn(x).real", LINEAR),
    Small("softmax of one row per sample", "return F.softmax(self.fc(x)[:, 0])", LINEAR),
    Small("halves of the batch", "a, b = x.chunk(2)\nreturn a + b", LINEAR),
    Small(
        "a schedule at places in the batch",
        "t = torch.arange(x.size(0))\nreturn x * torch.gather(self.bar, 0, t).view(-1, 1)",
        "self.register_buffer('bar', torch.linspace(1.0, 0.1, 6))",
    ),
    Small(
        "a table by places in the batch",
        "t = self.fc(x).argmax(1, keepdim=True)\nreturn self.bar.gather(1, t) * x",
        LINEAR + "\nself.register_buffer('bar', torch.linspace(1.0, 0.1, 18).view(6, 3))",
    ),
    Small("gather of samples", "i = x.argsort(1)\nreturn x.gather(0, i)", LINEAR),
    Small(
        "scatter of samples",
        "h = torch.zeros_like(x)\nreturn h.scatter(0, x.argsort(1), x)",
        LINEAR,
    ),
    Small(
        "scatter_add of samples",
        "h = torch.zeros_like(x)\nreturn h.scatter_add(0, x.argsort(1), x)",
        LINEAR,
    ),
    Small("one_hot without classes", "return F.one_hot(x.argmax(1)).float()", LINEAR),
    Small("any decides", "if (x > 0).any():\n    x = x * 2\nreturn x", LINEAR),
    Small("number decides", "if len(x) > 3:\n    x = x * 2\nreturn x", LINEAR),
    Small(
        "batch_norm function", "return F.batch_norm(self.fc(x), None, None, training=True)", LINEAR
    ),
    Small("padded samples", "return F.pad(x, (0, 0, 1, 0))[:-1]", LINEAR),
    Small(
        "attention over samples",
        "h = x[:, :, :].transpose(0, 1)\nreturn F.scaled_dot_product_attention(h, h, h).transpose(0, 1)",  # noqa: E501
        LINEAR,
    ),
    Small("permuted samples", "return x[torch.randperm(len(x))]", LINEAR),
    Small("interleaved halves", "return x.view(2, -1, 5).transpose(0, 1).reshape(-1, 5)", LINEAR),
    Small("batch behind itself", "return torch.cat([x, x.flip(1)], 0)[:6]", LINEAR),
    Small("two rows per sample", "return x.repeat_interleave(2, dim=0)", LINEAR),
    Small("first sample taken off", "return x - x.select(0, 0)", LINEAR),
    Small("embedding of samples", "return F.embedding(x.argmax(1), x)", LINEAR),
    Small("cumsum of samples", "return x.cumsum(0)", LINEAR),
    Small("unique of samples", "return torch.unique(x)", LINEAR),
    Small(
        "covariance by matmul",
        "h = x[:, 0:2]\nreturn x @ (h.t() @ h) if False else h @ (h.t() @ h)",
        LINEAR,
    ),
    Small("gram matrix", "h = x[:, 0:2]\nreturn h @ h.t()", LINEAR),
]
