# SPDX-License-Identifier: Apache-2.0
"""rynd quantize: small networks in 8 bits, beside float32 and ONNX Runtime."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

SIDE = 16


def weights(name, shape, seed, scale=None):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values * np.float32(scale or 1 / np.sqrt(np.prod(shape[1:]))), name)


def save(path, nodes, initializers, opset, channels=3, ir=7, rank=4):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, SIDE, SIDE])]
    if ir < 4:  # initializers were inputs, too
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in initializers]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    onnx.save(model, path)
    return path


def network(path, opset=13, ir=7):
    """Stem, residual block with a normalisation, depthwise layer, concatenation, pool, classifier."""
    norm = [numpy_helper.from_array(np.float32(v), f"n{i}") for i, v in enumerate(([1, 2, 0.5, 1] * 2, [0.1, -0.2, 0, 0.3] * 2, [0.05] * 8, [0.5, 1, 2, 1] * 2))]
    clip = {"name": "clip", "min": 0.0, "max": 6.0} if opset < 11 else {"name": "clip"}
    bounds = [] if opset < 11 else [numpy_helper.from_array(np.float32(0), "low"), numpy_helper.from_array(np.float32(6), "high")]
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], "stem", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p0", "w1"], ["c1"], "block", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c1", "n0", "n1", "n2", "n3"], ["m1"]),
        helper.make_node("Add", ["m1", "p0"], ["s1"], "residual"),
        helper.make_node("Relu", ["s1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "depthwise", kernel_shape=[3, 3], pads=[1] * 4, group=8),
        helper.make_node("Clip", ["c2"] + (["low", "high"] if bounds else []), ["r2"], **clip),
        helper.make_node("Concat", ["r1", "r2"], ["k"], axis=1),
        helper.make_node("Conv", ["k", "w3"], ["c3"], "join", kernel_shape=[1, 1]),
        helper.make_node("Sigmoid", ["c3"], ["g3"]),
        helper.make_node("Mul", ["c3", "g3"], ["a3"]),
        helper.make_node("GlobalAveragePool", ["a3"], ["p3"], "mean"),
        helper.make_node("Flatten", ["p3"], ["f"]),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["logits"], "classes", transB=1),
        helper.make_node("Softmax", ["logits"], ["y"], axis=1),
    ]
    initializers = [weights("w0", (8, 3, 3, 3), 0), weights("b0", (8,), 1, 0.1), weights("w1", (8, 8, 3, 3), 2), weights("w2", (8, 1, 3, 3), 3), weights("b2", (8,), 4, 0.1),
                    weights("w3", (12, 16, 1, 1), 5), weights("w4", (5, 12), 6, 1), weights("b4", (5,), 7, 1), *norm, *bounds]
    return save(path, nodes, initializers, opset, ir=ir, rank=2)


def examples(path, count=6, channels=3, seed=0, **more):
    x = np.random.default_rng(seed).standard_normal((count, channels, SIDE, SIDE)).astype(np.float32)
    np.savez(path, x=x, **more)
    return path


def by_onnxruntime(path, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")  # without VNNI its sums of two products saturate otherwise
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def by_rynd(ran, tmp_path, path, x):
    np.save(tmp_path / "one.npy", x)
    ran("run", path, "-i", tmp_path / "one.npy", "-o", tmp_path / "one_y.npy", "-q")
    return np.load(tmp_path / "one_y.npy")


def decibel(want, got):
    return 10 * np.log10((want.astype(float) ** 2).sum() / max(((want.astype(float) - got) ** 2).sum(), 1e-30))


@pytest.mark.parametrize("opset,ir", [(13, 7), (21, 10), (9, 3), (11, 6)])
def test_quantised_network(ran, tmp_path, absent_cuda, opset, ir):
    model, out = network(tmp_path / "m.onnx", opset, ir), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    result = ran("quantize", model, "--data", data, "-o", out, "--json").results[0]
    assert [layer["name"] for layer in result["layers"]] == ["stem", "block", "residual", "depthwise", "join", "classes"]
    assert all(layer["snr"] > 20 and layer["output_snr"] > 25 and not layer["float"] for layer in result["layers"])
    assert result["output_snr"] > 25 and result["examples"] == 6 and result["top1"] is None
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    assert written.opset_import[0].version == max(opset, 13)
    assert {t.name: t.data_type for t in written.graph.initializer}["c0/weights/quantized"] == TensorProto.INT8
    assert not any(node.op_type == "BatchNormalization" for node in written.graph.node)
    x = np.load(data)["x"][:1]
    want, exact, mine = by_onnxruntime(out, x), by_onnxruntime(model, x), by_rynd(ran, tmp_path, out, x)
    assert decibel(exact, want) > 25
    assert np.abs(mine - want).max() < 0.01  # a step of a residual sum may differ
    kernels = [node["kernel"] for node in ran("plan", out, "--json", "-q").results[0]["nodes"]]
    assert sum(kernel.startswith("qconv") for kernel in kernels) == 5, kernels
    kernels = [node["kernel"] for node in ran("predict", out, "--device", "cuda", "--machine", absent_cuda, "--json").results[0]["nodes"]]
    assert sum(kernel.startswith("qconv") for kernel in kernels) == 5, kernels
    assert all(kernel.endswith("_gpu") for kernel in kernels), kernels


@pytest.mark.parametrize("options", [[], ["--calibrate", "minmax"], ["--calibrate", "percentile", "--percentile", "99.9"], ["--calibrate", "entropy"],
                                     ["--activations", "i8"], ["--equalise"], ["--no-bias-correction"], ["--samples", "1", "--examples", "2"]])
def test_options(ran, tmp_path, options):
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    ran("quantize", model, "--data", data, "-o", out, *options)
    x = np.load(data)["x"][:1]
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(out, x)) > 18
    assert np.abs(by_rynd(ran, tmp_path, out, x) - by_onnxruntime(out, x)).max() < 0.01


def test_per_tensor_keeps_opset_10(ran, tmp_path):
    model, out = network(tmp_path / "m.onnx", 9, 3), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    ran("quantize", model, "--data", data, "-o", out, "--per-tensor")
    written = onnx.load(out)
    onnx.checker.check_model(written)
    assert written.opset_import[0].version == 10
    assert all(len(node.attribute) == 0 for node in written.graph.node if node.op_type == "DequantizeLinear")
    x = np.load(data)["x"][:1]
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(out, x)) > 18
    assert np.abs(by_rynd(ran, tmp_path, out, x) - by_onnxruntime(out, x)).max() < 0.01


def test_bias_correction_helps(ran, tmp_path):
    """A mean far from zero makes the rounding of weights a shift of the output."""
    nodes = [helper.make_node("Conv", ["x", "w0"], ["y"], "only", kernel_shape=[1, 1])]
    model = save(tmp_path / "m.onnx", nodes, [weights("w0", (4, 64, 1, 1), 1)], 13, channels=64)
    x = np.random.default_rng(0).uniform(0.9, 1.1, (3, 64, SIDE, SIDE)).astype(np.float32)
    np.savez(tmp_path / "d.npz", x=x)
    errors = []
    for options in [], ["--no-bias-correction"]:
        ran("quantize", model, "--data", tmp_path / "d.npz", "-o", tmp_path / "q.onnx", *options)
        errors.append(np.abs((by_onnxruntime(tmp_path / "q.onnx", x) - by_onnxruntime(model, x)).mean((0, 2, 3))).max())
    assert errors[0] < errors[1] / 3, errors


def test_equalising_helps(ran, tmp_path):
    """Channels of very different ranges share one range of activations."""
    factor = (2.0 ** np.arange(-4, 4)).astype(np.float32).reshape(8, 1, 1, 1)
    w0, w1 = (numpy_helper.to_array(weights(n, s, i)) for i, (n, s) in enumerate([("w0", (8, 3, 3, 3)), ("w1", (8, 1, 3, 3))]))
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], kernel_shape=[3, 3]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"], kernel_shape=[3, 3], group=8), helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w2"], ["y"], kernel_shape=[1, 1])]
    model = save(tmp_path / "m.onnx", nodes, [numpy_helper.from_array(w0 * factor, "w0"), numpy_helper.from_array(w1 / factor, "w1"), weights("w2", (4, 8, 1, 1), 2)], 13)
    data = examples(tmp_path / "d.npz")
    snr = [ran("quantize", model, "--data", data, "-o", tmp_path / "q.onnx", "--json", *options).results[0]["output_snr"] for options in (["--per-tensor"], ["--per-tensor", "--equalise"])]
    assert snr[1] > snr[0] + 3, snr


@pytest.mark.parametrize("between", ["nothing", "relu", "clip", "silu"])
def test_channels_have_shares(ran, tmp_path, between):
    """One scale would leave nothing of channels that are a thousand times smaller than others."""
    size = np.logspace(0, 3, 16)[:, None, None, None]
    random = np.random.default_rng(0)
    w0, w1 = random.uniform(0.5, 1.5, (16, 3, 1, 1)) * size, random.standard_normal((16, 1, 3, 3)) / size
    nodes = [helper.make_node("Conv", ["x", "w0"], ["c0"], "uneven")]
    last = "c0"
    if between == "relu":
        nodes, last = nodes + [helper.make_node("Relu", ["c0"], ["a"])], "a"
    if between == "clip":
        nodes, last = nodes + [helper.make_node("Clip", ["c0", "low", "high"], ["a"])], "a"
    if between == "silu":
        nodes, last = nodes + [helper.make_node("Sigmoid", ["c0"], ["s"]), helper.make_node("Mul", ["c0", "s"], ["a"])], "a"
    nodes.append(helper.make_node("Conv", [last, "w1"], ["y"], "depthwise", group=16, pads=[1] * 4))
    arrays = [numpy_helper.from_array(w.astype(np.float32), name) for name, w in (("w0", w0), ("w1", w1), ("low", np.float32(0)), ("high", np.float32(2000)))]
    model, out = save(tmp_path / "m.onnx", nodes, arrays, 13), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    ran("quantize", model, "--data", data, "-o", out)
    divisions = [node for node in onnx.load(out).graph.node if node.op_type == "Mul" and "share" in node.output[0]]
    assert len(divisions) == (between == "silu")  # weights of the first layer take the others over
    assert not any(node.op_type == "Clip" for node in onnx.load(out).graph.node)  # the largest byte bounds
    x = np.load(data)["x"][:1]
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(out, x)) > 33
    assert decibel(by_onnxruntime(out, x), by_rynd(ran, tmp_path, out, x)) > 60
    kept = tmp_path / "kept.onnx"
    ran("quantize", model, "--data", data, "-o", kept, "--keep-float", "1")
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(kept, x)) > 33


def test_channels_of_both_signs(ran, tmp_path):
    """One zero point for channels of both signs would take half of the steps from each."""
    size = np.where(np.arange(16) % 2, -1, 100).astype(np.float32).reshape(1, 16, 1, 1)
    nodes = [helper.make_node("Conv", ["x", "w0"], ["c"]), helper.make_node("Sigmoid", ["c"], ["s"]), helper.make_node("Mul", ["s", "size"], ["a"]),
             helper.make_node("Conv", ["a", "w1"], ["y"], group=16, pads=[1] * 4)]
    w1 = np.random.default_rng(0).standard_normal((16, 1, 3, 3)).astype(np.float32) / np.abs(size).reshape(16, 1, 1, 1)
    model, out = save(tmp_path / "m.onnx", nodes, [weights("w0", (16, 3, 1, 1), 1), numpy_helper.from_array(size, "size"), numpy_helper.from_array(w1, "w1")], 13), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    ran("quantize", model, "--data", data, "-o", out)
    by = next(numpy_helper.to_array(value) for value in onnx.load(out).graph.initializer if "reciprocal_share" in value.name).ravel()
    assert (np.sign(by) == np.sign(size.ravel())).all()
    x = np.load(data)["x"][:1]
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(out, x)) > 42
    assert decibel(by_onnxruntime(out, x), by_rynd(ran, tmp_path, out, x)) > 60


@pytest.mark.parametrize("options", [[], ["--per-tensor"]])
def test_transposed_convolution(ran, tmp_path, options):
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], "first", pads=[1] * 4), helper.make_node("ConvTranspose", ["a", "w1", "b1"], ["b"], "up", strides=[2, 2], pads=[1] * 4),
             helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Conv", ["c", "w2"], ["y"], "last")]
    arrays = [weights("w0", (8, 3, 3, 3), 1), weights("w1", (8, 6, 4, 4), 2), weights("b1", (6,), 3), weights("w2", (4, 6, 1, 1), 4)]
    model, out = save(tmp_path / "m.onnx", nodes, arrays, 13), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    result = ran("quantize", model, "--data", data, "-o", out, "--json", *options).results[0]
    assert [layer["name"] for layer in result["layers"]] == ["first", "up", "last"]
    assert all(layer["snr"] > 25 for layer in result["layers"]) and result["output_snr"] > 25
    x = np.load(data)["x"][:1]
    assert decibel(by_onnxruntime(model, x), by_onnxruntime(out, x)) > 25
    assert decibel(by_onnxruntime(out, x), by_rynd(ran, tmp_path, out, x)) > 45
    steps = ran("plan", out, "--json", "-q").results[0]["nodes"]
    assert next(step["kernel"] for step in steps if step["name"] == "up").startswith("qconv")


def test_keep_float(ran, tmp_path):
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    snr = []
    for count in 0, 2, 6:
        result = ran("quantize", model, "--data", data, "-o", out, "--json", "--keep-float", count).results[0]
        assert sum(layer["float"] for layer in result["layers"]) == count
        snr.append(result["output_snr"] if result["output_snr"] is not None else np.inf)
    assert snr[0] < snr[1] < snr[2] and snr[2] > 100
    assert not any(node.op_type == "QuantizeLinear" for node in onnx.load(out).graph.node)
    target = (snr[0] + snr[1]) / 2
    result = ran("quantize", model, "--data", data, "-o", out, "--json", "--keep-float", "auto", "--min-snr", target).results[0]
    assert result["output_snr"] >= target and 0 < sum(layer["float"] for layer in result["layers"]) <= 2
    result = ran("quantize", model, "--data", data, "-o", out, "--json", "--keep-float", "auto", "--min-snr", 1).results[0]
    assert sum(layer["float"] for layer in result["layers"]) == 0


def test_validation(ran, rynd, tmp_path):
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    x = np.load(examples(tmp_path / "v.npz", 40, seed=1))["x"]
    y = np.concatenate([by_onnxruntime(model, row[None]) for row in x]).argmax(1)
    y[:10] = (y[:10] + 1) % 5  # a quarter is wrong
    np.savez(tmp_path / "v.npz", x=x, y=y)
    result = ran("quantize", model, "--data", data, "--validate", tmp_path / "v.npz", "-o", out, "--json", "--keep-float", "auto", "--max-drop", 3).results[0]
    assert result["float_top1"] == 0.75 and result["top1"] >= 0.72
    rynd("quantize", model, "--data", data, "--validate", data, "-o", out).failed("has no classes", "array y")


def test_pictures(ran, tmp_path):
    image = pytest.importorskip("PIL.Image")
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    for name in "cat", "dog":
        (tmp_path / "p" / name).mkdir(parents=True)
        for i in range(2):
            pixels = np.random.default_rng(i).integers(0, 256, (20, 24, 3), np.uint8)
            image.fromarray(pixels).save(tmp_path / "p" / name / f"{i}.png")
    preparation = ["--size", "16x16", "--scale", "1/255"]
    result = ran("quantize", model, "--data", tmp_path / "p", "--validate", tmp_path / "p", "-o", out, *preparation)
    assert "4 examples" in result.out and "top-1" in result.out
    assert "6 layers" in ran("quantize", model, "--data", tmp_path / "p", "--dry-run", *preparation).out


def test_refusals(rynd, ran, tmp_path):
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    rynd("quantize", model, "-o", out).failed("--data", code=2)
    rynd("quantize", model, "--data", data).failed("-o OUT.onnx", code=2)
    rynd("quantize", model, "--data", data, "-o", out, "--keep-float", "some").failed("--keep-float some", code=2)
    rynd("quantize", model, "--data", tmp_path / "none", "-o", out).failed("none")
    (tmp_path / "empty").mkdir()
    rynd("quantize", model, "--data", tmp_path / "empty", "-o", out).failed("has no example")
    examples(tmp_path / "four.npz", channels=4)
    rynd("quantize", model, "--data", tmp_path / "four.npz", "-o", out).failed("four.npz", "input 'x'", "[6, 4, 16, 16]", "[N, 3, 16, 16]")
    np.savez(tmp_path / "bad.npz", x=np.full((2, 3, SIDE, SIDE), np.nan, np.float32))
    rynd("quantize", model, "--data", tmp_path / "bad.npz", "-o", out).failed("bad.npz", "NaN")
    (tmp_path / "files").mkdir()
    np.save(tmp_path / "files" / "a.npy", np.zeros((1, 3, 8, 8), np.float32))
    rynd("quantize", model, "--data", tmp_path / "files", "-o", out).failed("a.npy", "[1, 3, 8, 8]", "input 'x'")
    assert not out.exists()
    ran("quantize", model, "--data", data, "-o", out)
    before = out.read_bytes()
    rynd("quantize", out, "--data", data, "-o", out).failed("quantised already")
    assert out.read_bytes() == before
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    rynd("quantize", save(tmp_path / "r.onnx", nodes, [], 13), "--data", data, "-o", out).failed("no layer to quantise")


def test_words_of_old_opsets(ran, rynd, tmp_path):
    """Operators whose attributes became inputs compute the same in the written model."""
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        helper.make_node("Pad", ["a"], ["p"], pads=[0, 0, 1, 1, 0, 0, 2, 2], value=0.5),
        helper.make_node("Slice", ["p"], ["s"], starts=[1, 1], ends=[17, 17], axes=[2, 3]),
        helper.make_node("Upsample", ["s"], ["u"], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0]),
        helper.make_node("Split", ["u"], ["u0", "u1"], axis=1, split=[3, 1]),
        helper.make_node("Conv", ["u0", "w1"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Dropout", ["b"], ["d"], ratio=0.3),
        helper.make_node("Unsqueeze", ["d"], ["e"], axes=[2]),
        helper.make_node("Squeeze", ["e"], ["f"], axes=[2]),
        helper.make_node("ReduceSum", ["f"], ["g"], axes=[2, 3], keepdims=1),
        helper.make_node("ReduceSum", ["u1"], ["h"], axes=[1, 2, 3], keepdims=1),
        helper.make_node("Add", ["g", "h"], ["y"]),
    ]
    model = save(tmp_path / "m.onnx", nodes, [weights("w0", (4, 3, 1, 1), 0), weights("w1", (6, 3, 2, 2), 1)], 8, ir=3)
    data = examples(tmp_path / "d.npz")
    out = tmp_path / "f.onnx"
    ran("quantize", model, "--data", data, "-o", out, "--keep-float", 2)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    x = np.load(data)["x"][:1]
    np.testing.assert_allclose(by_onnxruntime(out, x), by_onnxruntime(model, x), rtol=1e-4, atol=1e-4)
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]), helper.make_node("Softmax", ["a"], ["y"], axis=1)]
    refused = save(tmp_path / "s.onnx", nodes, [weights("w0", (4, 3, 1, 1), 0)], 11)
    rynd("quantize", refused, "--data", data, "-o", out).failed("Softmax", "several dims together", "version_converter")


def test_report_is_stable(ran, tmp_path):
    model, data = network(tmp_path / "m.onnx"), examples(tmp_path / "d.npz")
    for name in "a.onnx", "b.onnx":
        result = ran("quantize", model, "--data", data, "-o", tmp_path / name, "--json", "--threads", 1 + (name == "b.onnx"))
        assert set(json.loads(result.out)["results"][0]) == {
            "name", "output", "layers", "examples", "output_snr", "seconds", "float_seconds", "top1", "float_top1", "bytes", "float_bytes"}
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_inspect_says_how(ran, tmp_path):
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    data = examples(tmp_path / "d.npz")
    assert ran("inspect", model, "--json").results[0]["quantization"] is None
    assert "quantised" not in ran("inspect", model).out
    ran("quantize", model, "--data", data, "-o", out, "--keep-float", 1)
    facts = ran("inspect", out, "--json").results[0]["quantization"]
    assert facts["form"] == "QDQ" and facts["layers"] == 5 and facts["quantized"] in (4, 5) and facts["per_channel"] == facts["quantized"]
    assert facts["weights"] == "i8" and facts["activations"] == "u8"
    ran("quantize", model, "--data", data, "-o", out, "--per-tensor", "--activations", "i8")
    assert "quantised (QDQ): 5 of 5 layers, 0 with scales per channel, weights i8, activations i8" in ran("inspect", out).out
    scales = [numpy_helper.from_array(np.float32(v), n) for n, v in [("xs", 0.1), ("ws", [0.1] * 4), ("ys", 0.2)]]
    zeros = [numpy_helper.from_array(np.array(v, t), n) for n, v, t in [("xz", 3, np.uint8), ("wz", [0] * 4, np.int8), ("yz", 5, np.uint8)]]
    w = numpy_helper.from_array(np.ones((4, 3, 1, 1), np.int8), "w")
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]), helper.make_node("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["r"], kernel_shape=[1, 1]),
             helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"])]
    save(tmp_path / "l.onnx", nodes, [*scales, *zeros, w], 13)
    assert "quantised (QOperator): 1 of 1 layers, 1 with scales per channel, weights i8, activations u8" in ran("inspect", tmp_path / "l.onnx").out


def test_other_commands_know_it(ran, tmp_path):
    """Plans, predictions, profiles and tuning call a quantised layer what the model calls it."""
    model, out = network(tmp_path / "m.onnx"), tmp_path / "q.onnx"
    ran("quantize", model, "--data", examples(tmp_path / "d.npz"), "-o", out)
    names = {"stem", "block", "depthwise", "join"}
    for command in "plan", "predict", "profile":
        nodes = ran(command, out, "--json", "-q").results[0]["nodes"]
        assert names <= {node["name"] for node in nodes if node["kernel"].startswith("qconv")}, command
    assert any("qconv" in problem["problem"] for problem in ran("tune", out, "--json", "-q", "--budget", "0.2").results[0]["problems"])


def test_parts_stay_quantised(ran, tmp_path):
    """Parts of a quantised network have integer weights, wherever the file dequantises them."""
    side, channels = 28, 256
    names = [f"w{i}" for i in range(4)]
    nodes = [helper.make_node("Conv", ["x" if i == 0 else f"a{i}", name], [f"a{i + 1}" if i < 3 else "y"], f"conv{i}") for i, name in enumerate(names)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, side, side])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weights(name, (channels, channels, 1, 1), i, 0.05) for i, name in enumerate(names)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", x=np.random.default_rng(0).standard_normal((2, channels, side, side)).astype(np.float32))
    ran("quantize", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "-o", tmp_path / "q.onnx")
    quantised = onnx.load(tmp_path / "q.onnx")
    first = [node for node in quantised.graph.node if "weights" in node.output[0]]
    rest = [node for node in quantised.graph.node if "weights" not in node.output[0]]
    del quantised.graph.node[:]
    quantised.graph.node.extend(first + rest)
    onnx.save(quantised, tmp_path / "q.onnx")
    (tmp_path / "devices").write_text("device a cpu threads=1\ndevice b cpu threads=1\nlink a b bandwidth=1e10 latency=1e-6\n")
    whole = ran("predict", tmp_path / "q.onnx", "--json", "-q", "--threads", "1").results[0]["time"]["median"]
    placed = ran("place", tmp_path / "q.onnx", "--devices", tmp_path / "devices", "--objective", "throughput", "--json", "-q").results[0]
    assert placed["period"] < 0.9 * whole, placed


def test_float16(ran, tmp_path):
    """Inputs and outputs stay float16; everything between becomes float32 or 8 bits."""
    model = onnx.load(network(tmp_path / "m.onnx", 11, 6))
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, tmp_path / "h.onnx")
    data = examples(tmp_path / "d.npz")
    result = ran("quantize", tmp_path / "h.onnx", "--data", data, "-o", tmp_path / "q.onnx", "--json", "-q").results[0]
    assert len(result["layers"]) == 6 and result["output_snr"] > 25
    onnx.checker.check_model(onnx.load(tmp_path / "q.onnx"), full_check=True)
    x = np.load(data)["x"][:1].astype(np.float16)
    want, mine = by_onnxruntime(tmp_path / "q.onnx", x), by_rynd(ran, tmp_path, tmp_path / "q.onnx", x)
    assert want.dtype == mine.dtype == np.float16 and np.abs(want.astype(float) - mine).max() < 0.01


def test_limit_is_the_rate_of_bytes(ran):
    peak = ran("devices", "--json").results[0]["peak"]
    problem = "qconv x0=1x256x56x56:u8:nhwc x1=256x256x3x3:i8 x4=256:f32 y0=1x256x56x56:u8:nhwc pads=1,1,1,1"
    limit = ran("plan", problem, "--explain", "--json").results[0]["explained"][0]["limit"]
    assert limit == pytest.approx(2 * 256 * 256 * 9 * 56 * 56 / peak["int8"], rel=0.01)


def test_validation_of_tiny_inputs(ran, tmp_path):
    """A plan for the shapes of an example, not for its content: top-1 counts each example."""
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8])] for name in "xy"]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", *ends, [numpy_helper.from_array(np.eye(8, dtype="float32"), "w")])
    model = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), model)
    x = np.random.default_rng(0).standard_normal((24, 8)).astype("float32")
    np.savez(tmp_path / "d.npz", x=x, y=x.argmax(1))
    result = ran("quantize", model, "--data", tmp_path / "d.npz", "--validate", tmp_path / "d.npz", "-o", tmp_path / "q.onnx", "--json").results[0]
    assert result["float_top1"] == 1 and result["top1"] > 0.9


def enlarged(x, axis):
    """Twice as long, half_pixel, in quarters."""
    n = x.shape[axis]
    first = (np.arange(2 * n) - 1) // 2
    right = np.where(np.arange(2 * n) % 2, 1, 3).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    return np.take(x, np.clip(first, 0, n - 1), axis) * (4 - right) + np.take(x, np.clip(first + 1, 0, n - 1), axis) * right


@pytest.mark.parametrize("zero", [128, 93])
@pytest.mark.parametrize("layout", ["rows", "channels"])
def test_linear_resize_of_bytes_is_exact(ran, tmp_path, layout, zero):
    scales = [1, 1, 2, 2] if layout == "rows" else [1, 2, 2, 1]
    initializers = [numpy_helper.from_array(v, name) for v, name in ((np.float32(0.037), "s"), (np.uint8(zero), "z"), (np.array(scales, np.float32), "scales"),
                                                                     (np.ones((2, 9, 1, 1), np.int8), "w"))]
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"]), helper.make_node("Resize", ["f", "", "scales"], ["r"], mode="linear"),
             helper.make_node("QuantizeLinear", ["r", "s", "z"], ["y"]),
             helper.make_node("DequantizeLinear", ["w", "s"], ["v"]), helper.make_node("Conv", ["f", "v"], ["c"])]  # plans quantise networks with weights
    outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [None] * 4), helper.make_tensor_value_info("c", TensorProto.FLOAT, [None] * 4)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 9, 10, 11])], outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), tmp_path / "m.onnx")
    x = np.random.default_rng(0).integers(0, 256, (1, 9, 10, 11), np.uint8)
    sums = x.astype(int) - zero
    for axis in (d for d in range(4) if scales[d] == 2):
        sums = enlarged(sums, axis)
    steps, rest = sums // 16, sums % 16
    want = steps + (rest > 8) + ((rest == 8) & (steps % 2 == 1)) + zero
    assert (rest == 8).sum() > 100
    np.savez(tmp_path / "x.npz", x=x)
    ran("run", tmp_path / "m.onnx", "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz", "-q")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], want)
    operators = [node["op"] for node in ran("plan", tmp_path / "m.onnx", "--json", "-q").results[0]["nodes"]]
    assert "Resize" in operators and "QuantizeLinear" not in operators, operators
