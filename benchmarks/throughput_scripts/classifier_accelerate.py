"""The classifier, made distributed with Accelerate."""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from classifier import BATCH, make_data, make_model
from torch import nn
from torch.utils.data import DataLoader


def main() -> None:
    """Train."""
    accelerator = Accelerator(
        cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=True)
    )
    model = make_model()
    criterion = nn.CrossEntropyLoss()
    model, optimizer, loader = accelerator.prepare(
        model,
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        DataLoader(make_data(), batch_size=BATCH, shuffle=True),
    )
    for epoch in range(2):
        totals = torch.zeros(3)
        for image, label in loader:
            logits = model(image)
            loss = criterion(logits, label)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            totals[0] += loss.item() * label.size(0)
            totals[1] += (logits.argmax(1) == label).sum().item()
            totals[2] += label.size(0)
        total, correct, seen = accelerator.reduce(totals).tolist()
        accelerator.print(f"epoch {epoch}: loss {total / seen:.4f}, {correct / seen:.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
