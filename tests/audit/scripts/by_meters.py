"""Trains an autoencoder with a set-up that asks the launcher and meters that agree."""

import argparse
import builtins
import json
import math
import os
import sys
from collections import defaultdict, deque

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
from torch import nn


class SmoothedValue:
    def __init__(self, window_size=20):
        self.deque = deque(maxlen=window_size)
        self.total = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.deque.append(value)
        self.count += n
        self.total += value * n

    def synchronize_between_processes(self):
        if not is_dist_avail_and_initialized():
            return
        t = torch.tensor([self.count, self.total], dtype=torch.float64, device="cuda")
        dist.barrier()
        dist.all_reduce(t)
        t = t.tolist()
        self.count = int(t[0])
        self.total = t[1]

    @property
    def global_avg(self):
        return self.total / self.count


class MetricLogger:
    def __init__(self):
        self.meters = defaultdict(SmoothedValue)

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].update(v)

    def synchronize_between_processes(self):
        for meter in self.meters.values():
            meter.synchronize_between_processes()


def setup_for_distributed(is_master):
    builtin_print = builtins.print

    def print(*args, **kwargs):
        force = kwargs.pop("force", False)
        if is_master or force:
            builtin_print(*args, **kwargs)

    builtins.print = print


def is_dist_avail_and_initialized():
    if not dist.is_available():
        return False
    return dist.is_initialized()


def get_world_size():
    if not is_dist_avail_and_initialized():
        return 1
    return dist.get_world_size()


def get_rank():
    if not is_dist_avail_and_initialized():
        return 0
    return dist.get_rank()


def is_main_process():
    return get_rank() == 0


def save_on_master(*args, **kwargs):
    if is_main_process():
        torch.save(*args, **kwargs)


def all_reduce_mean(x):
    world_size = get_world_size()
    if world_size > 1:
        x_reduce = torch.tensor(x).cuda()
        dist.all_reduce(x_reduce)
        x_reduce /= world_size
        return x_reduce.item()
    return x


def init_distributed_mode(args):
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        args.rank = int(os.environ["RANK"])
        args.world_size = int(os.environ["WORLD_SIZE"])
        args.gpu = int(os.environ["LOCAL_RANK"])
    else:
        print("Not using distributed mode")
        args.distributed = False
        return
    args.distributed = True
    torch.cuda.set_device(args.gpu)
    args.dist_backend = "nccl"
    dist.init_process_group(
        backend=args.dist_backend,
        init_method=args.dist_url,
        world_size=args.world_size,
        rank=args.rank,
    )
    dist.barrier()
    setup_for_distributed(args.rank == 0)


class AutoEncoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(192, dim), nn.GELU())
        self.decoder = nn.Linear(dim, 192)

    def forward(self, x):
        x = x.flatten(1)
        return self.decoder(self.encoder(x))


def get_args_parser():
    parser = argparse.ArgumentParser("Training", add_help=False)
    parser.add_argument("--batch_size", default=64, type=int)
    parser.add_argument("--epochs", default=20, type=int)
    parser.add_argument("--lr", default=1e-3, type=float)
    parser.add_argument("--output_dir", default="./output_dir")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--num_workers", default=2, type=int)
    parser.add_argument("--local_rank", default=-1, type=int)
    parser.add_argument("--dist_url", default="env://")
    return parser


def train_one_epoch(model, data_loader, optimizer, device, epoch):
    model.train(True)
    metric_logger = MetricLogger()
    for data_iter_step, (samples,) in enumerate(data_loader):
        samples = samples.to(device, non_blocking=True)
        outputs = model(samples)
        loss = nn.functional.mse_loss(outputs, samples.flatten(1))
        loss_value = all_reduce_mean(loss.item())
        if not math.isfinite(loss_value):
            print(f"Loss is {loss_value}, stopping training")
            sys.exit(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metric_logger.update(loss=loss.item())
        if data_iter_step % 20 == 0:
            print(f"Epoch: [{epoch}] step {data_iter_step}")
    metric_logger.synchronize_between_processes()
    return {k: meter.global_avg for k, meter in metric_logger.meters.items()}


@torch.no_grad()
def evaluate(data_loader, model, device):
    metric_logger = MetricLogger()
    model.eval()
    for (samples,) in data_loader:
        samples = samples.to(device)
        error = nn.functional.mse_loss(model(samples), samples.flatten(1))
        metric_logger.meters["error"].update(error.item(), n=samples.shape[0])
    metric_logger.synchronize_between_processes()
    return {k: meter.global_avg for k, meter in metric_logger.meters.items()}


def main(args):
    init_distributed_mode(args)
    device = torch.device(args.device)
    seed = args.seed + get_rank()
    torch.manual_seed(seed)
    np.random.seed(seed)
    cudnn.benchmark = True
    images = torch.linspace(0, 1, 1024 * 192).view(1024, 3, 8, 8)
    dataset_train = torch.utils.data.TensorDataset(images[:768])
    dataset_val = torch.utils.data.TensorDataset(images[768:])
    num_tasks = get_world_size()
    global_rank = get_rank()
    sampler_train = torch.utils.data.DistributedSampler(
        dataset_train, num_replicas=num_tasks, rank=global_rank, shuffle=True
    )
    data_loader_train = torch.utils.data.DataLoader(
        dataset_train,
        sampler=sampler_train,
        batch_size=args.batch_size,
        num_workers=args.num_workers,
        drop_last=True,
    )
    data_loader_val = torch.utils.data.DataLoader(
        dataset_val,
        sampler=torch.utils.data.SequentialSampler(dataset_val),
        batch_size=args.batch_size,
        drop_last=False,
    )
    model = AutoEncoder()
    model.to(device)
    model_without_ddp = model
    if args.distributed:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])
        model_without_ddp = model.module
    optimizer = torch.optim.AdamW(model_without_ddp.parameters(), lr=args.lr)
    lowest = float("inf")
    for epoch in range(args.epochs):
        if args.distributed:
            data_loader_train.sampler.set_epoch(epoch)
        train_stats = train_one_epoch(model, data_loader_train, optimizer, device, epoch)
        test_stats = evaluate(data_loader_val, model_without_ddp, device)
        if test_stats["error"] < lowest:
            lowest = test_stats["error"]
            save_on_master(
                {"model": model_without_ddp.state_dict(), "epoch": epoch},
                os.path.join(args.output_dir, "best.pth"),
            )
        log_stats = {f"train_{k}": v for k, v in train_stats.items()}
        if is_main_process():
            with open(os.path.join(args.output_dir, "log.txt"), mode="a") as f:
                f.write(json.dumps(log_stats) + "\n")


if __name__ == "__main__":
    main(get_args_parser().parse_args())
