"""A convolutional classifier."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, BATCH = 25 * 128, 128


def main() -> None:
    """Train."""
    torch.manual_seed(0)
    images = torch.randn(SAMPLES, 3, 16, 16)
    labels = torch.randint(0, 10, (SAMPLES,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for image, label in loader:
        loss = criterion(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
