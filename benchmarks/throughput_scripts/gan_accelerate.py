"""The generative adversarial network, made distributed with Accelerate."""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from gan import BATCH, make_data, make_discriminator, make_generator
from torch import nn
from torch.utils.data import DataLoader


def main() -> None:
    """Train."""
    accelerator = Accelerator(
        cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=True)
    )
    generator, discriminator = make_generator(), make_discriminator()
    criterion = nn.BCEWithLogitsLoss()
    generator, discriminator, generator_optimizer, discriminator_optimizer, loader = (
        accelerator.prepare(
            generator,
            discriminator,
            torch.optim.Adam(generator.parameters(), lr=0.0002),
            torch.optim.Adam(discriminator.parameters(), lr=0.0002),
            DataLoader(make_data(), batch_size=BATCH, shuffle=True),
        )
    )
    for step, (real, noise) in enumerate(loader):
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        discriminator_optimizer.zero_grad()
        real_loss = criterion(discriminator(real), ones)
        accelerator.backward(real_loss)
        fake = generator(noise)
        fake_loss = criterion(discriminator(fake.detach()), zeros)
        accelerator.backward(fake_loss)
        discriminator_optimizer.step()
        generator_optimizer.zero_grad()
        generator_loss = criterion(discriminator(fake), ones)
        accelerator.backward(generator_loss)
        generator_optimizer.step()
        if step % 20 == 0:
            shown = torch.stack([real_loss + fake_loss, generator_loss]).detach()
            first, second = accelerator.reduce(shown, "mean").tolist()
            accelerator.print(f"{step}: {first:.4f} {second:.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
