"""Semi-supervised training: a small labelled set is repeated beside a large unlabelled one."""
from itertools import cycle

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size

LABELLED_BATCH = 12
UNLABELLED_BATCH = 36


def two_clusters(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    x = torch.randn(n, 2, generator=g) * torch.tensor([1.5, 0.3])
    x[:, 1] += 2.0 * y - 1.0
    return x, y


def train_epoch(model, labelled, unlabelled, optimizer, device, ramp):
    model.train()
    sup, unsup = 0.0, 0.0
    for (x, y), (u,) in zip(cycle(labelled), unlabelled):
        x, y, u = x.to(device), y.to(device), u.to(device)
        supervised = F.cross_entropy(model(x), y)
        # entropy minimisation on what has no label
        p = F.softmax(model(u), dim=1)
        entropy = -(p * p.clamp_min(1e-8).log()).sum(dim=1).mean()
        loss = supervised + ramp * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sup += supervised.item()
        unsup += entropy.item()
    sup, unsup = mean(torch.tensor([sup, unsup], dtype=torch.float64)).tolist()
    return sup / len(unlabelled), unsup / len(unlabelled)


def main():
    setup()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    few, many = TensorDataset(*two_clusters(36, 1)), TensorDataset(two_clusters(540, 2)[0])
    samplers = [None, None]
    if world_size() > 1:
        samplers = [DistributedSampler(data, shuffle=False) for data in (few, many)]
    labelled = DataLoader(few, batch_size=share_of(LABELLED_BATCH), sampler=samplers[0])
    unlabelled = DataLoader(many, batch_size=share_of(UNLABELLED_BATCH), sampler=samplers[1])
    test_x, test_y = two_clusters(300, 3)

    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)).to(device)
    if world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    for epoch in range(6):
        supervised, entropy = train_epoch(model, labelled, unlabelled, optimizer, device, ramp=0.1 * epoch)
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x.to(device)).argmax(1).cpu() == test_y).sum().item() / len(test_y)
        if is_main():
            print("epoch", epoch, "supervised %.4f entropy %.4f accuracy %.3f" % (supervised, entropy, accuracy))

    if is_main():
        torch.save((model.module if world_size() > 1 else model).state_dict(), "semi.pt")
    cleanup()


if __name__ == "__main__":
    main()
