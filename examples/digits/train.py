"""Train a small classifier of handwritten digits on every rank of a torch job.

The data set ships with scikit-learn, so nothing is downloaded. Every rank sees its own share of
the images, DistributedDataParallel averages the gradients, and at the end the ranks compare a
hash of their weights: if they differ, or the model is poor, every rank exits with code 1.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import sys
from typing import NamedTuple

import torch
import torch._dynamo  # before there is a process group: imported later, it holds that group for ever, see leave()
import torch.distributed as dist
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

TEST_SHARE = 0.2
GLOBAL_BATCH = 256


class Digits(NamedTuple):
    train: TensorDataset
    test: TensorDataset


class Result(NamedTuple):
    rank: int
    losses: list[float]
    """One an epoch."""
    accuracy: float
    hashes: list[str]
    """Every rank's, in the order of ranks."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="train a classifier of handwritten digits")
    parser.add_argument("--epochs", type=int, default=8, help="passes over the training images; default: 8")
    parser.add_argument("--learning-rate", type=float, default=0.01, help="of Adam; default: 0.01")
    parser.add_argument("--seed", type=int, default=0, help="of weights, split and shuffle; default: 0")
    parser.add_argument("--min-accuracy", type=float, default=0.95, help="on the test images; default: 0.95")
    return parser.parse_args()


def join() -> torch.device:
    """Join the process group that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT describe."""
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
        return device
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)  # ranks share the processors: more threads only wait for each other
    dist.init_process_group("gloo")
    return torch.device("cpu")


def digits(seed: int) -> Digits:
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32) / 16
    y = torch.tensor(labels, dtype=torch.int64)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    cut = int(len(x) * TEST_SHARE)
    test, train = order[:cut], order[cut:]
    return Digits(TensorDataset(x[train], y[train]), TensorDataset(x[test], y[test]))


def build_model(seed: int, device: torch.device) -> DistributedDataParallel:
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 10),
    )
    return DistributedDataParallel(model.to(device))


def total(value: Tensor) -> float:
    """Add a number up over all ranks."""
    dist.all_reduce(value)
    return float(value.item())


def train_epoch(
    model: nn.Module,
    batches: DataLoader[tuple[Tensor, ...]],
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> float:
    """Return the mean loss over all ranks."""
    loss_sum, count = torch.zeros((), device=device), torch.zeros((), device=device)
    for images, labels in batches:
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        loss_sum += loss.detach() * len(images)
        count += len(images)
    return total(loss_sum) / total(count)


def accuracy(model: nn.Module, test: TensorDataset, device: torch.device) -> float:
    """Every rank judges every n-th test image; return the share that is right."""
    images, labels = (tensor[dist.get_rank() :: dist.get_world_size()].to(device) for tensor in test.tensors)
    with torch.no_grad():
        right = (model(images).argmax(dim=1) == labels).sum()
    return total(right) / len(test)


def fingerprint(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()


def fingerprints(own: str) -> list[str]:
    """Return every rank's fingerprint, in the order of ranks."""
    found = [""] * dist.get_world_size()
    dist.all_gather_object(found, own)
    return found


def fit(
    model: DistributedDataParallel, data: Digits, device: torch.device, args: argparse.Namespace
) -> list[float]:
    """Train, and return the loss of each epoch."""
    sampler: DistributedSampler[tuple[Tensor, ...]] = DistributedSampler(data.train, seed=args.seed)
    batches = DataLoader(data.train, max(1, GLOBAL_BATCH // dist.get_world_size()), sampler=sampler)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
    losses = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        losses.append(train_epoch(model, batches, optimizer, device))
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}/{args.epochs}: loss {losses[-1]:.4f}", flush=True)
    return losses


def leave() -> None:
    """Part from the other ranks: nothing may hold the process group any more, so that its threads end here.

    A Gloo thread that is still there when the interpreter ends may need it once more, to let go of
    a tensor, and then takes the process down by SIGABRT: seen in 3 of 100 runs.
    """
    gc.collect()
    dist.destroy_process_group()


def problems(result: Result, wanted: float) -> list[str]:
    losses, share, hashes = result.losses, result.accuracy, result.hashes
    found = []
    if len(losses) > 1 and not losses[-1] < losses[0]:
        found.append(
            f"the loss did not fall: {losses[0]:.4f} in the first epoch, {losses[-1]:.4f} in the last"
        )
    if share < wanted:
        found.append(f"test accuracy is {share:.4f}, wanted at least {wanted}")
    if len(set(hashes)) > 1:
        found.append(f"the ranks hold different weights: {', '.join(value[:12] for value in hashes)}")
    return found


def run(args: argparse.Namespace, device: torch.device) -> Result:
    rank, world = dist.get_rank(), dist.get_world_size()
    data = digits(args.seed)
    model = build_model(args.seed, device)
    if rank == 0:
        print(f"training on {world} ranks ({device.type}), {len(data.train)} images", flush=True)
    losses = fit(model, data, device, args)
    return Result(rank, losses, accuracy(model, data.test, device), fingerprints(fingerprint(model)))


def report(result: Result, wanted: float) -> int:
    """Tell how it went; return the exit code, which is the same on every rank."""
    rank, world = result.rank, len(result.hashes)
    found = problems(result, wanted)
    for problem in found:
        print(f"rank {rank} of {world}: {problem}", file=sys.stderr, flush=True)
    same = f"same weights on {world} ranks" if len(set(result.hashes)) == 1 else "weights differ"
    print(
        f"rank {rank} of {world}: test accuracy {result.accuracy:.4f}, "
        f"weights {result.hashes[rank][:16]}, {same}",
        flush=True,
    )
    return 1 if found else 0


def main() -> int:
    args = options()
    result = run(args, join())
    leave()
    return report(result, args.min_accuracy)


if __name__ == "__main__":
    sys.exit(main())
