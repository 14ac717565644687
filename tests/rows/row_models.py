"""Small models, each with what it does to the samples of a batch.

A case is a name, what the constructor sets, the body of ``forward`` and the shape of the input,
six samples along the axis that is named first: ``6 5`` or, time first, ``4 6 3``. What is expected
is the axis of the output, or a word of the reason why there is none.
"""

from __future__ import annotations

from typing import NamedTuple


class Small(NamedTuple):
    """One small model.

    Args:
        name: what it shows.
        forward: the body of ``forward(self, x)``.
        made: what the constructor sets.
        shape: the shape of the input; six samples.
        runs: its numbers are compared, too.
    """

    name: str
    forward: str
    made: str = ""
    shape: tuple[int, ...] = (6, 5)
    runs: bool = True


IMAGE = (6, 3, 8, 8)
SERIES = (6, 4, 5)
CONV = "self.conv = nn.Conv2d(3, 4, 3, padding=1)"
LINEAR = "self.fc = nn.Linear(5, 3)"

#: Models that keep their samples apart along axis 0 of input and output.
APART = [
    Small("linear", "return self.fc(x)", LINEAR),
    Small("log of normal chances",
          "law = torch.distributions.Normal(self.fc(x), 1.0)\nreturn law.log_prob(x[:, :3])",
          LINEAR),
    Small("chances of a place",
          "law = torch.distributions.Categorical(logits=self.fc(x))\n"
          "return law.log_prob(x[:, 0].abs() * 0) + law.entropy()", LINEAR),
    Small("chances of one of several",
          "law = torch.distributions.OneHotCategorical(logits=self.fc(x))\n"
          "return law.log_prob(F.one_hot(law.probs.argmax(-1), 3).to(x.dtype))", LINEAR),
    Small("independent chances",
          "law = torch.distributions.Independent(torch.distributions.Laplace(self.fc(x), 2.0), 1)\n"
          "return law.log_prob(x[:, :3]) + law.entropy()", LINEAR),
    Small("divergence from a fixed law",
          "law = torch.distributions.Normal(self.fc(x), 1.0)\n"
          "other = torch.distributions.Normal(0.0, 1.0)\n"
          "return torch.distributions.kl_divergence(law, other).sum(1) + law.mean[:, 0]", LINEAR),
    Small("chances of two laws, by what is set",
          "law = torch.distributions.Normal(self.fc(x), 1.0)\n"
          "if self.wide:\n    law = torch.distributions.Normal(self.fc(x), 2.0)\n"
          "return law.log_prob(x[:, :3])", LINEAR + "\nself.wide = len(type(self).__name__) > 2"),
    Small("drawn for each sample",
          "law = torch.distributions.Normal(self.fc(x), 1.0)\nreturn law.rsample()", LINEAR,
          runs=False),
    Small("chances along two axes",
          "law = torch.distributions.MultivariateNormal(x[:, :2], torch.eye(2))\n"
          "return law.log_prob(x[:, 2:4]) + self.fc(x)[:, 0]", LINEAR),
    Small("relu of linear", "return F.relu(self.fc(x))", LINEAR),
    Small("wrapped in a variable", "return self.fc(torch.autograd.Variable(x))", LINEAR),
    Small("weight of a type", "return torch.mm(x, self.weight)",
          "self.weight = nn.Parameter(torch.FloatTensor(5, 3).uniform_(-1, 1))"),
    Small("numbers of a type", "return torch.spmm(x, self.weight)",
          "self.weight = nn.Parameter(torch.Tensor([[1.0, 2.0, 3.0]] * 5))"),
    Small("softmax of features", "return self.fc(x).softmax(1)", LINEAR),
    Small("softmax of the last axis", "return F.softmax(self.fc(x), dim=-1)", LINEAR),
    Small("log softmax", "return F.log_softmax(self.fc(x), dim=1)", LINEAR),
    Small("normalised rows", "return F.normalize(self.fc(x), dim=1)", LINEAR),
    Small("normalised by default", "return F.normalize(self.fc(x))", LINEAR),
    Small("mean of features", "return self.fc(x).mean(1)", LINEAR),
    Small("mean kept", "h = self.fc(x)\nreturn h - h.mean(dim=1, keepdim=True)", LINEAR),
    Small("sum of the last axis", "return self.fc(x).sum(-1)", LINEAR),
    Small("largest feature", "return self.fc(x).max(dim=1).values", LINEAR),
    Small("largest feature by place", "return self.fc(x).max(1)[0]", LINEAR),
    Small("sorted features", "return self.fc(x).sort(dim=1)[0]", LINEAR),
    Small("cumulated features", "return self.fc(x).cumsum(dim=1)", LINEAR),
    Small("product of batches of matrices",
          "rows = x[:, :4].reshape(-1, 2, 2)\nreturn torch.bmm(rows, rows)[:, 0]"),
    Small("largest features, unpacked", "best, places = self.fc(x).topk(2, dim=-1)\nreturn best",
          LINEAR),
    Small("largest feature, unpacked", "best, place = self.fc(x).max(dim=1)\nreturn best", LINEAR),
    Small("places of the largest, unpacked",
          "best, places = self.fc(x).topk(2)\nreturn F.one_hot(places, 3).sum(1)",
          LINEAR),
    Small("flipped features", "return self.fc(x).flip(1)", LINEAR),
    Small("rolled features", "return self.fc(x).roll(1, 1)", LINEAR),
    Small("convolution", "return self.conv(x)", CONV, IMAGE),
    Small("pooled convolution", "return F.max_pool2d(F.relu(self.conv(x)), 2)", CONV, IMAGE),
    Small("flattened", "return self.fc(torch.flatten(self.conv(x), 1))",
          CONV + "\nself.fc = nn.Linear(256, 3)", IMAGE),
    Small("viewed by size", "h = self.conv(x)\nreturn self.fc(h.view(h.size(0), -1))",
          CONV + "\nself.fc = nn.Linear(256, 3)", IMAGE),
    Small("viewed by shape", "return x.reshape(x.shape[0], -1)", LINEAR + "\nself.w = self.fc",
          IMAGE),
    Small("viewed with a length", "return self.fc(self.conv(x).view(-1, 256))",
          CONV + "\nself.fc = nn.Linear(256, 3)", IMAGE),
    Small("viewed by len", "return self.fc(x.reshape(len(x), 5))", LINEAR),
    Small("global pool", "return self.conv(x).mean(dim=(2, 3))", CONV, IMAGE),
    Small("adaptive pool", "return self.fc(self.pool(self.conv(x)).flatten(1))",
          CONV + "\nself.pool = nn.AdaptiveAvgPool2d(1)\nself.fc = nn.Linear(4, 2)", IMAGE),
    Small("squeezed sums", "h = torch.mm(x, self.w)\nreturn h.sum(1, keepdim=True).squeeze()",
          "self.w = nn.Parameter(torch.randn(5, 3))"),
    Small("squeezed pool", "return self.pool(self.conv(x)).squeeze(3).squeeze(2)",
          CONV + "\nself.pool = nn.AdaptiveAvgPool2d((1, 1))", IMAGE),
    Small("batch norm", "return self.bn(self.fc(x))", LINEAR + "\nself.bn = nn.BatchNorm1d(3)"),
    Small("dropout", "return self.drop(self.fc(x))", LINEAR + "\nself.drop = nn.Dropout(0.5)"),
    Small("layer norm", "return self.norm(self.fc(x))", LINEAR + "\nself.norm = nn.LayerNorm(3)"),
    Small("group norm", "return self.norm(self.conv(x))",
          CONV + "\nself.norm = nn.GroupNorm(2, 4)", IMAGE),
    Small("instance norm", "return self.norm(self.conv(x))",
          CONV + "\nself.norm = nn.InstanceNorm2d(4)", IMAGE),
    Small("chain", "return self.net(x)",
          "self.net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))"),
    Small("list of layers", "for layer in self.layers:\n    x = F.relu(layer(x))\nreturn x",
          "self.layers = nn.ModuleList([nn.Linear(5, 5) for _ in range(3)])"),
    Small("chosen layer", "return self.layers[1](x)",
          "self.layers = nn.ModuleList([nn.Linear(5, 5) for _ in range(3)])"),
    Small("dict made by its function",
          "parts = dict(a=self.fc(x))\nparts['b'] = parts['a'] * 2\n"
          "more = dict(parts, c=x)\nmore['d'] = x\nreturn more['a'] + more['b']", LINEAR),
    Small("dict of layers", "return self.heads['a'](x) + self.heads['b'](x)",
          "self.heads = nn.ModuleDict({'a': nn.Linear(5, 3), 'b': nn.Linear(5, 3)})"),
    Small("concatenated features", "h = self.fc(x)\nreturn torch.cat([h, x], dim=1)", LINEAR),
    Small("stacked", "h = self.fc(x)\nreturn torch.stack([h, h * 2], dim=1)", LINEAR),
    Small("halves of features", "a, b = self.fc(x).chunk(2, dim=1)\nreturn a * torch.sigmoid(b)",
          "self.fc = nn.Linear(5, 6)"),
    Small("split of features", "a, b = torch.split(self.fc(x), 3, dim=1)\nreturn a + b",
          "self.fc = nn.Linear(5, 6)"),
    Small("a column", "return self.fc(x)[:, 0]", LINEAR),
    Small("a column kept", "return self.fc(x)[:, 1:2]", LINEAR),
    Small("columns", "return self.fc(x)[:, [0, 2]]", LINEAR),
    Small("own places", "h = self.fc(x)\nreturn h[torch.arange(h.size(0)), h.argmax(1)]", LINEAR),
    Small("gathered", "h = self.fc(x)\nreturn h.gather(1, h.argmax(1, keepdim=True))", LINEAR),
    Small("a schedule at own places",
          "t = self.fc(x).argmax(1)\nreturn x * torch.gather(self.bar, index=t, dim=0).view(-1, 1)",
          LINEAR + "\nself.register_buffer('bar', torch.linspace(1.0, 0.1, 3))"),
    Small("a table at own places",
          "t = self.fc(x).argmax(1, keepdim=True)\nreturn self.bar.gather(0, t.expand(-1, 5)) * x",
          LINEAR + "\nself.register_buffer('bar', torch.linspace(1.0, 0.1, 15).view(3, 5))"),
    Small("recurrent", "out, _ = self.rnn(x)\nreturn out[:, -1, :]",
          "self.rnn = nn.LSTM(5, 4, batch_first=True)", SERIES),
    Small("recurrent with states", "h = torch.zeros(1, x.size(0), 4, dtype=x.dtype)\n"
          "out, _ = self.rnn(x, h)\nreturn self.fc(out[:, -1, :])",
          "self.rnn = nn.GRU(5, 4, batch_first=True)\nself.fc = nn.Linear(4, 2)", SERIES),
    Small("last state", "x = x[:, :, :]\n_, (h, c) = self.rnn(x)\nreturn self.fc(h[-1])",
          "self.rnn = nn.LSTM(5, 4, batch_first=True)\nself.fc = nn.Linear(4, 2)", SERIES),
    Small("cells", "x = x[:, :, :]\nh = torch.zeros(x.size(0), 4, dtype=x.dtype)\n"
          "for t in range(x.size(1)):\n    h = self.cell(x[:, t], h)\nreturn h",
          "self.cell = nn.GRUCell(5, 4)", SERIES),
    Small("collected steps", "x = x[:, :, :]\nsteps = []\nfor t in range(x.size(1)):\n"
          "    steps.append(self.fc(x[:, t]))\nreturn torch.stack(steps, 1)", LINEAR, SERIES),
    Small("time moved first and back", "x = x[:, :, :].transpose(0, 1)\nout, _ = self.rnn(x)\n"
          "return out.transpose(0, 1)", "self.rnn = nn.GRU(5, 4)", SERIES),
    Small("attention by hand", "q, k, v = self.q(x), self.k(x), self.v(x)\n"
          "x = x[:, :, :]\nw = (q @ k.transpose(-2, -1)).softmax(-1)\nreturn w @ v",
          "self.q = nn.Linear(5, 4)\nself.k = nn.Linear(5, 4)\nself.v = nn.Linear(5, 4)", SERIES),
    Small("attention", "x = x[:, :, :]\nh, _ = self.att(x, x, x)\nreturn h",
          "self.att = nn.MultiheadAttention(5, 1, batch_first=True)", SERIES),
    Small("encoder", "return self.enc(x[:, :, :]).mean(1)",
          "self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(5, 1, 8, "
          "batch_first=True), 2)", SERIES),
    Small("heads", "B, T, C = x.shape\nh = x.view(B, T, 5, C // 5).transpose(1, 2)\n"
          "w = F.softmax(h @ h.transpose(2, 3), dim=-1) @ h\n"
          "return self.fc(w.transpose(1, 2).contiguous().view(B, T, C))", LINEAR, SERIES),
    Small("causal mask", "B, T, C = x.size()\nw = x @ x.transpose(1, 2)\n"
          "w = w.masked_fill(self.mask[:T, :T] == 0, float('-inf'))\nreturn F.softmax(w, -1) @ x",
          LINEAR + "\nself.register_buffer('mask', torch.tril(torch.ones(9, 9)))", SERIES),
    Small("merged with time and back", "B, T, C = x.shape\n"
          "return self.fc(x.view(B * T, C)).view(B, T, -1)", LINEAR, SERIES),
    Small("merged by flatten and back", "B, T, C = x.shape\n"
          "return self.fc(x.flatten(0, 1)).reshape(B, T, 3)", LINEAR, SERIES),
    Small("token for all", "B, T, C = x.shape\n"
          "return torch.cat((self.token.expand(B, -1, -1), x), dim=1)",
          LINEAR + "\nself.token = nn.Parameter(torch.zeros(1, 1, 5))", SERIES),
    Small("token repeated", "B, T, C = x.shape\n"
          "return torch.cat((self.token.repeat(B, 1, 1), x), dim=1)",
          LINEAR + "\nself.token = nn.Parameter(torch.zeros(1, 1, 5))", SERIES),
    Small("position table", "B, T, C = x.shape\nreturn x + self.pos(torch.arange(T))",
          LINEAR + "\nself.pos = nn.Embedding(9, 5)", SERIES),
    Small("position buffer", "return self.fc(x[:, :, :] + self.pe[:, :x.size(1)])",
          LINEAR + "\nself.register_buffer('pe', torch.randn(1, 9, 5))", SERIES),
    Small("own parameters", "return x @ self.w + self.b",
          "self.w = nn.Parameter(torch.randn(5, 3))\nself.b = nn.Parameter(torch.zeros(3))"),
    Small("functional linear", "return F.linear(x, self.w)",
          "self.w = nn.Parameter(torch.randn(3, 5))"),
    Small("sum with einsum", "return torch.einsum('bf,of->bo', x, self.w)",
          "self.w = nn.Parameter(torch.randn(3, 5))"),
    Small("batched einsum", "return torch.einsum('btc,bsc->bts', x, x)", LINEAR, SERIES),
    Small("batched product", "x = x[:, :, :]\nreturn torch.bmm(x, x.transpose(1, 2))", LINEAR,
          SERIES),
    Small("outer product by sample", "h = self.fc(x)\nreturn h.unsqueeze(2) * h.unsqueeze(1)",
          LINEAR, runs=True),
    Small("distances to centres", "return torch.cdist(self.fc(x), self.centres)",
          LINEAR + "\nself.centres = nn.Parameter(torch.randn(4, 3))"),
    Small("similarity to centres",
          "return F.cosine_similarity(self.fc(x).unsqueeze(1), self.centres, dim=2)",
          LINEAR + "\nself.centres = nn.Parameter(torch.randn(4, 3))"),
    Small("two views of a batch", "h = torch.cat([x, x * 2], dim=0)\na, b = self.fc(h).chunk(2)\n"
          "return a + b", LINEAR),
    Small("two views cut by number", "n = x.size(0)\nh = self.fc(torch.cat([x, -x]))\n"
          "return h[:n] * h[n:]", LINEAR),
    Small("branch on training", "if self.training:\n    return self.fc(x)\n"
          "return self.fc(x) * 2", LINEAR),
    Small("branch on a setting", "if self.deep:\n    x = F.relu(x)\nreturn self.fc(x)",
          LINEAR + "\nself.deep = True"),
    Small("optional layer", "h = self.fc(x)\nif self.extra is not None:\n    h = self.extra(h)\n"
          "return h", LINEAR + "\nself.extra = None"),
    Small("assertion", "assert x.size(0) > 0\nreturn self.fc(x)", LINEAR),
    Small("check that raises", "if x.size(0) == 0:\n    raise ValueError('empty')\n"
          "return self.fc(x)", LINEAR),
    Small("check of values that raises", "if torch.isnan(x).any():\n"
          "    raise ValueError('not a number')\nreturn self.fc(x)", LINEAR),
    Small("helper function", "return twice(self.fc(x))", LINEAR),
    Small("lambda", "f = lambda h: h * 2\nreturn f(self.fc(x))", LINEAR),
    Small("inner function", "def f(h):\n    return h + x.sum(1, keepdim=True)\n"
          "return f(self.fc(x))", LINEAR),
    Small("method", "return self.scaled(self.fc(x), 3)", LINEAR),
    Small("pixel shuffle", "return self.up(self.conv(x))",
          CONV + "\nself.up = nn.PixelShuffle(2)", IMAGE),
    Small("interpolation", "return F.interpolate(self.conv(x), scale_factor=2)", CONV, IMAGE),
    Small("padding", "return self.conv(F.pad(x, (1, 1, 0, 0)))", CONV, IMAGE),
    Small("masked fill", "h = self.fc(x)\nreturn h.masked_fill(h < 0, 0.0)", LINEAR),
    Small("where", "h = self.fc(x)\nreturn torch.where(h > 0, h, torch.zeros_like(h))", LINEAR),
    Small("stored columns", "h = self.fc(x)\nout = torch.zeros_like(h)\nout[:, 0] = h[:, 1]\n"
          "return out", LINEAR),
    Small("stored by a condition", "h = self.fc(x).clone()\nh[h < 0] = 0\nreturn h", LINEAR),
    Small("in place", "h = self.fc(x)\nh.mul_(2).add_(1)\nreturn h", LINEAR),
    Small("in place by operator", "h = self.fc(x)\nh += x[:, :3]\nreturn h", LINEAR),
    Small("scattered in each row", "h = self.fc(x)\n"
          "return torch.zeros_like(h).scatter(1, h.argmax(1, keepdim=True), 1.0)", LINEAR),
    Small("one hot", "h = self.fc(x)\nreturn F.one_hot(h.argmax(1), 3)", LINEAR),
    Small("noise of each sample", "h = self.fc(x)\nreturn h + torch.randn_like(h)", LINEAR,
          runs=False),
    Small("a draw for each sample beside it",
          "h = self.fc(x)\nreturn torch.cat([h, torch.rand(x.size(0), 1).expand(-1, 3)], dim=1)",
          LINEAR, runs=False),
    Small("loss of each row",
          "h = self.fc(x)\nlosses = F.cross_entropy(h, h.argmax(1), reduction='none')\n"
          "return losses + x[:, 0]", LINEAR),
    Small("noise by size", "h = self.fc(x)\nreturn h + torch.randn(h.size())", LINEAR,
          runs=False),
    Small("permuted images", "return self.conv(x.permute(0, 1, 3, 2))", CONV, IMAGE),
    Small("channels last", "return self.norm(self.conv(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)",
          CONV + "\nself.norm = nn.LayerNorm(4)", IMAGE),
    Small("quantile of features", "return torch.quantile(self.fc(x), 0.5, dim=1)", LINEAR),
    Small("median of features", "return self.fc(x).median(dim=1).values", LINEAR),
    Small("top features", "return self.fc(x).topk(2, dim=1)[0]", LINEAR),
    Small("residual blocks", "return self.blocks(x)",
          "self.blocks = nn.Sequential(Block(5), Block(5))"),
    Small("repeated samples", "n = x.size(0)\nh = x.repeat_interleave(2, dim=0)\n"
          "return self.fc(h).view(n, 2, -1).mean(1)", LINEAR),
    Small("parts of images", "B, C, H, W = x.shape\n"
          "p = x.reshape(B, C, H // 4, 4, W // 4, 4).permute(0, 2, 4, 3, 5, 1)\n"
          "return self.fc(p.reshape(B, 4, 48))", "self.fc = nn.Linear(48, 3)", IMAGE),
    Small("weights of attention kept", "x = x[:, :, :]\nw = (x @ x.transpose(1, 2)).softmax(-1)\n"
          "self.last = w\nreturn w @ x", LINEAR, SERIES),
    Small("named outputs", "return {'a': self.fc(x), 'b': x}['a']", LINEAR),
    Small("list of outputs added", "outs = [f(x) for f in (self.fc, self.fc)]\nreturn sum(outs)",
          LINEAR),
    Small("variance of features", "return self.fc(x).var(dim=1, unbiased=False)", LINEAR),
    Small("norm of rows", "h = self.fc(x)\nreturn h / h.norm(dim=1, keepdim=True)", LINEAR),
    Small("norm of rows by p", "h = self.fc(x)\nreturn h / h.norm(2, 1, True)", LINEAR),
    Small("bilinear", "return self.two(x, x)", "self.two = nn.Bilinear(5, 5, 2)"),
    Small("checkpointed", "return torch.utils.checkpoint.checkpoint(self.fc, x)", LINEAR),
    Small("gate of channels", "h = self.conv(x)\n"
          "return h * torch.sigmoid(h.mean((2, 3), keepdim=True))", CONV, IMAGE),
    Small("triangle", "x = x[:, :, :]\nreturn torch.tril(x @ x.transpose(1, 2))", LINEAR, SERIES),
    Small("gumbel", "return F.gumbel_softmax(self.fc(x), tau=1.0, dim=-1)", LINEAR, runs=False),
]  # fmt: skip

#: Models that mix their samples, with a word of the reason.
COUPLED = [
    (Small("a branch that writes more than is chosen",
          "m = x[:, 0] > 0\nout = self.fc(x)\nif m.any():\n"
          "    out[m] = self.fc(2 * x[m])\n    out[:, 0] = 0.0\nreturn out",
          LINEAR, runs=False), "any"),
    (Small("a branch whose name goes on",
          "m = x[:, 0] > 0\nout, h = self.fc(x), 1.0\nif m.any():\n"
          "    h = 2.0\n    out[m] = self.fc(2 * x[m])\nreturn out * h",
          LINEAR, runs=False), "any"),
    (Small("a branch by another mask",
          "m, n = x[:, 0] > 0, x[:, 1] > 0\nout = self.fc(x)\nif m.any():\n"
          "    out[n] = self.fc(2 * x[n])\nreturn out", LINEAR, runs=False), "any"),
    (Small("chances among the samples",
           "law = torch.distributions.Categorical(logits=self.fc(x)[:, 0])\n"
           "return self.fc(x) + law.entropy()", LINEAR), "sample"),
    (Small("all samples as one draw",
           "law = torch.distributions.Independent(torch.distributions.Normal(self.fc(x), 1.0), 2)\n"
           "return self.fc(x) + law.log_prob(x[:, :3])", LINEAR), "sample"),
    (Small("chances of every sample for every other",
           "law = torch.distributions.Normal(self.fc(x)[:, :1], 1.0)\n"
           "return law.log_prob(self.fc(x)[:, 1])", LINEAR), "every other"),
    (Small("one draw of a law for all",
           "by = torch.distributions.Normal(torch.zeros(3), 1.0).sample()\n"
           "return self.fc(x) * by", LINEAR, runs=False), "random draw"),
    (Small("softmax of samples", "return self.fc(x).softmax(0)", LINEAR), "softmax"),
    (Small("softmax of samples by keyword", "return F.softmax(self.fc(x), dim=0)", LINEAR),
     "softmax"),
    (Small("softmax of samples from behind", "h = self.fc(x)[:, 0:2]\n"
           "return torch.softmax(h, dim=-2)", LINEAR), "softmax"),
    (Small("layer of softmax", "return self.s(self.fc(x))",
           LINEAR + "\nself.s = nn.Softmax(dim=0)"), "softmax"),
    (Small("normalised columns", "return F.normalize(self.fc(x), dim=0)", LINEAR), "normalize"),
    (Small("centred", "h = self.fc(x)\nreturn h - h.mean(0)", LINEAR), "mean"),
    (Small("centred by keyword", "h = self.fc(x)\nreturn h - h.mean(dim=0, keepdim=True)", LINEAR),
     "mean"),
    (Small("whitened", "h = self.fc(x)\nreturn (h - h.mean(0)) / h.std(0)", LINEAR), "mean"),
    (Small("scaled by the largest", "h = self.fc(x)\nreturn h / h.abs().max()", LINEAR), "max"),
    (Small("scaled by the largest of columns", "h = self.fc(x)\nreturn h / h.max(dim=0)[0]",
           LINEAR), "max"),
    (Small("smallest taken off", "h = self.fc(x)\nreturn h - torch.min(h)", LINEAR), "min"),
    (Small("smallest over the samples", "h = self.fc(x)\nreturn h - torch.amin(h, 0)", LINEAR),
     "amin"),
    (Small("median of samples", "h = self.fc(x)\nreturn h - h.median(dim=0).values", LINEAR),
     "median"),
    (Small("quantile of samples", "h = self.fc(x)\nreturn h - torch.quantile(h, 0.5, dim=0)",
           LINEAR), "quantile"),
    (Small("sorted samples", "return self.fc(x).sort(dim=0)[0]", LINEAR), "sort"),
    (Small("order of samples", "return x[self.fc(x)[:, 0].argsort()]", LINEAR), "argsort"),
    (Small("flipped samples", "h = self.fc(x)\nreturn h + h.flip(0)", LINEAR), "flip"),
    (Small("flipped samples by list", "h = self.fc(x)\nreturn h + torch.flip(h, [0])", LINEAR),
     "flip"),
    (Small("rolled samples", "h = self.fc(x)\nreturn h + h.roll(1, 0)", LINEAR), "roll"),
    (Small("rolled by keyword", "h = self.fc(x)\nreturn h + torch.roll(h, 1, dims=0)", LINEAR),
     "roll"),
    (Small("rolled everything", "h = self.fc(x)\nreturn h + h.roll(1)", LINEAR), "roll"),
    (Small("cumulated samples", "return self.fc(x).cumsum(0)", LINEAR), "cumsum"),
    (Small("cumulated largest", "return self.fc(x).cummax(dim=0)[0]", LINEAR), "cummax"),
    (Small("similarity of samples", "h = self.fc(x)\nreturn h @ h.t()", LINEAR), "every sample"),
    (Small("similarity by T", "h = self.fc(x)\nreturn torch.matmul(h, h.T)", LINEAR),
     "every sample"),
    (Small("attention of samples", "h = self.fc(x)\nreturn (h @ h.t()).softmax(-1) @ h", LINEAR),
     "every sample"),
    (Small("distances of samples", "h = self.fc(x)\nreturn torch.cdist(h, h)", LINEAR),
     "every sample"),
    (Small("differences of samples", "h = self.fc(x)\nreturn h[:, None] - h[None, :]", LINEAR),
     "every"),
    (Small("covariance", "h = self.fc(x)\nreturn h @ (h.t() @ h)", LINEAR), "summed over"),
    (Small("einsum over samples", "h = self.fc(x)\nreturn torch.einsum('bi,bj->ij', h, h)", LINEAR),
     "summed"),
    (Small("einsum of pairs", "h = self.fc(x)\nreturn torch.einsum('bi,ci->bc', h, h)", LINEAR),
     "ever"),
    (Small("functional batch norm",
           "return F.batch_norm(self.fc(x), None, None, training=True)", LINEAR), "batch_norm"),
    (Small("attention along the samples", "h = self.fc(x).unsqueeze(0)\n"
           "return self.att(h, h, h)[0].squeeze(0)",
           LINEAR + "\nself.att = nn.MultiheadAttention(3, 1, batch_first=True)"), "time"),
    (Small("attention without batch_first", "h = self.fc(x)[:, :2].unsqueeze(1)\n"
           "return self.att(h, h, h)[0]",
           LINEAR + "\nself.att = nn.MultiheadAttention(2, 1)"), "batch_first"),
    (Small("recurrent along the samples", "x = x[:, :, :]\nout, _ = self.rnn(x)\nreturn out[:, -1]",
           "self.rnn = nn.LSTM(5, 4)", SERIES), "batch_first"),
    (Small("encoder along the samples", "return self.enc(x[:, :, :])",
           "self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(5, 1, 8), 1)", SERIES),
     "batch_first"),
    (Small("samples as places of a signal", "return self.conv(x.t().unsqueeze(0))[0].t()",
           "self.conv = nn.Conv1d(5, 4, 3, padding=1)"), "conv1d"),
    (Small("instance norm over samples", "return self.norm(x.t().unsqueeze(0))[0].t() * self.w",
           "self.norm = nn.InstanceNorm1d(5)\nself.w = nn.Parameter(torch.ones(5))"),
     "instancenorm"),
    (Small("branch on a statistic", "if x.abs().mean() > 0.8:\n    x = x * 2\nreturn self.fc(x)",
           LINEAR, runs=False), "mean"),
    (Small("branch on the number", "if x.size(0) > 4:\n    return self.fc(x)\n"
           "return self.fc(x) * 2", LINEAR), "how many"),
    (Small("divided by the number", "return self.fc(x) / x.size(0)", LINEAR), "number"),
    (Small("multiplied by the length", "return self.fc(x) * len(x)", LINEAR), "number"),
    (Small("places of samples", "return self.fc(x) + torch.arange(x.size(0)).unsqueeze(1)", LINEAR),
     "where in the batch"),
    (Small("one sample for all", "h = self.fc(x)\nreturn h - h[0]", LINEAR), "one sample"),
    (Small("last sample", "h = self.fc(x)\nreturn h + h[-1:]", LINEAR), "cut out"),
    (Small("every other sample", "h = self.fc(x)\nreturn h[::2]", LINEAR, runs=False), "cut out"),
    (Small("mixed halves", "a, b = self.fc(x).chunk(2, dim=0)\nreturn torch.cat([b, a])", LINEAR),
     "cut out"),
    (Small("shuffled samples", "return self.fc(x)[torch.randperm(x.size(0))]", LINEAR, runs=False),
     "random order"),
    (Small("losses of rows along features",
           "h = self.fc(x)\nreturn h + F.cross_entropy(h, h.argmax(1), reduction='none')", LINEAR),
     "every other"),
    (Small("mean loss", "return F.mse_loss(self.fc(x), x[:, :3])", LINEAR), "mse_loss"),
    (Small("mean of all", "return self.fc(x).mean()", LINEAR), "mean"),
    (Small("row of several samples", "n = x.size(0)\nreturn self.two(x.view(-1, 10)).view(n, -1)",
           "self.two = nn.Linear(10, 10)", runs=False), "rows a sample"),
    (Small("transposed by view", "B, T, C = x.shape\n"
           "return self.fc(x.view(T, B, C)).view(B, T, -1)",
           LINEAR, SERIES, runs=False), "another place"),
    (Small("transposed by view and averaged", "B, T, C = x.shape\n"
           "return self.fc(x.view(T, B, C).mean(0))", LINEAR, SERIES), "another place"),
    (Small("running scale", "self.scale = 0.9 * self.scale + 0.1 * x.abs().max()\n"
           "return self.fc(x) / self.scale", LINEAR + "\nself.scale = 1.0", runs=False), "keeps"),
    (Small("kept state", "self.h = torch.tanh(self.fc(x) + self.h)\nreturn self.h",
           LINEAR + "\nself.h = 0.0", runs=False), "keeps"),
    (Small("buffer in place", "h = self.fc(x)\nself.mean.mul_(0.9).add_(h.sum(0))\n"
           "return h - self.mean", LINEAR + "\nself.register_buffer('mean', torch.zeros(3))",
           runs=False), "written"),
    (Small("one draw for all", "return self.fc(x) * torch.rand(1)", LINEAR, runs=False), "random"),
    (Small("one draw beside all",
           "h = self.fc(x)\nreturn torch.cat([h, torch.rand(1, 3).expand(x.size(0), 3)], dim=1)",
           LINEAR, runs=False), "random"),
    (Small("layer dropped at random", "h = self.fc(x)\n"
           "if random.random() < 0.5:\n    h = F.relu(h)\n"
           "return h", LINEAR, runs=False), "random"),
    (Small("hidden in a helper", "return centred(self.fc(x))", LINEAR), "mean"),
    (Small("hidden in a layer", "return self.net(x)",
           "self.net = nn.Sequential(nn.Linear(5, 5), Centred())"), "mean"),
    (Small("hidden in a list", "for layer in self.layers:\n    x = layer(x)\nreturn x",
           "self.layers = nn.ModuleList([nn.Linear(5, 5), Centred()])"), "mean"),
    (Small("hidden in a loop", "h = self.fc(x)\ntotal = 0\nfor t in range(3):\n"
           "    total = total + h.mean(0)\nreturn h - total", LINEAR), "mean"),
    (Small("hidden in an alternative", "h = self.fc(x)\n"
           "return h if self.training else h - h.mean(0)",
           LINEAR), "mean"),
    (Small("hidden in a dict", "parts = {'m': self.fc(x).mean(0)}\nreturn self.fc(x) - parts['m']",
           LINEAR), "mean"),
    (Small("hidden in a list of tensors", "h = self.fc(x)\nkept = []\nkept.append(h.mean(0))\n"
           "return h - kept[0]", LINEAR), "mean"),
    (Small("scatter along the samples", "h = self.fc(x)\n"
           "return torch.zeros_like(h).scatter_add(0, h.argmax(0, keepdim=True), h)", LINEAR),
     "argmax"),
    (Small("sums of classes", "h = self.fc(x)\nc = torch.zeros(3, 3)\n"
           "c.index_add_(0, h.argmax(1), h)\nreturn h @ c", LINEAR), "written"),
    (Small("number read out", "return self.fc(x) / x.sum().item()", LINEAR), "sum"),
    (Small("largest value read out", "h = self.fc(x)\nreturn h * float(h.abs().max())", LINEAR),
     "float"),
    (Small("samples compared with a roll of themselves",
           "h = self.fc(x)\nreturn F.cosine_similarity(h, torch.roll(h, 1, 0), dim=1)", LINEAR),
     "roll"),
    (Small("norm of everything", "h = self.fc(x)\nreturn h / h.norm()", LINEAR), "norm"),
    (Small("norm of columns", "h = self.fc(x)\nreturn h / torch.norm(h, dim=0)", LINEAR), "norm"),
    (Small("group norm across", "h = self.conv(x.permute(1, 0, 2, 3).permute(1, 0, 2, 3))\n"
           "return self.norm(h.permute(2, 1, 0, 3)).permute(2, 1, 0, 3)",
           CONV + "\nself.norm = nn.GroupNorm(2, 4)", IMAGE), "groupnorm"),
    (Small("bucket of the batch", "h = self.fc(x)\nreturn h - h.topk(2, dim=0)[0].mean(0)", LINEAR),
     "topk"),
    (Small("unique samples", "return torch.unique(self.fc(x), dim=0)", LINEAR), "unique"),
    (Small("chosen samples", "h = self.fc(x)\nreturn h[h.sum(1) > 0]", LINEAR, runs=False),
     "condition"),
    (Small("replaced sample", "h = self.fc(x).clone()\nh[0] = 0\nreturn h", LINEAR), "one sample"),
    (Small("mixed with another order", "h = self.fc(x)\nreturn torch.cat([h[1:], h[:1]], dim=0)",
           LINEAR), "cut out"),
    (Small("cross-correlation", "h = self.fc(x)\nz = (h - h.mean(0)) / h.std(0)\n"
           "return z.T @ z / x.size(0)", LINEAR), "mean"),
]  # fmt: skip

#: Models of which nothing is shown, with a word of the reason.
CHECK = [
    (Small("as many draws as is said",
           "law = torch.distributions.Normal(self.fc(x), 1.0)\nreturn law.rsample((4,)).mean(0)",
           LINEAR, runs=False), "how many times"),
    (Small("spread of each sample, which may be of others",
           "spread = self.fc(x).exp().diag_embed()\n"
           "law = torch.distributions.MultivariateNormal(self.fc(x), spread)\n"
           "return law.log_prob(x[:, :3])", LINEAR, runs=False), "beside its entries"),
    (Small("a law that no table knows",
           "law = torch.distributions.LKJCholesky(3, self.fc(x)[:, 0].exp())\n"
           "return law.log_prob(torch.eye(3))", LINEAR, runs=False), "lkjcholesky"),
    (Small("library function", "return lib.mix(self.fc(x))", LINEAR, runs=False), "lib.mix"),
    (Small("library layer", "return self.enc(self.fc(x))",
           LINEAR + "\nself.enc = lib.Encoder(3)", runs=False), "lib.encoder"),
    (Small("own function of gradients", "return Own.apply(self.fc(x))", LINEAR, runs=False),
     "own.apply"),
    (Small("fixed batch", "return self.fc(x).view(6, 3)", LINEAR), "number of samples"),
    (Small("samples one by one", "return torch.stack([self.fc(row) for row in x])", LINEAR),
     "one by one"),
    (Small("a branch where anything is chosen",
           "m = x[:, 0] > 0\nout = self.fc(x)\nif m.any():\n"
           "    out[m] = self.fc(2 * x[m])\nreturn out", LINEAR), "picked by a condition"),
    (Small("a round where nothing is chosen",
           "out = self.fc(x)\nfor k in range(2):\n    m = x[:, k] > 0\n"
           "    if not torch.any(m):\n        continue\n    h = self.fc(2 * x[m])\n"
           "    out[m] = out[m] + h\nreturn out", LINEAR), "picked by a condition"),
    (Small("printed", "h = self.fc(x)\nprint(h.sum(1))\nreturn h", LINEAR, runs=False), "printed"),
    (Small("method of a library", "h = self.fc(x)\nreturn h.my_own_method()", LINEAR, runs=False),
     "my_own_method"),
]  # fmt: skip
