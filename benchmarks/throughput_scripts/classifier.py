"""A convolutional classifier that prints its mean loss and accuracy after each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 128


def make_data() -> TensorDataset:
    """Images and labels."""
    torch.manual_seed(0)
    return TensorDataset(torch.randn(30 * BATCH, 3, 16, 16), torch.randint(0, 10, (30 * BATCH,)))


def make_model() -> nn.Module:
    """The classifier."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def main() -> None:
    """Train."""
    loader = DataLoader(make_data(), batch_size=BATCH, shuffle=True)
    model = make_model()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        total, correct, seen = 0.0, 0, 0
        for image, label in loader:
            logits = model(image)
            loss = criterion(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * label.size(0)
            correct += (logits.argmax(1) == label).sum().item()
            seen += label.size(0)
        print(f"epoch {epoch}: loss {total / seen:.4f}, accuracy {correct / seen:.3f}")


if __name__ == "__main__":
    main()
