# SPDX-License-Identifier: Apache-2.0
"""RNN, LSTM and GRU compared with ONNX Runtime: rewritten into products and expressions, and by the reference kernel."""
import itertools

import numpy
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import rynd

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
OPTIONAL = {"RNN": (3, 4, 5), "GRU": (3, 4, 5), "LSTM": (3, 4, 5, 6, 7)}


def model_of(op, inputs, absent=(), constants=(1, 2), **attributes):
    """A model of one layer. inputs: arrays by the position of the operator's inputs; those in `constants` are initializers."""
    names = [f"i{i}" if i in inputs else "" for i in range(max(inputs) + 1)]
    infos = [helper.make_tensor_value_info(f"i{i}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for i, array in inputs.items() if i not in constants]
    y = ["" if i in absent else f"y{i}" for i in range(3 if op == "LSTM" else 2)]
    element = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    attributes.setdefault("hidden_size", inputs[2].shape[2])
    graph = helper.make_graph([helper.make_node(op, names, y, name="layer", **attributes)], "graph", infos,
                              [helper.make_tensor_value_info(name, element, None) for name in y if name],
                              [numpy_helper.from_array(inputs[i], f"i{i}") for i in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8).SerializeToString()


def arrays(op, seed=0, time=5, batch=3, size=4, hidden=6, direction="forward", optional=(), dtype=numpy.float32):
    draw = numpy.random.default_rng(seed)
    directions, rows = DIRECTIONS[direction], GATES[op] * hidden
    state = (directions, batch, hidden)
    shapes = {0: (time, batch, size), 1: (directions, rows, size), 2: (directions, rows, hidden), 3: (directions, 2 * rows), 5: state, 6: state, 7: (directions, 3 * hidden)}
    inputs = {i: (draw.standard_normal(shapes[i]) * (0.5 if hidden < 10 else 0.15)).astype(dtype) for i in (0, 1, 2, *optional) if i != 4}
    if 4 in optional:
        inputs[4] = draw.integers(1, time + 1, batch).astype(numpy.int32)
    return dict(sorted(inputs.items()))


def feeds_of(inputs, constants):
    return {f"i{i}": array for i, array in inputs.items() if i not in constants}


def expected(op, inputs, absent=(), constants=(1, 2), **attributes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    model = model_of(op, inputs, absent, constants, **attributes)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds_of(inputs, constants))


def check(op, inputs, absent=(), constants=(1, 2), oracle=None, tolerance=1e-5, **attributes):
    want = oracle if oracle is not None else expected(op, inputs, absent, constants, **attributes)
    found = rynd.load(model_of(op, inputs, absent, constants, **attributes))(feeds_of(inputs, constants))
    for have, wanted in zip(found if isinstance(found, tuple) else (found,), want):
        assert have.shape == wanted.shape
        numpy.testing.assert_allclose(have.numpy(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_inputs(op, direction):
    cases = [optional for count in range(len(OPTIONAL[op]) + 1) for optional in itertools.combinations(OPTIONAL[op], count)]
    for seed, optional in enumerate(cases):
        check(op, arrays(op, seed, direction=direction, optional=optional), direction=direction)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_outputs_and_sizes(op, direction):
    check(op, arrays(op, 1, direction=direction), absent=(0,), direction=direction)
    check(op, arrays(op, 2, direction=direction), absent=(1,), direction=direction)
    check(op, arrays(op, 3, time=1, batch=1, direction=direction), direction=direction)
    check(op, arrays(op, 4, time=2, batch=1, hidden=1, size=1, direction=direction, optional=OPTIONAL[op]), direction=direction)
    check(op, arrays(op, 5, time=33, batch=2, hidden=40, size=17, direction=direction, optional=(3,)), direction=direction)
    check(op, arrays(op, 6, direction=direction, optional=(3,)), constants=(), direction=direction)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_batch_first(op, direction):
    """ONNX Runtime refuses layout 1 on CPUs: its results of layout 0 are turned."""
    inputs = arrays(op, 7, direction=direction, optional=OPTIONAL[op])
    turned = {i: numpy.swapaxes(array, 0, 1).copy() if i in (0, 5, 6) else array for i, array in inputs.items()}
    y, *states = expected(op, inputs, direction=direction)
    check(op, turned, oracle=[y.transpose(2, 0, 1, 3), *(state.transpose(1, 0, 2) for state in states)], direction=direction, layout=1)


ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"]
TAKES = {"Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2, "Elu": 1}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("op", GATES)
def test_activations(op, name):
    attributes = {"activations": {"RNN": [name], "GRU": [name, "Tanh"], "LSTM": ["Sigmoid", name, "Tanh"]}[op]}
    if TAKES.get(name, 0) > 0:
        attributes["activation_alpha"] = [0.3]
    if TAKES.get(name, 0) > 1:
        attributes["activation_beta"] = [0.4]
    check(op, arrays(op, 8, optional=(3,)), tolerance=1e-4, **attributes)


@pytest.mark.parametrize("op", GATES)
def test_attributes(op):
    optional = (3, 5, 6) if op == "LSTM" else (3, 5)
    for seed in range(3):
        inputs = arrays(op, 10 + seed, optional=optional, direction="bidirectional")
        check(op, inputs, clip=0.4, direction="bidirectional")
        if op == "GRU":
            check(op, inputs, linear_before_reset=1, direction="bidirectional")
            check(op, inputs, linear_before_reset=1, clip=0.3, direction="bidirectional")
        if op == "LSTM":
            check(op, inputs, input_forget=1, direction="bidirectional")


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_long_sequences(op, direction):
    """More turns than are unrolled: one kernel for all turns."""
    inputs = arrays(op, 20, time=8200, batch=2, size=2, hidden=3, direction=direction, optional=OPTIONAL[op])
    model = model_of(op, inputs, direction=direction, clip=2.0)
    steps = rynd.load(model).plan().steps
    assert any(step.kernel.startswith("recurrent_turns") for step in steps) and not any(step.reference for step in steps)
    check(op, inputs, direction=direction, clip=2.0, tolerance=1e-4)
    if op == "GRU":
        check(op, inputs, direction=direction, linear_before_reset=1, tolerance=1e-4)
    if op == "LSTM":
        check(op, inputs, direction=direction, input_forget=1, tolerance=1e-4)


@pytest.mark.parametrize("op", GATES)
def test_open_dims(op):
    """The length and the batch are symbols until the arrays say them."""
    inputs = arrays(op, 21)
    model = onnx.load_from_string(model_of(op, inputs))
    for dim, symbol in enumerate(("time", "batch")):
        model.graph.input[0].type.tensor_type.shape.dim[dim].dim_param = symbol
    loaded = rynd.load(model.SerializeToString())
    for time, batch in ((5, 3), (2, 1), (9, 4)):
        own = {**inputs, 0: arrays(op, 22, time=time, batch=batch)[0]}
        for have, want in zip(loaded({"i0": own[0]}), expected(op, own)):
            numpy.testing.assert_allclose(have.numpy(), want, rtol=1e-5, atol=1e-5)


def test_unknown_activation():
    with pytest.raises(rynd.Error, match=r"node 'layer' \(RNN\): its activations 'cosine'"):
        rynd.load(model_of("RNN", arrays("RNN"), activations=["Cosine"]))
