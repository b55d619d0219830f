# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime's own domain, and GlobalLpPool, compared with ONNX Runtime."""
import numpy
import onnxruntime
import pytest
from onnx import helper

import rynd

DRAW = numpy.random.default_rng(4)


def normal(*shape):
    return DRAW.standard_normal(shape, numpy.float32)


def byte(*shape, dtype=numpy.uint8):
    low = numpy.iinfo(dtype).min
    return DRAW.integers(low, low + 256, shape).astype(dtype)


def model_of(op, inputs, outputs=1, domain="com.microsoft", kind=None, **attributes):
    """A model of one node; an input of None is absent. kind: dtype of the outputs, None: of the first tensor."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    feeds = {name: array for name, array in zip(names, inputs) if name}
    element = helper.np_dtype_to_tensor_dtype
    y = [f"y{i}" for i in range(outputs)]
    kind = numpy.dtype(kind or next(array for array in inputs if array is not None and array.ndim).dtype)
    graph = helper.make_graph([helper.make_node(op, names, y, domain=domain, **attributes)], "graph",
                              [helper.make_tensor_value_info(name, element(array.dtype), array.shape) for name, array in feeds.items()],
                              [helper.make_tensor_value_info(name, element(kind), None) for name in y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def run(op, inputs, outputs=1, **more):
    """Results of rynd and of ONNX Runtime, of model_of's model."""
    inputs = [None if array is None else numpy.asarray(array) for array in inputs]
    model = model_of(op, inputs, outputs, **more)
    feeds = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    wanted = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    found = rynd.load(model)(feeds)
    return [array.numpy() for array in (found if isinstance(found, tuple) else (found,))], wanted


def check(op, inputs, tolerance=1e-5, outputs=1, **attributes):
    for have, want in zip(*run(op, inputs, outputs, **attributes)):
        assert have.shape == want.shape and have.dtype == want.dtype
        numpy.testing.assert_allclose(have.astype(numpy.float64), want.astype(numpy.float64), rtol=tolerance if have.dtype.kind == "f" else 0, atol=tolerance)


SCALE = [numpy.float32(number) for number in (0.05, 0.02, 0.11)]


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.int8])
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_quantised_pairs(op, dtype):
    zero = [numpy.array(number, dtype) for number in (3, 7, 11)]
    for b in ((2, 5, 6, 7), (1, 5, 1, 1)):  # one step of the result is a tie that rounding in another order decides
        check(op, [byte(2, 5, 6, 7, dtype=dtype), SCALE[0], zero[0], byte(*b, dtype=dtype), SCALE[1], zero[1], SCALE[2], zero[2]], tolerance=1)


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.int8])
@pytest.mark.parametrize("op, attributes", [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.2}), ("QLinearGlobalAveragePool", {}),
                                            ("QLinearGlobalAveragePool", {"channels_last": 1})])
def test_quantised_functions(op, attributes, dtype):
    zero = [numpy.array(number, dtype) for number in (3, 7)]
    check(op, [byte(2, 5, 6, 7, dtype=dtype), SCALE[0], zero[0], numpy.float32(0.004 if op == "QLinearSigmoid" else 0.04), zero[1]], tolerance=1, **attributes)


def test_quantised_concat():
    zero = [numpy.array(number, numpy.uint8) for number in (3, 7, 11)]
    check("QLinearConcat", [SCALE[2], zero[2], byte(2, 3, 4), SCALE[0], zero[0], byte(2, 5, 4), SCALE[1], zero[1]], tolerance=1, axis=1)


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.int8])
@pytest.mark.parametrize("attributes", [{}, {"count_include_pad": 1, "pads": [1, 1, 1, 0]}, {"pads": [1, 1, 1, 0], "strides": [2, 3]}, {"channels_last": 1}])
def test_quantised_average_pool(attributes, dtype):
    zero = [numpy.array(number, dtype) for number in (3, 7)]
    check("QLinearAveragePool", [byte(2, 7, 6, 7, dtype=dtype), SCALE[0], zero[0], numpy.float32(0.04), zero[1]], tolerance=1, kernel_shape=[3, 2], **attributes)


@pytest.mark.parametrize("attributes", [{"opset": 13}, {"opset": 13, "axis": 1}, {"opset": 12}, {"opset": 12, "axis": 2}])
@pytest.mark.parametrize("dtype, zero", [(numpy.uint8, 0), (numpy.int8, -128)])
def test_quantised_softmax(dtype, zero, attributes):
    zero = [numpy.array(number, dtype) for number in (3, zero)]
    check("QLinearSoftmax", [byte(2, 3, 4, 5, dtype=dtype), numpy.float32(0.02), zero[0], numpy.float32(1 / 256), zero[1]], tolerance=1, **attributes)


@pytest.mark.parametrize("dtype", [numpy.uint8, numpy.int8])
def test_quantised_where(dtype):
    zero = [numpy.array(number, dtype) for number in (3, 7, 11)]
    choice = DRAW.integers(0, 2, (2, 1, 4)).astype(bool)
    check("QLinearWhere", [choice, byte(2, 3, 4, dtype=dtype), SCALE[0], zero[0], byte(1, 3, 1, dtype=dtype), SCALE[1], zero[1], SCALE[2], zero[2]],
          tolerance=1, kind=dtype)


@pytest.mark.parametrize("a_type, b_type", [(numpy.uint8, numpy.int8), (numpy.uint8, numpy.uint8), (numpy.int8, numpy.int8)])
@pytest.mark.parametrize("channels, attributes", [(1, {}), (6, {}), (6, {"transB": 1}), (1, {"transA": 1, "transB": 1, "alpha": 0.5})])
@pytest.mark.parametrize("c_shape", [None, (6,), (4, 6), (4, 1)])
def test_quantised_gemm(a_type, b_type, channels, attributes, c_shape):
    a, b = byte(*((17, 4) if attributes.get("transA") else (4, 17)), dtype=a_type), byte(*((6, 17) if attributes.get("transB") else (17, 6)), dtype=b_type)
    if (a_type, b_type) == (numpy.uint8, numpy.int8):
        b = b // 2  # without VNNI ONNX Runtime adds two products in 16 bits: 2 * 255 * 64 fits
    c = None if c_shape is None else DRAW.integers(-9000, 9000, c_shape).astype(numpy.int32)
    scales = DRAW.uniform(0.01, 0.02, channels).astype(numpy.float32)
    zeros = byte(channels, dtype=b_type) if channels > 1 else byte(dtype=b_type)
    inputs = [a, SCALE[0], byte(dtype=a_type), b, scales if channels > 1 else scales[0], zeros, c]
    check("QGemm", inputs, tolerance=1e-6, kind=numpy.float32, **attributes)
    check("QGemm", inputs + [numpy.float32(0.8), numpy.array(5, a_type)], tolerance=1, **attributes)


def test_gelus():
    x, bias = normal(3, 4, 16), normal(16)
    check("Gelu", [x])
    check("QuickGelu", [x])
    check("QuickGelu", [x], alpha=0.7)
    check("BiasGelu", [x, bias])
    check("FastGelu", [x], tolerance=1e-4)
    check("FastGelu", [x, bias], tolerance=1e-4)


def test_fused_conv():
    x, w, bias, other = normal(1, 4, 9, 8), normal(6, 4, 3, 3), normal(6), normal(1, 6, 9, 8)
    for activation, parameters in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])):
        more = {"activation_params": parameters} if parameters else {}
        check("FusedConv", [x, w, bias], tolerance=1e-4, activation=activation, pads=[1, 1, 1, 1], **more)
    check("FusedConv", [x, w, bias, other], tolerance=1e-4, activation="Relu", pads=[1, 1, 1, 1])


def test_fused_matmul():
    check("FusedMatMul", [normal(3, 4, 5), normal(3, 5, 6)], tolerance=1e-4, alpha=0.5)
    check("FusedMatMul", [normal(3, 5, 4), normal(3, 6, 5)], tolerance=1e-4, transA=1, transB=1)


@pytest.mark.parametrize("beta, bias", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_skip_layer_norm(beta, bias):
    x, skip = normal(2, 3, 16), normal(2, 3, 16)
    inputs = [x, skip, normal(16), normal(16) if beta else None, normal(16) if bias else None]
    check("SkipLayerNormalization", inputs[:4 + bias] if beta or bias else inputs[:3], tolerance=1e-4, epsilon=1e-5)
    simple = [x, skip, inputs[2]] + ([inputs[4]] if bias else [])
    check("SkipSimplifiedLayerNormalization", simple, tolerance=1e-4, epsilon=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(p):
    check("GlobalLpPool", [normal(2, 3, 5, 4)], domain="", p=p)


def test_what_is_refused():
    row = normal(2, 3, 16)
    for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        with pytest.raises(rynd.Error, match="epsilon is -0.5, expected 0 or more"):
            rynd.load(model_of(name, [row, row, normal(16)], epsilon=-0.5))
    with pytest.raises(rynd.Error, match="transBatchA and transBatchB must be 0"):
        run("FusedMatMul", [normal(3, 4, 5), normal(4, 5, 6)], transBatchA=1)
