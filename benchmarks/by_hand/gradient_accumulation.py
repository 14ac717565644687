# Big effective batches on a small card: gradients of several mini batches are
# accumulated before each step.

from contextlib import nullcontext

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset, DataLoader
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size

# hyper-parameters
num_epochs = 6
batch_size = 24
accum_iter = 4
learning_rate = 0.2
log_every = 10

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SpiralDataset(Dataset):
    """Three interleaved spiral arms in the plane."""

    def __init__(self, points_per_arm=192, arms=3):
        g = torch.Generator().manual_seed(99)
        n = points_per_arm * arms
        arm = torch.arange(n) % arms
        radius = torch.linspace(0.1, 1, n)
        angle = 4 * radius + arm * (2 * 3.14159 / arms) + 0.1 * torch.randn(n, generator=g)
        self.x = torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)
        self.y = arm
        # fixed order, but mixed radii
        order = torch.randperm(n, generator=g)
        self.x, self.y = self.x[order], self.y[order]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SpiralNet(nn.Module):
    def __init__(self):
        super(SpiralNet, self).__init__()
        self.fc1 = nn.Linear(2, 48)
        self.fc2 = nn.Linear(48, 48)
        self.fc3 = nn.Linear(48, 3)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def main():
    setup()
    torch.manual_seed(0)
    train_dataset = SpiralDataset()
    sampler = None
    if world_size() > 1:
        sampler = DistributedSampler(train_dataset, shuffle=False)
    train_loader = DataLoader(dataset=train_dataset,
                              batch_size=share_of(batch_size),
                              sampler=sampler)

    model = SpiralNet().to(device)
    if world_size() > 1:
        model = DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

    total_step = len(train_loader)
    for epoch in range(num_epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        optimizer.zero_grad()
        for i, (points, labels) in enumerate(train_loader):
            points = points.to(device)
            labels = labels.to(device)

            # Forward pass
            steps = (i + 1) % accum_iter == 0
            with nullcontext() if steps or world_size() == 1 else model.no_sync():
                outputs = model(points)
                loss = criterion(outputs, labels)

                # normalize loss to account for batch accumulation
                loss = loss / accum_iter
                loss.backward()

            # weights update
            if steps:
                optimizer.step()
                optimizer.zero_grad()

            if (i + 1) % log_every == 0:
                loss = mean(loss)
                if is_main():
                    print('Epoch [{}/{}], Step [{}/{}], Loss: {:.4f}'
                          .format(epoch + 1, num_epochs, i + 1, total_step, loss.item() * accum_iter))

    # Save the model checkpoint
    if is_main():
        net = model.module if world_size() > 1 else model
        torch.save(net.state_dict(), 'spiral.ckpt')
    cleanup()


main()
