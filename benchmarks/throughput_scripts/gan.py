"""A generative adversarial network, trained as in DCGAN."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, NOISE, SIZE = 128, 64, 256


def make_data() -> TensorDataset:
    """Points, and noise for each."""
    torch.manual_seed(0)
    return TensorDataset(torch.randn(80 * BATCH, 64), torch.randn(80 * BATCH, NOISE))


def make_generator() -> nn.Module:
    """The generator."""
    return nn.Sequential(
        nn.Linear(NOISE, SIZE), nn.ReLU(), nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, 64)
    )


def make_discriminator() -> nn.Module:
    """The discriminator."""
    return nn.Sequential(
        nn.Linear(64, 2 * SIZE),
        nn.LeakyReLU(0.2),
        nn.Linear(2 * SIZE, 2 * SIZE),
        nn.LeakyReLU(0.2),
        nn.Linear(2 * SIZE, 1),
    )


def main() -> None:
    """Train."""
    loader = DataLoader(make_data(), batch_size=BATCH, shuffle=True)
    generator, discriminator = make_generator(), make_discriminator()
    criterion = nn.BCEWithLogitsLoss()
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.0002)
    discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.0002)
    for step, (real, noise) in enumerate(loader):
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        discriminator_optimizer.zero_grad()
        real_loss = criterion(discriminator(real), ones)
        real_loss.backward()
        fake = generator(noise)
        fake_loss = criterion(discriminator(fake.detach()), zeros)
        fake_loss.backward()
        discriminator_optimizer.step()
        generator_optimizer.zero_grad()
        generator_loss = criterion(discriminator(fake), ones)
        generator_loss.backward()
        generator_optimizer.step()
        if step % 20 == 0:
            print(f"{step}: {(real_loss + fake_loss).item():.4f} {generator_loss.item():.4f}")


if __name__ == "__main__":
    main()
