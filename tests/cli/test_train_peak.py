# SPDX-License-Identifier: Apache-2.0
"""The most memory that rynd train takes: at most a tenth more than its dry run says, whatever is frozen, limited, validated and saved."""

import json
import re
import subprocess

import numpy as np
import pytest
from conftest import RYND, SANITIZED, save
from onnx import helper

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps what is freed")

SIDE, CHANNELS, CLASSES, BATCH = 32, 128, 4, 16


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """Ten convolutions: 6 MiB of weights, 24 when they are packed for Winograd's form, and 20 MiB of activations."""
    random = np.random.default_rng(0)
    weights, nodes, value = {"stem": random.standard_normal((CHANNELS, 3, 3, 3)) * 0.1}, [], "a0"
    nodes.append(helper.make_node("Conv", ["x", "stem"], [value], pads=[1] * 4, strides=[2, 2]))
    for i in range(10):
        weights[f"w{i}"] = random.standard_normal((CHANNELS, CHANNELS, 3, 3)) * 0.02
        nodes += [helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], pads=[1] * 4), helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        value = f"r{i}"
    weights["head"] = random.standard_normal((CHANNELS, CLASSES)) * 0.1
    nodes += [helper.make_node("GlobalAveragePool", [value], ["g"]), helper.make_node("Flatten", ["g"], ["f"]), helper.make_node("MatMul", ["f", "head"], ["y"])]
    return save(tmp_path_factory.mktemp("peak") / "net.onnx", nodes, [("x", "float32", ["N", 3, SIDE, SIDE])], [("y", "float32", ["N", CLASSES])],
                {name: value.astype("float32") for name, value in weights.items()})


@pytest.fixture(scope="module")
def data(net):
    random = np.random.default_rng(1)
    np.savez(net.parent / "data.npz", x=random.standard_normal((2 * BATCH, 3, SIDE, SIDE), "float32"), y=random.integers(0, CLASSES, 2 * BATCH))
    return net.parent / "data.npz"


def peak(command):
    """Bytes: what the process itself held, not what its parent did (ru_maxrss survives exec)."""
    process, most = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True), 0
    while process.poll() is None:
        try:
            status = open(f"/proc/{process.pid}/status").read()
        except OSError:
            break
        found = re.search(r"Name:\s+rynd\b[^$]*VmHWM:\s+(\d+) kB", status)
        most = max(most, int(found[1]) << 10 if found else 0)
    assert process.wait() == 0, process.stderr.read()
    return most


CASES = {
    "all": [],
    "head": ["--train-last", "1"],
    "frozen": ["--freeze", "w*"],
    "half": ["--freeze", "w[5-9]"],
    "adam": ["--optimizer", "adam"],
    "limit": ["--memory-limit", "50M"],
    "accumulate": ["--accumulate", "2", "--storage", "bf16"],
    "validate": ["--validate", "{data}"],
}


@pytest.mark.parametrize("name", CASES)
def test_the_process_takes_what_the_dry_run_says(net, data, tmp_path, name):
    options = [option.format(data=data) for option in CASES[name]]
    command = [RYND, "train", str(net), "--data", str(data), "--batch", str(BATCH), "--threads", "2", *options, "-o", str(tmp_path / "out.onnx")]
    for more in ([], ["--epochs", "2", "--resume", str(tmp_path / "out.checkpoint.npz")]):
        said = json.loads(subprocess.run([*command, *more, "--dry-run", "--json"], capture_output=True, text=True, check=True).stdout)["results"][0]
        assert said["memory"] + said["reading_memory"] + said["validation_memory"] / 2 < said["process_memory"] < 120 << 20
        assert peak([*command, *more]) <= 1.1 * said["process_memory"]
