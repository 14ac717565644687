"""Trains a vocoder against a discriminator, in processes of its own, one for each GPU."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter

torch.backends.cudnn.benchmark = True


class Mels(torch.utils.data.Dataset):
    def __init__(self, names, segment):
        self.names = names
        self.segment = segment

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        wave = torch.sin(torch.arange(self.segment) * (1.0 + index % 7))
        return wave[::4], wave


class Generator(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.up = nn.ConvTranspose1d(1, channels, 4, stride=4)
        self.out = nn.Conv1d(channels, 1, 3, padding=1)

    def forward(self, x):
        return torch.tanh(self.out(F.leaky_relu(self.up(x.unsqueeze(1))))).squeeze(1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(1, 16, 5), nn.LeakyReLU(), nn.Conv1d(16, 1, 3))

    def forward(self, y):
        return self.layers(y.unsqueeze(1))


def save_checkpoint(filepath, obj):
    print(f"Saving checkpoint to {filepath}")
    torch.save(obj, filepath)


def load_checkpoint(filepath, device):
    return torch.load(filepath, map_location=device)


def train(rank, a, h):
    if h["num_gpus"] > 1:
        init_process_group(
            backend="nccl",
            init_method="tcp://localhost:54321",
            world_size=h["num_gpus"],
            rank=rank,
        )
    torch.cuda.manual_seed(h["seed"])
    torch.manual_seed(h["seed"])
    device = torch.device(f"cuda:{rank:d}")
    generator = Generator(16).to(device)
    critic = Discriminator().to(device)
    if rank == 0:
        print(generator)
        os.makedirs(a.checkpoint_path, exist_ok=True)
    steps = 0
    last_epoch = -1
    if a.resume:
        state = load_checkpoint(a.resume, device)
        generator.load_state_dict(state["generator"])
        critic.load_state_dict(state["critic"])
        last_epoch = state["epoch"]
    if h["num_gpus"] > 1:
        generator = DistributedDataParallel(generator, device_ids=[rank]).to(device)
        critic = DistributedDataParallel(critic, device_ids=[rank]).to(device)
    optim_g = torch.optim.AdamW(generator.parameters(), h["learning_rate"])
    optim_d = torch.optim.AdamW(critic.parameters(), h["learning_rate"])
    names = sorted(str(i) for i in range(512))
    trainset = Mels(names[:480], 256)
    train_sampler = DistributedSampler(trainset) if h["num_gpus"] > 1 else None
    train_loader = DataLoader(
        trainset,
        num_workers=2,
        shuffle=False,
        sampler=train_sampler,
        batch_size=h["batch_size"],
        drop_last=True,
    )
    if rank == 0:
        validation_loader = DataLoader(Mels(names[480:], 1024), shuffle=False, batch_size=1)
        sw = SummaryWriter(os.path.join(a.checkpoint_path, "logs"))
    generator.train()
    critic.train()
    for epoch in range(max(0, last_epoch), a.epochs):
        if h["num_gpus"] > 1:
            train_sampler.set_epoch(epoch)
        for batch in train_loader:
            x, y = batch
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            y_hat = generator(x)
            optim_d.zero_grad()
            real, fake = critic(y), critic(y_hat.detach())
            loss_disc = F.relu(1 - real).mean() + F.relu(1 + fake).mean()
            loss_disc.backward()
            optim_d.step()
            optim_g.zero_grad()
            loss_gen = F.l1_loss(y_hat, y) * 45 - critic(y_hat).mean()
            loss_gen.backward()
            optim_g.step()
            if steps % 100 == 0:
                shown = loss_gen.detach().clone()
                dist.all_reduce(shown)
                shown /= h["num_gpus"]
                if rank == 0:
                    sw.add_scalar("training/gen_loss", shown.item(), steps)
            if rank == 0 and steps % 1000 == 0:
                path = f"{a.checkpoint_path}/g_{steps:08d}"
                net_g = generator.module if h["num_gpus"] > 1 else generator
                net_d = critic.module if h["num_gpus"] > 1 else critic
                save_checkpoint(
                    path,
                    {"generator": net_g.state_dict(), "critic": net_d.state_dict(), "epoch": epoch},
                )
                net_g.eval()
                error = 0
                with torch.no_grad():
                    for x, y in validation_loader:
                        error += F.l1_loss(net_g(x.to(device)), y.to(device)).item()
                sw.add_scalar("validation/error", error / len(validation_loader), steps)
                net_g.train()
            steps += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint_path", default="cp_hifigan")
    parser.add_argument("--resume", default="")
    parser.add_argument("--epochs", default=3100, type=int)
    a = parser.parse_args()
    h = {"seed": 1234, "batch_size": 16, "learning_rate": 2e-4, "num_gpus": 0}
    if torch.cuda.is_available():
        torch.cuda.manual_seed(h["seed"])
        h["num_gpus"] = torch.cuda.device_count()
        h["batch_size"] = int(h["batch_size"] / h["num_gpus"])
    if h["num_gpus"] > 1:
        mp.spawn(train, nprocs=h["num_gpus"], args=(a, h))
    else:
        train(0, a, h)


if __name__ == "__main__":
    main()
