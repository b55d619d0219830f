# SPDX-License-Identifier: Apache-2.0
"""Guards against silent mistakes of PyTorch's exporter to ONNX.

lower() rewrites operators that the exporter would misread, exactly; check_operators() raises Inexpressible for an argument that the exporter drops, and
for random numbers.
"""

import ast
import functools
import inspect
import math
import textwrap

import numpy
import torch

aten = torch.ops.aten
SURE_POSITIONS = 1 << 14  # whole factors are tried up to this output position

# Arguments without an influence on results: where and how tensors are stored, gradients, PyTorch's own choice of an algorithm, sizes that others imply.
HARMLESS = frozenset("""C HxW N device cudnn_enable cudnn_enabled generator implicit layout memory_format non_blocking output_size path pin_memory
    requires_grad return_counts return_debug_mask return_inverse scale_grad_by_freq sorted sparse sparse_grad stride""".split())
UNREAD_BY_PYTORCH = {("aten::embedding", "padding_idx")}  # gradients alone heed it


class Inexpressible(ValueError):
    """ONNX, or PyTorch's exporter, has no words for an operator: the message says for which."""


def _static(*sizes):
    return all(isinstance(size, int) for size in sizes)


def _sizes(x, output_size, factors):
    """The spatial sizes that PyTorch gives an interpolation."""
    if output_size is not None:
        return list(output_size)
    return [math.floor(n * factor) for n, factor in zip(x.shape[2:], factors)]


# --- nearest pixels: float32 in PyTorch, exact for sizes in rynd ---

def _ratio(n, size, factor):
    """Input pixels per output pixel, as PyTorch's float32 has it."""
    return numpy.float32(1 / factor) if factor else numpy.float32(n) / numpy.float32(size)


def _is_exact(n, size, factor):
    """Does PyTorch take the pixels that the quotient of the sizes tells?"""
    if not _static(n, size):
        if not factor or factor != int(factor):
            return False
        o = numpy.arange(SURE_POSITIONS)
        return bool((numpy.floor(o.astype(numpy.float32) * _ratio(1, 1, factor)) == o // int(factor)).all())
    o = numpy.arange(size, dtype=numpy.int64)
    theirs = numpy.minimum(numpy.floor(o.astype(numpy.float32) * _ratio(n, size, factor)), n - 1)
    exact = bool((theirs == o * n // max(size, 1)).all())
    if not exact and size in (n, 2 * n):
        raise Inexpressible(f"interpolate by {factor} from {n} to {size} pixels: PyTorch's own kernels disagree about it")
    return exact


def _pick(x, dim, size, factor):
    """An axis of nearest pixels, by PyTorch's own float32 arithmetic."""
    n = x.shape[dim]
    if not factor and not _static(n, size):
        ratio = torch.full((), n, dtype=torch.float32) / torch.full((), size, dtype=torch.float32)
    else:
        ratio = float(_ratio(n, size, factor))
    index = torch.floor(torch.arange(size, dtype=torch.float32) * ratio).to(torch.int64)
    return x.index_select(dim, torch.clamp(index, max=n - 1))


def _nearest(rank, x, output_size=None, factors=None):
    sizes, factors = _sizes(x, output_size, factors), factors or [None] * rank
    exact = [_is_exact(n, size, factor) for n, size, factor in zip(x.shape[2:], sizes, factors)]
    for axis, (size, factor) in enumerate(zip(sizes, factors)):
        if not exact[axis]:
            x = _pick(x, axis + 2, size, factor)
    if not any(exact):
        return x
    op = {1: aten.upsample_nearest1d, 2: aten.upsample_nearest2d, 3: aten.upsample_nearest3d}[rank].default
    return op(x, [size if is_exact else n for size, is_exact, n in zip(sizes, exact, x.shape[2:])])


# --- linear and cubic ---

def _interpolate(cubic, x, output_size, align_corners, factors):
    """Sizes to pass instead of the factors; None if the operator can stay."""
    if not x.dtype.is_floating_point:
        raise Inexpressible("PyTorch rounds interpolated integers after each axis")
    if factors is None:
        return None
    sizes = _sizes(x, output_size, factors)
    if align_corners or all(size == n * factor for n, size, factor in zip(x.shape[2:], sizes, factors) if _static(n, size)) and _static(*sizes):
        return sizes
    for n, size, factor in zip(x.shape[2:], sizes, factors):
        if not _static(n, size):
            if factor != float(numpy.float32(factor)):
                raise Inexpressible(f"interpolate by {factor} of a size that stays open: ONNX's float32 may give another size")
        elif n == size and factor != 1 and not cubic:
            raise Inexpressible(f"interpolate by {factor} from {n} to {size} pixels: PyTorch's own kernels disagree about it")
        elif int(numpy.float32(n) * numpy.float32(factor)) != size:
            raise Inexpressible(f"interpolate by {factor}: in ONNX's float32, {n} pixels become {int(numpy.float32(n) * numpy.float32(factor))}, not {size}")
    return None


def _smooth(op, cubic, x, output_size, align_corners, factors=None):
    sizes = _interpolate(cubic, x, output_size, align_corners, factors)
    return NotImplemented if sizes is None else op(x, sizes, align_corners, None)


def _linear1d(x, output_size, align_corners, factors=None):
    """As two dims: the exporter has no factors for one."""
    sizes = None if output_size is None else [1, *output_size]
    factors = None if factors is None else [1.0, *factors]
    return aten.upsample_bilinear2d.vec(x.unsqueeze(2), sizes, align_corners, factors).squeeze(2)


def _antialias(mode, cubic_a, x, output_size, align_corners, factors=None):
    if align_corners:
        raise Inexpressible("interpolate with antialias and align_corners: ONNX stretches its filter otherwise")
    if not x.dtype.is_floating_point:
        raise Inexpressible("PyTorch rounds interpolated integers after each axis")
    if factors is None:
        return NotImplemented
    sizes = _sizes(x, output_size, factors)
    factors = [1.0 if n == size else factor for n, size, factor in zip(x.shape[2:], sizes, factors)]  # such an axis stays
    if _interpolate(False, x, output_size, False, factors) is not None:
        return getattr(aten, f"_upsample_bi{mode}2d_aa").default(x, sizes, False)
    if not hasattr(torch.onnx, "ops"):
        raise Inexpressible("interpolate with antialias by a factor: PyTorch's exporter has no words for it before PyTorch 2.8")
    scales = torch.tensor([1.0, 1.0, *factors], dtype=torch.float32)
    attributes = {"mode": mode, "antialias": 1, "exclude_outside": 1, "cubic_coeff_a": cubic_a, "coordinate_transformation_mode": "half_pixel"}
    return torch.onnx.ops.symbolic("Resize", (x, None, scales), attributes, dtype=x.dtype, shape=[*x.shape[:2], *sizes], version=18)


# --- others ---

def _average(rank, op, x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    if divisor_override is None:
        return NotImplemented
    if ceil_mode:
        raise Inexpressible(f"avg_pool{rank}d with divisor_override and ceil_mode")
    area = math.prod(kernel_size) if len(kernel_size) > 1 else kernel_size[0] ** rank
    return op(x, kernel_size, stride, padding, False, True) * (area / divisor_override)


def _scatter_mean(x, dim, index, source, reduce, include_self=True):
    if reduce != "mean":
        return NotImplemented
    if not x.dtype.is_floating_point:
        raise Inexpressible("scatter_reduce to means of integers")
    counts = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(source))
    if include_self:
        return x.scatter_add(dim, index, source) / (counts + 1)
    means = torch.zeros_like(x).scatter_add(dim, index, source) / torch.clamp(counts, min=1.0)
    return torch.where(counts > 0, means, x)


def _mean(x, dim, keepdim=False, *, dtype=None):
    """The exporter takes the mean of integers as integers."""
    if dtype is None or dtype == x.dtype:
        return NotImplemented
    return aten.mean.dim(x.to(dtype), dim, keepdim)


def _mean_of_all(x, *, dtype=None):
    return NotImplemented if dtype is None or dtype == x.dtype else aten.mean.default(x.to(dtype))


def _extreme_index(op, x, dim=None, keepdim=False):
    """Without a dim, the exporter keeps one dim instead of all."""
    return NotImplemented if dim is not None or not keepdim else op(x, None, False).reshape([1] * x.ndim)


def _elu(x, alpha=1, scale=1, input_scale=1):
    """The exporter misreads what scales the input."""
    if scale == 1 and input_scale == 1:
        return NotImplemented
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale))


def _table():
    table = {("scatter_reduce", "two"): _scatter_mean, ("upsample_linear1d", "vec"): _linear1d, ("mean", "dim"): _mean, ("mean", "default"): _mean_of_all,
             ("elu", "default"): _elu}
    for name in ("argmax", "argmin"):
        table[name, "default"] = functools.partial(_extreme_index, getattr(aten, name).default)
    for rank in (1, 2, 3):
        table[f"upsample_nearest{rank}d", "vec"] = functools.partial(_nearest, rank)
    for name in ("upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d"):
        table[name, "vec"] = functools.partial(_smooth, getattr(aten, name).vec, "cubic" in name)
    for mode, cubic_a in (("linear", -0.75), ("cubic", -0.5)):
        table[f"_upsample_bi{mode}2d_aa", "vec"] = functools.partial(_antialias, mode, cubic_a)
    for rank in (2, 3):
        op = getattr(aten, f"avg_pool{rank}d").default
        table[f"avg_pool{rank}d", "default"] = functools.partial(_average, rank, op)
    return {getattr(getattr(aten, name), overload): function for (name, overload), function in table.items()}


TABLE = _table()


def lower(program):
    """The program with its operators of TABLE in terms that the exporter passes on. Raises Inexpressible."""
    if any(node.target in TABLE for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes):
        return program.run_decompositions(TABLE)
    return program


# --- modules in training ---

def _batch_norm(x, weight, bias, mean, variance, training, momentum, eps):
    """By the statistics of the batch, which ONNX's running ones are for a momentum of 0; the exporter takes the running ones."""
    if not training:
        return NotImplemented
    channels, per_channel = x.shape[1], x.numel() // x.shape[1]
    weight = torch.ones(channels, dtype=x.dtype) if weight is None else weight
    bias = torch.zeros(channels, dtype=x.dtype) if bias is None else bias
    attributes = {"epsilon": eps, "momentum": 0.0, "training_mode": 1}
    y, batch_mean, batch_variance = torch.onnx.ops.symbolic_multi_out(
        "BatchNormalization", (x, weight, bias, mean, variance), attributes, dtypes=[x.dtype, mean.dtype, mean.dtype],
        shapes=[x.shape, mean.shape, mean.shape], version=18)
    unbiased = batch_variance * (per_channel / (per_channel - 1))
    return (y, batch_mean, torch.rsqrt(batch_variance + eps), mean * (1 - momentum) + batch_mean * momentum,
            variance * (1 - momentum) + unbiased * momentum)


def _batch_norm_without_statistics(x, weight, bias, training, momentum, eps):
    if not training:
        return NotImplemented
    channels = x.shape[1]
    return _batch_norm(x, weight, bias, torch.zeros(channels, dtype=x.dtype), torch.ones(channels, dtype=x.dtype), True, momentum, eps)[:3]


def _cross_entropy(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """Spells the loss in operators with gradients. reduction: 0 none, 1 mean, 2 sum."""
    dim = 1 if x.ndim > 1 else 0
    if weight is not None or target.dtype.is_floating_point or target.ndim + 1 != x.ndim:
        return NotImplemented
    logarithms = torch.log_softmax(x, dim)
    counts = target != ignore_index
    picked = logarithms.gather(dim, torch.where(counts, target, torch.zeros_like(target)).unsqueeze(dim)).squeeze(dim)
    losses = -picked if label_smoothing == 0 else -(1 - label_smoothing) * picked - label_smoothing * logarithms.mean(dim)
    losses = torch.where(counts, losses, torch.zeros_like(losses))
    if reduction == 0:
        return losses
    return losses.sum() / counts.to(losses.dtype).sum() if reduction == 1 else losses.sum()


@functools.cache
def _training_table():
    """TABLE, and normalisations and losses in training mode; older series of PyTorch have other operators for them."""
    return TABLE | {
        aten.cross_entropy_loss.default: _cross_entropy,
        aten._native_batch_norm_legit_functional.default: _batch_norm,
        aten._native_batch_norm_legit.no_stats: _batch_norm_without_statistics,
    }


def functional_in_training(program):
    """The program as lower() makes it, with normalisations in training mode, and with changes in place as further results. Raises Inexpressible."""
    return program.run_decompositions(_training_table())


# --- arguments that the exporter leaves out ---

@functools.cache
def _names(function):
    """An exporter function's parameters, and the names it reads; None without source text."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(function, "func", None) or getattr(function, "function", None) or function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if definition is None:
        return None
    read = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return [parameter.arg for parameter in (*definition.args.args, *definition.args.kwonlyargs)], read


def _left_out(schema, function):
    """Arguments of the schema that the function does not read."""
    names = _names(function)
    if names is None:
        return set()
    parameters, read = names
    left = set()
    for position, argument in enumerate(schema.arguments):
        if argument.name in parameters:
            parameter = argument.name
        else:
            parameter = parameters[position] if position < len(parameters) and not argument.kwarg_only else None
        if parameter not in read:
            left.add(argument.name)
    return left


def _given(node, schema):
    """Arguments of a node that differ from their defaults."""
    for position, argument in enumerate(schema.arguments):
        value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        if argument.has_default_value() and value != argument.default_value:
            yield argument.name, value


def _draws(node):
    """Does an operator draw random numbers? Dropout in evaluation does not."""
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    given = {argument.name: value for argument, value in zip(node.target._schema.arguments, node.args)} | dict(node.kwargs)
    return given.get("train", given.get("training", True)) is not False


def check_operators(program):
    """Raises Inexpressible if a model would compute something else. program: as the exporter decomposed it."""
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes
             if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)]
    for node in nodes:
        if _draws(node):
            raise Inexpressible(f"{node.target} draws random numbers: a model would draw the same ones in each run")
    check_arguments(nodes)


def check_arguments(nodes, registry=None):
    """Raises Inexpressible if the exporter left out an argument with influence. nodes: calls of operators."""
    from torch.onnx._internal.exporter import _registration
    registry = registry or _registration.ONNXRegistry.from_torchlib()
    for node in nodes:
        schema = node.target._schema
        functions = [candidate.onnx_function for candidate in registry.get_decomps(node.target) if not candidate.is_complex]
        for name, value in _given(node, schema):
            counts = name not in HARMLESS and (schema.name, name) not in UNREAD_BY_PYTORCH
            if counts and any(name in _left_out(schema, function) for function in functions):
                raise Inexpressible(f"{node.target}: PyTorch's exporter to ONNX leaves out {name}={value}")
