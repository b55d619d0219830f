# SPDX-License-Identifier: Apache-2.0
"""Answers and truths for rynd eval, and the figures that torchmetrics computes of them.

    python -m pip install torch torchmetrics pycocotools
    python tests/cli/torchmetrics_data.py       rewrites torchmetrics.json beside it
"""

import json
import pathlib

import numpy as np

TABLE = pathlib.Path(__file__).with_suffix("").with_name("torchmetrics.json")


def classes():
    """Scores [60, 12], true classes."""
    rng = np.random.RandomState(1)
    x, y = rng.randn(60, 12).astype("float32"), rng.randint(0, 12, 60)
    x[np.arange(60), y] += 1
    return x, y


def maps():
    """Scores [4, 6, 9, 11], true classes of pixels: class 5 is rare, 255 has no class."""
    rng = np.random.RandomState(2)
    y = np.where(rng.rand(4, 9, 11) < 0.02, 5, rng.randint(0, 5, (4, 9, 11)))
    x = rng.randn(4, 6, 9, 11).astype("float32")
    np.put_along_axis(x, y[:, None], 2, 1)
    y[:, 2] = 255
    return x, y


def pictures():
    """Results and targets [3, 3, 24, 31], from 0 to 1."""
    rng = np.random.RandomState(3)
    y = rng.rand(3, 3, 12, 16).repeat(2, 2).repeat(2, 3)[..., :31]
    return np.clip(y + rng.randn(*y.shape) * 0.1, 0, 1).astype("float32"), y.astype("float32")


def boxes():
    """Found boxes [40, 6] (corners, score, class), the same for each picture; objects of 3 pictures as (corners, class)."""
    rng = np.random.RandomState(4)
    corner, size = rng.rand(40, 2) * 60, 4 + rng.rand(40, 2) * 30
    found = np.concatenate([corner, corner + size, 0.05 + 0.9 * rng.rand(40, 1), rng.randint(0, 3, (40, 1))], 1).astype("float32")
    picked = [rng.permutation(40)[:count] for count in (9, 14, 4)]
    return found, [[(*(found[i, :4] + rng.randn(4) * 1.5).round(3), int(found[i, 5])) for i in indices] for indices in picked]


def compute():
    import torch
    from torchmetrics import classification, detection, image

    figures = {}
    x, y = map(torch.tensor, classes())
    for k in (1, 5):
        figures[f"top{k}"] = float(classification.MulticlassAccuracy(12, top_k=k, average="micro")(x, y))
    x, y = map(torch.tensor, maps())
    figures["mean_iou"] = float(classification.MulticlassJaccardIndex(6, ignore_index=255)(x, y))
    x, y = (torch.tensor(a, dtype=torch.float64) for a in pictures())
    figures["psnr"] = float(image.PeakSignalNoiseRatio(data_range=1.0, dim=(1, 2, 3))(x, y))
    figures["ssim"] = float(image.StructuralSimilarityIndexMeasure(data_range=1.0)(x, y))
    found, objects = boxes()
    metric = detection.MeanAveragePrecision()
    answer = {"boxes": torch.tensor(found[:, :4]), "scores": torch.tensor(found[:, 4]), "labels": torch.tensor(found[:, 5]).long()}
    truths = [{"boxes": torch.tensor([o[:4] for o in each]), "labels": torch.tensor([o[4] for o in each])} for each in objects]
    metric.update([answer] * len(truths), truths)
    names = {"map": "map", "map50": "map_50", "map75": "map_75", "ar1": "mar_1", "ar10": "mar_10", "ar100": "mar_100"}
    values = metric.compute()
    return figures | {ours: float(values[theirs]) for ours, theirs in names.items()}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(compute(), indent=1) + "\n")
