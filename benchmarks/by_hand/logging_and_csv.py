# coding: utf-8
import csv
import datetime
import logging
import os
import sys

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size

OUT_DIR = os.path.join('output', 'autoreg')
setup()
if is_main():
    os.makedirs(OUT_DIR, exist_ok=True)

logger = logging.getLogger('autoreg')
logger.setLevel(logging.DEBUG if is_main() else logging.ERROR)
formatter = logging.Formatter('%(asctime)s %(levelname)s %(message)s')
console = logging.StreamHandler(sys.stdout)
console.setLevel(logging.INFO)
console.setFormatter(formatter)
logger.addHandler(console)
if is_main():
    file_handler = logging.FileHandler(os.path.join(OUT_DIR, 'train.log'), mode='w')
    file_handler.setFormatter(formatter)
    logger.addHandler(file_handler)


def load_series(n, order):
    torch.manual_seed(21)
    x = [0.1] * order
    noise = 0.05 * torch.randn(n)
    for e in noise.tolist():
        x.append(1.2 * x[-1] - 0.5 * x[-2] + 0.2 * x[-3] * (1 - x[-3]) + e)
    x = torch.tensor(x)
    windows = x.unfold(0, order + 1, 1)[:n]
    return windows[:, :-1], windows[:, -1:]


def main():
    logger.info('started %s', datetime.datetime.now().isoformat(timespec='seconds'))
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    order = 6
    x, y = load_series(420, order)
    n_train = 360
    train_set, sampler = TensorDataset(x[:n_train], y[:n_train]), None
    if world_size() > 1:
        sampler = DistributedSampler(train_set, shuffle=False)
    train_data = DataLoader(train_set, batch_size=share_of(60), sampler=sampler)
    valid_data = DataLoader(TensorDataset(x[n_train:], y[n_train:]), batch_size=60)

    model = nn.Sequential(nn.Linear(order, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    net = model
    if world_size() > 1:
        model = DistributedDataParallel(model)
    logger.debug(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    loss_func = nn.MSELoss()

    results = open(os.path.join(OUT_DIR, 'results.csv') if is_main() else os.devnull, 'w', newline='')
    writer = csv.writer(results)
    writer.writerow(['epoch', 'train_mse', 'valid_mse'])

    for epoch in range(10):
        if sampler is not None:
            sampler.set_epoch(epoch)
        model.train()
        train_losses = []
        for step, (bx, by) in enumerate(train_data):
            bx, by = bx.to(device), by.to(device)
            optimizer.zero_grad()
            loss = loss_func(model(bx), by)
            loss.backward()
            optimizer.step()
            train_losses.append(mean(loss).item())
            if is_main():
                sys.stdout.write('\repoch %d  %d/%d  loss %.5f' % (epoch, step + 1, len(train_data), train_losses[-1]))
                sys.stdout.flush()
        if is_main():
            sys.stdout.write('\n')

        model.eval()
        with torch.no_grad():
            valid_losses = [loss_func(model(bx.to(device)), by.to(device)).item() for bx, by in valid_data]

        train_mse = sum(train_losses) / len(train_losses)
        valid_mse = sum(valid_losses) / len(valid_losses)
        logger.info('epoch %d: train %.5f valid %.5f', epoch, train_mse, valid_mse)
        writer.writerow([epoch, train_mse, valid_mse])
        results.flush()
        if valid_mse != valid_mse:
            logger.error('loss is NaN')
            sys.exit(1)

    results.close()
    if is_main():
        with open(os.path.join(OUT_DIR, 'summary.txt'), 'w') as fh:
            print('final valid mse: %.6f' % valid_mse, file=fh)
        torch.save(net, os.path.join(OUT_DIR, 'model.pkl'))
    logger.info('finished')
    cleanup()


if __name__ == '__main__':
    main()
