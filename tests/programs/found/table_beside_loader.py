# auto: noise of a table is cut out by a counter, and meets the batch of a loader in another loss
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
dev = "cpu"
real = torch.randn(48, 2) * 0.5 + 1
loader = DataLoader(TensorDataset(real), batch_size=12, drop_last=True)
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(dev)
D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)).to(dev)
og = torch.optim.SGD(G.parameters(), 1e-2); od = torch.optim.SGD(D.parameters(), 1e-2)
fixed = torch.randn(8, 4, device=dev)
bce = nn.BCEWithLogitsLoss()
def gp(x, f):
    e = torch.full((x.size(0), 1), 0.5, device=x.device)
    m = (e * x + (1 - e) * f).requires_grad_(True)
    g, = torch.autograd.grad(D(m).sum(), m, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()
zs = torch.linspace(-1, 1, 48 * 4).reshape(48, 4).to(dev)
for epoch in range(2):
    for i, (x,) in enumerate(loader):
        x = x.to(dev); z = zs[i * 12:(i + 1) * 12]
        f = G(z)
        ld = bce(D(x), torch.ones(x.size(0), 1, device=dev)) + bce(D(f.detach()), torch.zeros(x.size(0), 1, device=dev)) + 10 * gp(x, f.detach())
        od.zero_grad(); ld.backward(); od.step()
        lg = bce(D(f), torch.ones_like(D(f)))
        og.zero_grad(); lg.backward(); og.step()
    with torch.no_grad():
        print(epoch, ld.item(), lg.item(), G(fixed).mean().item())
torch.save({"G": G.state_dict(), "D": D.state_dict()}, "gan.pt")
