# SPDX-License-Identifier: Apache-2.0
"""What rynd train does to take less memory: several batches for one step."""

import json

import numpy as np
import pytest
from conftest import save
from onnx import helper
from test_train import CLASSES, classifier, losses, rows, samples, weights, weights_of


@pytest.fixture
def net(tmp_path):
    return classifier(tmp_path / "net.onnx")


@pytest.fixture
def data(tmp_path):
    """An archive of 70 samples."""
    pictures, labels = samples(70)
    np.savez(tmp_path / "data.npz", x=pictures[:, None].astype("float32") / 255, y=labels)
    return tmp_path / "data.npz"


# --- several batches for one step ---


@pytest.mark.parametrize("options", [[], ["--optimizer", "adam", "--clip", "0.5"]])
def test_batches_of_a_step_are_one_batch(ran, net, data, tmp_path, options):
    """The same samples in the same order: 70 are four steps of sixteen, and six are left out."""
    found = {}
    for batch, times in ((16, 1), (8, 2), (4, 4)):
        ran("train", net, "--data", data, "--batch", batch, "--accumulate", times, "--epochs", 3, "--lr", "0.01", "--validate", data, *options, "-o",
            tmp_path / f"{batch}.onnx", "--log", tmp_path / "log.jsonl")
        steps = rows(tmp_path / "log.jsonl")
        assert [row["step"] for row in steps] == list(range(1, 13)) and [row["epoch"] for row in steps] == [i // 4 for i in range(12)]
        found[batch] = [row["loss"] for row in steps], [row["accuracy"] for row in steps], [row["loss"] for row in rows(tmp_path / "log.jsonl", "validation")]
    for batch in (8, 4):
        for ours, theirs in zip(found[batch], found[16]):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
        for ours, theirs in zip(weights_of(tmp_path / f"{batch}.onnx").values(), weights_of(tmp_path / "16.onnx").values()):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)


def test_steps_of_several_batches_go_on(ran, rynd, net, data, tmp_path):
    options = ["train", net, "--data", data, "--batch", 8, "--accumulate", 3, "--steps", 9, "--lr", "0.02"]
    ran(*options, "-o", tmp_path / "whole.onnx", "--log", tmp_path / "whole.jsonl")
    ran(*options[:-3], 5, *options[-2:], "-o", tmp_path / "part.onnx")
    ran(*options, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz", "--log", tmp_path / "part.jsonl")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    assert losses(tmp_path / "part.jsonl") == losses(tmp_path / "whole.jsonl")[5:]
    assert rows(tmp_path / "whole.jsonl", "start")[0]["per_epoch"] == 2
    other = ["train", net, "--data", data, "--batch", 8, "--steps", 20, "--lr", "0.02", "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz"]
    rynd(*other).failed("accumulate=3", "give the same options")


def test_forecast_of_several_batches(ran, rynd, net, data):
    one, four = (ran("train", net, "--data", data, "--batch", 4, "--accumulate", n, "--dry-run", "--json").results[0] for n in (1, 4))
    assert 3 < four["time"]["median"] / one["time"]["median"] < 5
    assert four["memory"] > one["memory"] and four["steps_per_epoch"] == 4
    assert "4 of them a step" in ran("train", net, "--data", data, "--batch", 4, "--accumulate", 4, "--dry-run").out
    rynd("train", net, "--data", data, "--batch", 16, "--accumulate", 5).failed("70 samples, less than 5 batches of 16", "--accumulate")
    rynd("train", net, "--data", data, "--accumulate", 0).failed("--accumulate", code=2)
