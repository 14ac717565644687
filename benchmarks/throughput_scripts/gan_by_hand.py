"""The generative adversarial network, made distributed by hand, as tutorials do."""

import torch
import torch.distributed as dist
from gan import BATCH, make_data, make_discriminator, make_generator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    """Train."""
    dist.init_process_group("gloo")
    data = make_data()
    sampler: DistributedSampler[int] = DistributedSampler(data)
    loader = DataLoader(data, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    generator = DistributedDataParallel(make_generator())
    discriminator = DistributedDataParallel(make_discriminator())
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
            shown = torch.stack([real_loss + fake_loss, generator_loss]).detach()
            dist.all_reduce(shown)
            first, second = (shown / dist.get_world_size()).tolist()
            if dist.get_rank() == 0:
                print(f"{step}: {first:.4f} {second:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
