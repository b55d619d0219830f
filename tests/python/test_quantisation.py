# SPDX-License-Identifier: Apache-2.0
"""Quantisation from Python: the quantizer's steps, and models that are quantised."""

import math

import numpy
import pytest
from conftest import save
from onnx import TensorProto, helper

import rynd


@pytest.fixture(scope="module")
def model(folder):
    random = numpy.random.default_rng(0)
    weights = {"w0": random.standard_normal((8, 3, 3, 3)) / 5, "b0": random.standard_normal(8) / 10, "w1": random.standard_normal((4, 8, 1, 1)) / 3}
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], "first", pads=[1] * 4), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w1"], ["y"], "second")]
    path = folder / "to_quantise.onnx"
    save(path, nodes, [("x", TensorProto.FLOAT, ["batch", 3, 10, 10])], [("y", TensorProto.FLOAT, ["batch", 4, 10, 10])], [(name, value.astype("float32")) for name, value in weights.items()])
    return rynd.load(path)


def examples(count=5):
    return numpy.random.default_rng(1).standard_normal((count, 1, 3, 10, 10)).astype("float32")


def decibel(want, got):
    return 10 * math.log10((want ** 2).sum() / ((want - got) ** 2).sum())


def test_quantizer(model, tmp_path):
    told = []
    quantizer = rynd.Quantizer(model, batch=1, progress=lambda done, every: told.append((done, every)))
    assert [layer.name for layer in quantizer.layers] == ["first", "second"] and math.isnan(quantizer.layers[0].snr)
    for x in examples():
        quantizer.observe(x)
    quantizer.measure()
    assert told == [(0, 2), (1, 2)]
    assert all(layer.snr > 25 and layer.output_snr > 25 and layer.seconds > 0 for layer in quantizer.layers)
    assert "second" in str(quantizer) and repr(quantizer) == "rynd.Quantizer(2 layers)"
    info = quantizer.info
    assert (info.layers, info.float_layers, info.observed) == (2, 0, 5) and info.output_snr > 25
    quantizer.save(tmp_path / "q.onnx")
    quantised = rynd.load(tmp_path / "q.onnx")
    assert quantised.quantization == ("QDQ", 2, 2, 2, "i8", "u8") and model.quantization is None
    x = examples(1)[0]
    want = numpy.asarray(model(x))
    assert decibel(want, numpy.asarray(quantised(x))) > 25
    quantizer.keep_float(1)
    assert sum(layer.is_float for layer in quantizer.layers) == 1 and quantizer.info.output_snr > info.output_snr
    quantizer.set_float(0)
    quantizer.set_float(1)
    assert numpy.abs(numpy.asarray(rynd.load(quantizer.save())(x)) - want).max() < 1e-5


def test_quantize(model, tmp_path):
    assert rynd.quantize(model, examples(), tmp_path / "q.onnx", batch=1) is None
    content = rynd.quantize(model, examples(), batch=1, activations="i8", calibrate="minmax", equalise=True, per_tensor=True)
    assert rynd.load(content).quantization == ("QDQ", 2, 2, 0, "i8", "i8")
    kept = rynd.load(rynd.quantize(model, examples(), batch=1, keep_float="auto", min_snr=45))
    assert kept.quantization is None or kept.quantization.quantized == 1
    assert rynd.load(rynd.quantize(model, examples(), batch=1, keep_float=1)).quantization.quantized == 1


def test_refusals(model):
    with pytest.raises(rynd.ShapeError, match="batch"):
        rynd.Quantizer(model)
    with pytest.raises(ValueError, match="calibrate 'guess'"):
        rynd.Quantizer(model, batch=1, calibrate="guess")
    with pytest.raises(rynd.ArgumentError, match="activations"):
        rynd.Quantizer(model, batch=1, activations="f16")
    quantizer = rynd.Quantizer(model, batch=1)
    with pytest.raises(rynd.ArgumentError, match="no example"):
        quantizer.save()
    with pytest.raises(rynd.ShapeError, match="'x'"):
        quantizer.observe(numpy.zeros((1, 3, 4, 4), "float32"))
    with pytest.raises(TypeError, match="'x' is not given"):
        quantizer.observe()
    with pytest.raises(TypeError, match="2 arrays"):
        quantizer.observe(examples()[0], examples()[0])
    quantizer.observe(examples()[0])
    with pytest.raises(rynd.ArgumentError, match="measure"):
        quantizer.keep_float(1)
    content = quantizer.save()
    with pytest.raises(rynd.UnsupportedError, match="quantised already"):
        rynd.Quantizer(rynd.load(content), batch=1)

    def stop(done, every):
        raise KeyError("stopped")
    quantizer = rynd.Quantizer(model, batch=1, progress=stop)
    quantizer.observe(examples()[0])
    with pytest.raises(KeyError, match="stopped"):
        quantizer.measure()
