# SPDX-License-Identifier: Apache-2.0
"""Expressions and their gradients beside PyTorch's."""

import math
import random

import numpy
import pytest

import rynd

torch = pytest.importorskip("torch")
F = torch.nn.functional

# name, operands, the same in PyTorch, where it is smooth and defined: from, to
FUNCTIONS = [
    ("sqrt(x0)", torch.sqrt, 0.1, 4), ("reciprocal(x0)", torch.reciprocal, 0.2, 3), ("exp(x0)", torch.exp, -3, 3), ("log(x0)", torch.log, 0.1, 4),
    ("log1p(x0)", torch.log1p, -0.8, 3), ("expm1(x0)", torch.expm1, -3, 3), ("sin(x0)", torch.sin, -3, 3), ("cos(x0)", torch.cos, -3, 3),
    ("tan(x0)", torch.tan, -1.2, 1.2), ("asin(x0)", torch.asin, -0.9, 0.9), ("acos(x0)", torch.acos, -0.9, 0.9), ("atan(x0)", torch.atan, -3, 3),
    ("sinh(x0)", torch.sinh, -3, 3), ("cosh(x0)", torch.cosh, -3, 3), ("tanh(x0)", torch.tanh, -3, 3), ("asinh(x0)", torch.asinh, -3, 3),
    ("acosh(x0)", torch.acosh, 1.1, 4), ("atanh(x0)", torch.atanh, -0.9, 0.9), ("erf(x0)", torch.erf, -3, 3),
    ("sigmoid(x0)", torch.sigmoid, -5, 5), ("silu(x0)", F.silu, -5, 5), ("softplus(x0)", F.softplus, -5, 5), ("mish(x0)", F.mish, -5, 5),
    ("gelu(x0)", F.gelu, -4, 4), ("gelu_tanh(x0)", lambda x: F.gelu(x, approximate="tanh"), -4, 4), ("abs(x0)", torch.abs, -3, 3),
    ("sign(x0)", torch.sign, -3, 3), ("floor(x0)", torch.floor, -3, 3), ("ceil(x0)", torch.ceil, -3, 3), ("round(x0)", torch.round, -3, 3),
    ("-x0", torch.neg, -3, 3), ("x0 + x1", torch.add, -3, 3), ("x0 - x1", torch.sub, -3, 3), ("x0 * x1", torch.mul, -3, 3),
    ("x0 / x1", torch.div, 0.3, 3), ("min(x0, x1)", torch.minimum, -3, 3), ("max(x0, x1)", torch.maximum, -3, 3), ("pow(x0, x1)", torch.pow, 0.2, 2),
    ("mod(x0, x1)", torch.remainder, 0.3, 3), ("fmod(x0, x1)", torch.fmod, 0.3, 3), ("max(x0, 0)", F.relu, -3, 3),
    ("min(max(x0, 0), 6)", F.relu6, -3, 9), ("select(x0 < 0, x0 * 0.1, x0)", lambda x: F.leaky_relu(x, 0.1), -3, 3),
    ("x0 * min(max(x0 / 6 + 0.5, 0), 1)", F.hardswish, -5, 5), ("min(max(x0 / 6 + 0.5, 0), 1)", lambda x: torch.clamp(x / 6 + 0.5, 0, 1), -5, 5),
    ("max(x0, 0) + min(0, 0.7 * expm1(x0 / 0.7))", lambda x: torch.where(x > 0, x, 0.7 * torch.expm1(x / 0.7)), -3, 3), ("select(x0 < 0, expm1(x0), x0)", F.elu, -3, 3),
    ("x0 / (1 + abs(x0))", F.softsign, -3, 3), ("min(max(x0, -1), 2)", lambda x: torch.clamp(x, -1, 2), -3, 3),
    ("log(sigmoid(x0))", F.logsigmoid, -5, 5),
]


def both(text, function, xs, axes=None, keepdims=False, tolerance=1e-10):
    """Outputs and gradients of a text and of a function of PyTorch, on the same arrays."""
    tensors = [torch.tensor(x, requires_grad=True) for x in xs]
    expected = function(*tensors)
    expected = expected if isinstance(expected, tuple) else (expected,)
    expression = rynd.Expr(text, *xs, axes=axes, keepdims=keepdims)
    got = expression.run(*xs)
    got = got if isinstance(got, tuple) else (got,)
    generator = numpy.random.default_rng(7)
    dys = [generator.uniform(-1, 1, y.shape).astype(xs[0].dtype) for y in got]
    for y, wanted in zip(got, expected):
        numpy.testing.assert_allclose(y, wanted.detach().numpy(), rtol=tolerance, atol=tolerance, err_msg=text)
    total = sum((y * torch.tensor(dy)).sum() for y, dy in zip(expected, dys))
    gradients = torch.autograd.grad(total, tensors, allow_unused=True) if total.requires_grad else [None] * len(xs)
    dxs = expression.gradient().run(*xs, *dys)
    for i, (dx, wanted) in enumerate(zip(dxs if isinstance(dxs, tuple) else (dxs,), gradients)):
        wanted = numpy.zeros_like(xs[i]) if wanted is None else wanted.numpy()
        scale = max(1.0, float(numpy.abs(wanted).max(initial=0)))
        numpy.testing.assert_allclose(dx, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=f"dx{i} of {text}")


@pytest.mark.parametrize("text, function, low, high", FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 2e-5)])
def test_every_function(text, function, low, high, dtype, tolerance):
    generator = numpy.random.default_rng(3)
    xs = [generator.uniform(low, high, (5, 33)).astype(dtype) for _ in range(2 if "x1" in text else 1)]
    both(text, function, xs, tolerance=tolerance)


EDGES = [
    ("abs(x0)", torch.abs, [0.0]), ("max(x0, 0)", F.relu, [0.0, -0.0, 1]), ("min(max(x0, 0), 6)", F.relu6, [0.0, 6, 3]),
    ("min(max(x0, -1), 2)", lambda x: torch.clamp(x, -1, 2), [-1.0, 2, 0]), ("max(x0, 2)", lambda x: torch.clamp(x, min=2), [2.0, 1]),
    ("min(x0, 2)", lambda x: torch.clamp(x, max=2), [2.0, 3]), ("min(max(x0 / 6 + 0.5, 0), 1)", F.hardsigmoid, [-3.0, 3]),
    ("select(x0 < 0, x0 * 0.1, x0)", lambda x: F.leaky_relu(x, 0.1), [0.0, -1, 1]),
    ("select(x0 < 0, 2 * expm1(x0), x0)", lambda x: F.elu(x, 2.0), [0.0, -1, 1]),
    ("pow(x0, 0)", lambda x: torch.pow(x, 0), [0.0, 2]), ("pow(x0, 2)", lambda x: torch.pow(x, 2), [0.0, -2]),
    ("pow(x0, 0.5)", lambda x: torch.pow(x, 0.5), [0.0, 4]), ("sqrt(x0)", torch.sqrt, [0.0]),
]


@pytest.mark.parametrize("text, function, x", EDGES, ids=[row[0] for row in EDGES])
def test_where_there_is_no_derivative(text, function, x):
    both(text, function, [numpy.array(x)])


def test_equal_operands():
    a, b = numpy.array([0.0, 0, 3, 2, 0]), numpy.array([0.0, 2, 3, 1, 1])
    both("max(x0, x1)", torch.maximum, [a, b])
    both("min(x0, x1)", torch.minimum, [a, b])
    both("pow(x0, x1)", torch.pow, [a, b])


REDUCTIONS = [
    ("sum(x0)", lambda x, **d: x.sum(**d)), ("mean(x0)", lambda x, **d: x.mean(**d)), ("max(x0)", lambda x, **d: x.amax(**d)),
    ("min(x0)", lambda x, **d: x.amin(**d)), ("sqrt(sum(x0 * x0))", lambda x, **d: (x * x).sum(**d).sqrt()),
    ("log(sum(exp(x0)))", lambda x, **d: torch.logsumexp(x, **d)), ("mean(x0 * x0) - mean(x0) * mean(x0)", lambda x, **d: x.var(unbiased=False, **d)),
    ("max(abs(x0)) * sum(x0)", lambda x, **d: x.abs().amax(**d) * x.sum(**d)),
]


@pytest.mark.parametrize("text, function", REDUCTIONS, ids=[row[0] for row in REDUCTIONS])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(text, function, axes, keepdims):
    x = numpy.random.default_rng(5).integers(-3, 4, (4, 5, 6)).astype("float64") + 0.25  # with ties
    both(text, lambda t: function(t, dim=axes, keepdim=keepdims), [x], axes=axes, keepdims=keepdims)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_zeros_of_a_product(zeros):
    x = numpy.random.default_rng(6).uniform(0.5, 2, (3, 7))
    for row in range(min(zeros, 3)):
        x[row, :zeros - row] = 0
    both("prod(x0)", lambda t: t.prod(1), [x], axes=1)
    both("prod(x0 * x1)", lambda t, u: (t * u).prod(1), [x, numpy.full((1, 7), 1.5)], axes=1)


# --- random programs: the same terms as text and as functions of PyTorch ---

BINARY = [("{} + {}", torch.add), ("{} - {}", torch.sub), ("{} * {}", torch.mul), ("{} / (2 + abs({}))", lambda a, b: a / (2 + b.abs())),
          ("max({}, {})", torch.maximum), ("min({}, {})", torch.minimum)]
UNARY = [("-({})", torch.neg), ("abs({})", torch.abs), ("tanh({})", torch.tanh), ("sigmoid({})", torch.sigmoid), ("sin({})", torch.sin),
         ("exp(-abs({}))", lambda a: torch.exp(-a.abs())), ("log(1 + abs({}))", lambda a: torch.log(1 + a.abs())), ("max({}, 0)", F.relu),
         ("pow({}, 2)", lambda a: torch.pow(a, 2)), ("gelu({})", F.gelu), ("min(max({}, -1), 1)", lambda a: torch.clamp(a, -1, 1)),
         ("sqrt(1 + pow({}, 2))", lambda a: torch.sqrt(1 + a * a)), ("floor({})", torch.floor)]


def term(draw, inputs, depth):
    """(text, function of the inputs)."""
    kind = draw.random()
    if depth == 0 or kind < 0.15:
        i = draw.randrange(inputs)
        return f"x{i}", lambda *x: x[i]
    if kind < 0.25:
        number = round(draw.uniform(-2, 2), 2)
        text, inner = term(draw, inputs, depth - 1)
        return f"({text} * {number})", lambda *x: inner(*x) * number
    if kind < 0.55:
        form, function = draw.choice(UNARY)
        text, inner = term(draw, inputs, depth - 1)
        return f"({form.format(text)})", lambda *x: function(inner(*x))
    if kind < 0.65:
        (c, test), (a, yes), (b, no) = (term(draw, inputs, depth - 1) for _ in range(3))
        return f"select({c} > 0.1, {a}, {b})", lambda *x: torch.where(test(*x) > 0.1, yes(*x), no(*x))
    form, function = draw.choice(BINARY)
    (a, left), (b, right) = term(draw, inputs, depth - 1), term(draw, inputs, depth - 1)
    return f"({form.format(a, b)})", lambda *x: function(left(*x), right(*x))


def reduced(draw, inputs, axes):
    name, function = draw.choice([("sum", lambda t: t.sum(axes)), ("mean", lambda t: t.mean(axes)), ("max", lambda t: t.amax(axes)),
                                  ("min", lambda t: t.amin(axes))])
    text, inner = term(draw, inputs, 3)
    return f"{name}({text})", lambda *x: function(torch.broadcast_tensors(inner(*x), *x)[0])


@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed):
    draw = random.Random(seed)
    inputs = draw.randint(1, 3)
    shape = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
    shapes = [shape] + [[1 if draw.random() < 0.4 else extent for extent in shape[draw.randint(0, len(shape) - 1):]] for _ in range(inputs - 1)]
    axes = tuple(sorted(draw.sample(range(len(shape)), draw.randint(1, len(shape)))))
    parts = [(*term(draw, inputs, 4), False)]  # text, function, reduces
    if draw.random() < 0.5:
        parts.append((*reduced(draw, inputs, axes), True))
    if draw.random() < 0.3:
        first, second = reduced(draw, inputs, axes), reduced(draw, inputs, axes)
        parts.append((f"{first[0]} * tanh({second[0]})", lambda *x: first[1](*x) * torch.tanh(second[1](*x)), True))
    # every input is read, so that each has a number
    parts.append((" + ".join(f"x{i}" for i in range(inputs)), lambda *x: sum(x[1:], x[0]), False))
    text = "; ".join(f"y{o} = {part[0]}" for o, part in enumerate(parts))
    generator = numpy.random.default_rng(seed)
    xs = [generator.uniform(-2, 2, extents) for extents in shapes]

    def function(*x):
        full = torch.zeros(shape, dtype=torch.float64)
        return tuple(y(*x) if reduces else y(*x) + full for _, y, reduces in parts)

    both(text, function, xs, axes=axes)


# --- what the package adds ---


def test_interface():
    x = numpy.arange(12, dtype="float32").reshape(3, 4)
    assert rynd.expr("max(x0 - 5, 0)", x).tolist() == numpy.maximum(x - 5, 0).tolist()
    assert rynd.expr("sum(x0)", x, axes=-1).tolist() == [6, 22, 38]
    assert rynd.expr("sum(x0)", x, axes=0, keepdims=True).shape == (1, 4)
    expression = rynd.Expr("y0 = x0 * x1; y1 = sum(x0)", ("f32", (3, 4)), ("f32", (4,)))
    assert [shape for _, shape, _ in expression.outputs] == [(3, 4), ()]
    gradient = expression.gradient(wanted=1)
    assert [shape for _, shape, _ in gradient.outputs] == [(4,)]
    assert [value.name for value in gradient.model.inputs] == ["x0", "x1", "dy0", "dy1"]
    assert [value.name for value in gradient.model.outputs] == ["dx1"]
    assert gradient.steps and all("program=" in step.problem for step in gradient.steps)
    assert gradient.predict().median > 0
    problem = rynd.Expr("expr x0=3x4:f32 y0=3:f32 program='sum(x0)' axes=1 keepdims=0")
    assert problem.run(x).tolist() == [6, 22, 38]
    assert problem.gradient().run(x, numpy.ones(3, "float32")).tolist() == numpy.ones((3, 4)).tolist()
    assert math.isclose(rynd.expr("sum(x0)", x.T[::-1], axes=None).item(), 66)


def test_half_precision():
    x = numpy.linspace(-2, 2, 64).astype("float16")
    both("gelu(x0)", lambda t: F.gelu(t.float()).half(), [x], tolerance=5e-3)
    both("max(x0 * 3)", lambda t: (t * 3).amax(), [numpy.arange(5000, dtype="float16") % 7], tolerance=5e-3)


def test_refuses():
    x = numpy.zeros((2, 3), "float32")
    with pytest.raises(rynd.FormatError, match="column"):
        rynd.Expr("x0 +", x)
    with pytest.raises(rynd.ShapeError, match="broadcast"):
        rynd.Expr("x0 + x1", x, numpy.zeros(2, "float32"))
    with pytest.raises(rynd.ArgumentError, match="1 inputs are described"):
        rynd.Expr("x0 + x1", x)
    with pytest.raises(rynd.ArgumentError, match="no x1"):
        rynd.Expr("x0 * 2", x).gradient(wanted=[1])
    with pytest.raises(rynd.ArgumentError, match="i32"):
        rynd.Expr("x0 * 2", x.astype("int32")).gradient(wanted=[0])
    with pytest.raises(rynd.UnsupportedError):
        rynd.Expr("x0 * 2", x).gradient().gradient()
    with pytest.raises(TypeError, match="1 inputs"):
        rynd.Expr("x0 * 2", x).run(x, x)
    with pytest.raises(rynd.ShapeError):
        rynd.Expr("x0 * 2", x).run(x.T)
