"""Two encoders, each of whose samples is compared with all of the batch."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, BATCH, SIZE = 25 * 128, 128, 128


def encoder() -> nn.Sequential:
    """Return the encoder of one kind of sample."""
    return nn.Sequential(
        nn.Linear(512, 1024),
        nn.ReLU(),
        nn.Linear(1024, 1024),
        nn.ReLU(),
        nn.Linear(1024, SIZE),
    )


def main() -> None:
    """Train."""
    torch.manual_seed(0)
    images, texts = torch.randn(2, SAMPLES, 512)
    loader = DataLoader(TensorDataset(images, texts), batch_size=BATCH, shuffle=True)
    image_encoder, text_encoder = encoder(), encoder()
    parameters = [*image_encoder.parameters(), *text_encoder.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=0.001)
    for image, text in loader:
        image_features = functional.normalize(image_encoder(image), dim=1)
        text_features = functional.normalize(text_encoder(text), dim=1)
        logits = image_features @ text_features.T / 0.07
        target = torch.arange(len(logits))
        loss = functional.cross_entropy(logits, target) + functional.cross_entropy(logits.T, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
