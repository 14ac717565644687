"""A shuffling script in plain style: the original of the audit's tests."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 12

torch.manual_seed(1)
generator = torch.Generator().manual_seed(7)
features = torch.randn(48, 4, generator=generator)
labels = (features.sum(dim=1) > 0).long()
train_set = TensorDataset(features, labels)
test_set = TensorDataset(features[:11], labels[:11])

train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
test_loader = DataLoader(test_set, batch_size=4)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

os.makedirs("checkpoints", exist_ok=True)
for epoch in range(2):
    model.train()
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in test_loader:
            correct += (model(inputs).argmax(dim=1) == targets).sum().item()
    print(f"epoch {epoch}: {correct} of {len(test_set)} correct")
    torch.save(
        {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
        "checkpoints/last.pt",
    )
with open("log.txt", "a") as log:
    log.write("done\n")
