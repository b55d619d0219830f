# SPDX-License-Identifier: Apache-2.0
"""rynd train --resume: what decides about bits is in the checkpoint, and what differs is named."""

import io
import os
import zipfile

import numpy as np
import pytest
from conftest import run_rynd, save
from onnx import helper

CLASSES, SIDE = 4, 10


@pytest.fixture
def net(tmp_path):
    random = np.random.default_rng(0)
    weights = {"w1": random.standard_normal((8, 3, 3, 3)) * 0.2, "w2": random.standard_normal((8, 8, 3, 3)) * 0.1, "w3": random.standard_normal((8 * SIDE * SIDE, CLASSES)) * 0.1}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1] * 4, name="first"), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1] * 4, name="second"), helper.make_node("Flatten", ["c"], ["f"]),
             helper.make_node("MatMul", ["f", "w3"], ["y"])]
    return save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 3, SIDE, SIDE])], [("y", "float32", ["N", CLASSES])],
                {name: value.astype("float32") for name, value in weights.items()})


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=random.standard_normal((32, 3, SIDE, SIDE), "float32"), y=random.integers(0, CLASSES, 32))
    return tmp_path / "data.npz"


@pytest.fixture
def checkpoint(ran, net, data, tmp_path):
    ran("train", net, "--data", data, "--batch", 8, "--steps", 3, "-o", tmp_path / "out.onnx")
    return tmp_path / "out.checkpoint.npz"


@pytest.fixture
def resume(net, data, checkpoint, tmp_path):
    def call(*options, env=None):
        return run_rynd("train", net, "--data", data, "--batch", 8, "--steps", 4, "-o", tmp_path / "more.onnx", "--resume", checkpoint, *options,
                        env={**os.environ, **(env or {})})

    return call


OPTIONS = {
    "accuracy": (["--accuracy", "strict"], "accuracy=near32, but this run has accuracy=strict"),
    "set": (["--set", "first.kernel=conv_ref"], "settings=none, but this run has settings=first.kernel=conv_ref"),
    "storage": (["--storage", "bf16"], "storage=f32, but this run has storage=bf16"),
    "optimizer": (["--optimizer", "adam"], "optimizer=sgd_momentum"),
    "clip": (["--clip", "1"], "clip_norm=0, but this run has clip_norm=1"),
    "decay": (["--weight-decay", "0.25"], "weight_decay=0, but this run has weight_decay=0.25"),
    "accumulate": (["--accumulate", "2"], "accumulate=1, but this run has accumulate=2"),
    "loss": (["--label-smoothing", "0.5"], "label_smoothing=0, but this run has label_smoothing=0.5"),
    "batch": (["--batch", "16"], "batch=8, but this run has batch=16"),
    "order": (["--no-shuffle"], "order=random, but this run has order=own"),
    "freeze": (["--freeze", "w2"], "--freeze"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_other_options_are_named(resume, checkpoint, tmp_path, name):
    options, words = OPTIONS[name]
    resume(*options).failed(checkpoint, words, "--other-bits")
    assert not (tmp_path / "more.onnx").exists()


def test_another_instruction_set_is_named(resume):
    if "avx2" not in run_rynd("devices").out and run_rynd("devices", env={**os.environ, "RYND_ISA": "generic"}).code:
        pytest.skip("this CPU has one instruction set")
    resume(env={"RYND_ISA": "generic"}).failed("isa=", "isa=generic")


def test_other_data_is_named(resume, data):
    arrays = dict(np.load(data))
    arrays["x"][31, 2, 9, 9] += 1
    np.savez(data, **arrays)
    resume().failed("data=")


def test_kernels_alone_are_named(resume, checkpoint):
    """A checkpoint whose kernels were others, as of another profile or build."""
    stored = dict(np.load(checkpoint))
    about = stored["about"].tobytes().decode()
    head, kernels = about.split("kernels=")
    stored["about"] = np.frombuffer((head + "kernels=" + ("1" if kernels[0] == "0" else "0") + kernels[1:]).encode(), "uint8")
    with zipfile.ZipFile(checkpoint, "w") as archive:
        for name in ["about", *(name for name in stored if name != "about")]:
            content = io.BytesIO()
            np.save(content, stored[name])
            archive.writestr(name + ".npy", content.getvalue())
    resume().failed("steps with other kernels or forms", "--other-bits")
    assert resume("--other-bits").code == 0


def test_other_bits_go_on_knowingly(resume, tmp_path):
    result = resume("--accuracy", "strict", "--other-bits")
    assert result.code == 0 and "accuracy=near32, but this run has accuracy=strict: continuing with other bits" in result.err
    assert (tmp_path / "more.onnx").exists()


def test_threads_and_memory_change_no_bit(resume, tmp_path):
    assert resume("--threads", 1).code == 0
    one = (tmp_path / "more.onnx").read_bytes()
    assert resume("--threads", 2, "--memory-limit", "1G").code == 0
    assert (tmp_path / "more.onnx").read_bytes() == one


def test_other_bits_need_a_checkpoint(rynd, net, data):
    rynd("train", net, "--data", data, "--other-bits", "-o", "out.onnx").failed("--resume", code=2)


def test_weights_are_kept_without_being_told(ran, net, data, tmp_path):
    (result,) = ran("train", net, "--data", data, "--batch", 8, "--steps", 2, "--json").results
    assert result["output"] == str(tmp_path / "net-trained.onnx") and result["checkpoint"] == str(tmp_path / "net-trained.checkpoint.npz")
    kept = (tmp_path / "net-trained.onnx").read_bytes()
    ran("train", net, "--data", data, "--batch", 8, "--steps", 2, "-o", tmp_path / "told.onnx")
    assert kept == (tmp_path / "told.onnx").read_bytes() != net.read_bytes()


def test_a_checkpoint_alone_is_enough(ran, net, data, tmp_path):
    ran("train", net, "--data", data, "--batch", 8, "--steps", 1, "--checkpoint", tmp_path / "c.npz")
    ran("train", net, "--data", data, "--batch", 8, "--dry-run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.npz", "data.npz", "net.onnx"]


@pytest.mark.parametrize("option, name", [("-o", "out.onnx"), ("--checkpoint", "c.npz"), ("--plot", "p.svg")])
def test_what_cannot_be_written_is_told_before_the_first_step(rynd, net, data, tmp_path, option, name):
    log = tmp_path / "log.jsonl"
    rynd("train", net, "--data", data, "--batch", 8, "--log", log, option, tmp_path / "none" / name).failed(name, "make the folder first")
    (tmp_path / name).mkdir()
    rynd("train", net, "--data", data, "--batch", 8, "--log", log, option, tmp_path / name).failed(name, "it is a folder")
    assert not log.exists()
