# SPDX-License-Identifier: Apache-2.0
"""rynd train --new-head: another last layer, for other classes."""

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import helper, numpy_helper
from test_train import folder  # noqa: F401 (a fixture)

SIDE, CHANNELS = 16, 6



def heads():
    """name: nodes that make y of f [N, 6] or of g [N, 6, 1, 1], and shapes of their weights."""
    node = helper.make_node
    return {
        "gemm": ([node("Gemm", ["f", "w", "b"], ["y"], transB=1)], {"w": (10, CHANNELS), "b": (10,)}),
        "gemm of rows": ([node("Gemm", ["f", "w"], ["y"])], {"w": (CHANNELS, 10)}),
        "matmul and add": ([node("MatMul", ["f", "w"], ["m"]), node("Add", ["m", "b"], ["y"])], {"w": (CHANNELS, 10), "b": (10,)}),
        "bias first": ([node("MatMul", ["f", "w"], ["m"]), node("Add", ["b", "m"], ["s"]), node("Softmax", ["s"], ["y"], axis=1)], {"w": (CHANNELS, 10), "b": (1, 10)}),
        "convolution": ([node("Conv", ["g", "w", "b"], ["c"]), node("Relu", ["c"], ["r"]), node("GlobalAveragePool", ["r"], ["p"]), node("Reshape", ["p", "shape"], ["y"])],
                        {"w": (10, CHANNELS, 1, 1), "b": (10,), "shape": np.array([-1, 10])}),
        "shared weights": ([node("Gemm", ["f", "w"], ["a"]), node("Gemm", ["a", "w"], ["y"])], {"w": (CHANNELS, CHANNELS)}),
        "weights by a node": ([node("Transpose", ["v"], ["w"], perm=[1, 0]), node("MatMul", ["f", "w"], ["y"])], {"v": (10, CHANNELS)}),
    }


def network(path, head, count=10):
    nodes, shapes = heads()[head]
    random = np.random.default_rng(0)
    weights = {"k": random.standard_normal((CHANNELS, 3, 3, 3)).astype("float32")}
    weights |= {name: shape if isinstance(shape, np.ndarray) else random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    body = [helper.make_node("Conv", ["x", "k"], ["c0"], pads=[1] * 4), helper.make_node("Relu", ["c0"], ["r0"]),
            helper.make_node("GlobalAveragePool", ["r0"], ["g"]), helper.make_node("Flatten", ["g"], ["f"])]
    return save(path, body + nodes, [("x", "float32", ["N", 3, SIDE, SIDE])], [("y", "float32", ["N", count])], weights)


def shape_of(path):
    return [dim.dim_param or dim.dim_value for dim in onnx.load(path).graph.output[0].type.tensor_type.shape.dim]


@pytest.mark.parametrize("head", heads())
def test_every_form(ran, folder, tmp_path, head):  # noqa: F811
    """The trained model has four classes, and learns them; another program agrees."""
    import onnxruntime
    net = network(tmp_path / "net.onnx", head, CHANNELS if head == "shared weights" else 10)
    options = ["--data", folder[0], "--validate", folder[1], "--size", f"{SIDE}x{SIDE}", "--scale", "1/255", "--new-head", "auto", "--batch", 8, "--epochs", 2]
    (result,) = ran("train", net, *options, "-o", tmp_path / "out.onnx", "--json").results
    assert shape_of(tmp_path / "out.onnx") == ["N", 4] and np.isfinite(result["loss"])
    onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"), full_check=True)
    x = np.random.default_rng(1).random((3, 3, SIDE, SIDE), "float32")
    np.save(tmp_path / "x.npy", x)
    ran("run", tmp_path / "out.onnx", "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    other = onnxruntime.InferenceSession(str(tmp_path / "out.onnx"), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), other, rtol=1e-4, atol=1e-5)
    ran("train", net, *options, "-o", tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()  # the seed decides the weights
    one = [*options[:-1], 1]
    ran("train", net, *one, "-o", tmp_path / "part.onnx")
    ran("train", net, *options, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


def test_first_weights(ran, folder, tmp_path):  # noqa: F811
    """With the rest frozen and a rate near 0, the head is what it began as: within its bounds, bias 0; other weights are the model's."""
    net = network(tmp_path / "net.onnx", "gemm")
    ran("train", net, "--data", folder[0], "--size", f"{SIDE}x{SIDE}", "--new-head", 5, "--steps", 1, "--batch", 8, "--lr", "1e-30", "-o", tmp_path / "out.onnx")
    before, after = ({t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer} for path in (net, tmp_path / "out.onnx"))
    bound = 1 / np.sqrt(CHANNELS)
    assert after["w"].shape == (5, CHANNELS) and np.abs(after["w"]).max() <= bound and after["w"].std() > bound / 4
    assert after["b"].shape == (5,) and np.abs(after["b"]).max() < 1e-20
    assert np.array_equal(before["k"], after["k"])


def test_is_asked_for(ran, rynd, folder, tmp_path):  # noqa: F811
    net = network(tmp_path / "net.onnx", "gemm")
    note = ran("train", net, "--data", folder[0], "--size", f"{SIDE}x{SIDE}", "-o", tmp_path / "out.onnx").err
    assert "has 4 classes, and output 'y' is for 10; --new-head auto" in note
    rynd("train", net, "--data", folder[0], "--size", f"{SIDE}x{SIDE}", "--new-head", 3, "-o", tmp_path / "out.onnx").failed("4 classes", "room for 3", "--new-head auto")


@pytest.mark.parametrize("value", ["0", "-2", "some", "1.5", ""])
def test_wrong_number(rynd, folder, tmp_path, value):  # noqa: F811
    net = network(tmp_path / "net.onnx", "gemm")
    rynd("train", net, "--data", folder[0], "--size", f"{SIDE}x{SIDE}", "--new-head", value, "-o", tmp_path / "out.onnx").failed("--new-head", code=2)


def test_refused(rynd, folder, tmp_path):  # noqa: F811
    """A node in the way is named."""
    for nodes, part in (([helper.make_node("Erf", ["m"], ["y"], name="strange")], "strange"), ([helper.make_node("Add", ["m", "m"], ["y"], name="twice")], "twice")):
        weights = {"w": np.ones((3, 4), "float32")}
        body = [helper.make_node("GlobalAveragePool", ["x"], ["g"]), helper.make_node("Flatten", ["g"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["m"])]
        net = save(tmp_path / "net.onnx", body + nodes, [("x", "float32", ["N", 3, SIDE, SIDE])], [("y", "float32", ["N", 4])], weights)
        rynd("train", net, "--data", folder[0], "--size", f"{SIDE}x{SIDE}", "--new-head", "auto", "-o", tmp_path / "out.onnx").failed("new last layer", part)
    np.savez(tmp_path / "values.npz", x=np.ones((8, 3, SIDE, SIDE), "float32"), y=np.ones((8, 10), "float32"))
    net = network(tmp_path / "net.onnx", "gemm")
    rynd("train", net, "--data", tmp_path / "values.npz", "--new-head", "auto", "-o", tmp_path / "out.onnx").failed("no classes", code=2)


def test_two_commands(ran, folder, tmp_path):  # noqa: F811
    """Without a word about pictures, they are prepared as for ImageNet, at the input's size; the model tells its users."""
    network(tmp_path / "net.onnx", "gemm")
    photos = folder[0]
    note = ran("train", tmp_path / "net.onnx", "--data", photos, "--new-head", "auto", "--epochs", "1", "--batch", "8").err
    assert "--preset imagenet" in note
    said = {p.key: p.value for p in onnx.load(tmp_path / "net-trained.onnx").metadata_props}
    assert "class0" in said["names"] and said["rynd.pictures"].startswith(f"--size {SIDE * 256 // 224} --crop {SIDE}x{SIDE} --channels rgb --scale 0.0039")
    photo = next((photos / "class1").iterdir())
    (result,) = ran("run", tmp_path / "net-trained.onnx", "-i", photo, "--task", "classify", "--json").results
    assert {c["name"] for c in result["classes"]} == {path.name for path in photos.iterdir()}
    options = ["--size", str(SIDE * 256 // 224), "--crop", str(SIDE), "--scale", "1/255", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
    ran("train", tmp_path / "net.onnx", "--data", photos, "--new-head", "auto", "--epochs", "1", "--batch", "8", "-o", tmp_path / "same.onnx", *options)
    weights = [[numpy_helper.to_array(t) for t in onnx.load(tmp_path / name).graph.initializer] for name in ("net-trained.onnx", "same.onnx")]
    assert all(np.array_equal(a, b) for a, b in zip(*weights))
