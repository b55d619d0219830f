# SPDX-License-Identifier: Apache-2.0
"""From PyTorch's modules to models: by the exporter of PyTorch that is installed."""

import io
import os
import re
import tempfile
import warnings

from .context import unheard
from .errors import ArgumentError, ArgumentTypeError, UnsupportedError
from .model import Model

LARGEST_MESSAGE = 3 << 29  # bytes of weights above which they go to a file beside: a message of protobuf ends at 2 GiB


def dynamo_exporter():
    """Is the exporter from torch.export usable? It needs PyTorch 2.6 and the packages onnx and onnxscript."""
    import importlib.util

    import torch
    return hasattr(torch, "export") and hasattr(torch.onnx, "ONNXProgram") and all(map(importlib.util.find_spec, ("onnx", "onnxscript")))


def _name_sizes(onnx_model, sizes):
    """Gives open sizes the names of their dimensions: sizes maps PyTorch's symbols to names. "2*s77" becomes "2*batch"."""
    graph = onnx_model.graph
    values = [*graph.inputs, *graph.outputs, *(output for node in graph for output in node.outputs)]
    for value in values:
        for dim, size in enumerate(value.shape or ()):
            symbol = getattr(size, "value", None)
            if isinstance(symbol, str):
                value.shape[dim] = re.sub(r"\w+", lambda word: sizes.get(word.group(), word.group()), symbol)


def _onnx_program(program, **names):
    """The program as torch.onnx.export makes it. names: input_names. Raises torch_lowering.Inexpressible."""
    import torch

    from .torch_lowering import check_operators, lower
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx_program = torch.onnx.export(lower(program), dynamo=True, verbose=False, **names)
    check_operators(onnx_program.exported_program)
    return onnx_program


def _loaded(onnx_program, size, options):
    """The Model of a program with so many bytes of weights."""
    if size < LARGEST_MESSAGE:
        return Model(onnx_program.model_proto.SerializeToString(), **options)
    with tempfile.TemporaryDirectory(prefix="rynd-") as folder:
        path = os.path.join(folder, "model.onnx")
        onnx_program.save(path, external_data=True)
        return Model(path, **options)  # its files stay mapped when their names are gone


def model_of(program, names, options):
    """The Model of a program whose inputs get these names: nothing is a constant but the program's own."""
    with unheard():  # a module in training mode is no mistake here
        return _loaded(_onnx_program(program, input_names=names), _bytes(program.constants.values()), options)


def _bytes(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors if hasattr(tensor, "numel"))


class Exported:
    """A program that is exported once; a Model is made of it with constants as often as they change.

    inputs, constants: names for the program's inputs, in order.
    """

    def __init__(self, program, inputs, constants):
        self._program = _onnx_program(program, input_names=[*inputs, *constants])
        graph = self._program.model.graph
        self._values = {value.name: value for value in graph.inputs if value.name in constants}
        for value in self._values.values():
            graph.inputs.remove(value)
        self._constants = constants

    def model(self, constants, options):
        """Makes a Model whose constants are copies of these tensors."""
        import onnx_ir
        graph = self._program.model.graph
        for name, tensor in zip(self._constants, constants, strict=True):
            if name in self._values:
                self._values[name].const_value = onnx_ir.tensor_adapters.TorchTensor(tensor.detach().contiguous(), name=name)
                graph.initializers[name] = self._values[name]
        return _loaded(self._program, _bytes(constants), options)


def differs(mine, theirs, accuracy=None):
    """Is one tensor another result than the other, beyond rounding? Where PyTorch's is not finite nothing is compared."""
    import torch
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return True
    if not theirs.is_floating_point():
        return bool(theirs.numel()) and (mine != theirs).double().mean().item() > 0.01  # a tie may fall otherwise
    finite = torch.isfinite(theirs)
    mine, exact = mine[finite].double(), theirs[finite].double()
    part = 0.2 if accuracy in ("bf16", "int8") else 0.1 if theirs.element_size() < 4 else 0.01
    return bool(exact.numel()) and not (mine - exact).square().mean().sqrt() <= part * exact.square().mean().sqrt() + 1e-6


def gradients_differ(mine, theirs, accuracy=None):
    """Are the gradients of some tensors others than PyTorch's, beyond rounding? None is zero. Tensors whose gradients cancel out are measured by the largest."""
    theirs = [None if tensor is None else tensor.double() for tensor in theirs]
    sizes = [0.0 if tensor is None or not tensor.numel() else tensor.square().mean().sqrt().item() for tensor in theirs]
    part = 0.3 if accuracy in ("bf16", "int8") else 0.1
    bound = 1e-3 * max(sizes, default=0) + 1e-6
    for made, tensor, size in zip(mine, theirs, sizes):
        made = made.double() if tensor is None else made.double() - tensor
        if made.numel() and not made.square().mean().sqrt().item() <= part * size + bound:
            return True
    return False


def _check_results(model, module, example, accuracy):
    """Raises UnsupportedError where the model does not compute what the module does: an exporter may leave out what it has no words for."""
    import torch
    if len(model.inputs) != len(example):
        return  # the exporter drops inputs that nothing reads
    theirs = [value for value in torch.utils._pytree.tree_flatten(module(*example))[0] if isinstance(value, torch.Tensor)]
    mine = model(*[tensor.detach().cpu() for tensor in example])
    mine = mine if isinstance(mine, tuple) else (mine,)
    if len(mine) == len(theirs) and any(differs(torch.from_dlpack(a), b.cpu(), accuracy) for a, b in zip(mine, theirs)):
        raise UnsupportedError(f"{type(module).__name__}, as PyTorch exports it, computes other results than PyTorch: an operator's argument has no words in ONNX")


def reason(error):
    """The first line of what went wrong at the root: the exporter's own messages are pages."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class _Evaluating:
    """A module as it is for inference; as it was, afterwards."""

    def __init__(self, module):
        self.modules = [(part, part.training) for part in module.modules()]
        self.module = module

    def __enter__(self):
        self.module.eval()

    def __exit__(self, *exception):
        for part, training in self.modules:
            part.training = training


def _open_dims(example, dims):
    """For each tensor the names of its open dimensions. Raises ArgumentError for a dimension of no tensor."""
    for dim, name in dims.items():
        if not isinstance(dim, int) or not isinstance(name, str) or not name.isidentifier():
            raise ArgumentError(f"dims has {dim!r}: {name!r}: give the index of a dimension and an identifier, as in {{0: 'batch'}}")
        if not any(0 <= dim < tensor.ndim for tensor in example):
            raise ArgumentError(f"dims has {dim}: {name!r}, and no tensor of the example has a dimension {dim}: their shapes are "
                                + ", ".join(str(tuple(tensor.shape)) for tensor in example))
    return [{dim: name for dim, name in dims.items() if dim < tensor.ndim} for tensor in example]


def _at_least_two(tensor, dims):
    """The tensor with at least two elements along open dimensions: PyTorch takes a size of 0 or 1 for a constant."""
    import torch
    for dim in dims:
        size = tensor.shape[dim]
        if size == 0:
            tensor = torch.zeros([*tensor.shape[:dim], 2, *tensor.shape[dim + 1:]], dtype=tensor.dtype, device=tensor.device)
        elif size == 1:
            tensor = tensor.repeat_interleave(2, dim)
    return tensor


def _symbols(program, dims):
    """The names of the program's open sizes by PyTorch's symbols."""
    import torch
    inputs = set(program.graph_signature.user_inputs)
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in inputs]
    return {str(node.meta["val"].shape[dim].node.expr): name for node, named in zip(nodes, dims)
            for dim, name in named.items() if isinstance(node.meta["val"].shape[dim], torch.SymInt)}


def _by_dynamo(module, example, dims, options):
    import torch
    example = tuple(_at_least_two(tensor, named) for tensor, named in zip(example, dims))
    shapes = tuple({dim: torch.export.Dim.DYNAMIC for dim in named} for named in dims)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, example, dynamic_shapes=shapes if any(dims) else None, strict=False)
    onnx_program = _onnx_program(program)
    _name_sizes(onnx_program.model, _symbols(program, dims))
    return _loaded(onnx_program, _bytes(program.state_dict.values()), options)


def _by_script(module, example, dims, options):
    import torch
    names = [f"x{i}" for i in range(len(example))]
    axes = dict(zip(names, dims))
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, example, file, opset_version=17 if torch.__version__ > "1.13" else 13, input_names=names, dynamic_axes=axes)
    return Model(file.getvalue(), **options)


def _exporter():
    """The function that exports with the packages that are installed. Raises UnsupportedError if one is missing."""
    import importlib.util

    import torch
    if dynamo_exporter():
        return _by_dynamo
    lacking = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if hasattr(torch.onnx, "ONNXProgram") and lacking:
        raise UnsupportedError(f"PyTorch {torch.__version__} exports with packages that are not installed: pip install {' '.join(lacking)}, or 'rynd[torch]'")
    return _by_script


def from_torch(module, example, dims=None, device=None, threads=None, accuracy=None, isa=None, machine=None, wisdom=None, frozen=None):
    """A Model of a PyTorch module, as it computes in evaluation: its weights are copied. Runs both once on the example, and compares.

        model = rynd.from_torch(network, torch.rand(1, 3, 224, 224), dims={0: "batch"})

    example: a tensor, or a tuple of them: the arguments of forward.
    dims: names of open dimensions, for every input that has them: {0: "batch", 2: "height"}. Other dimensions keep the example's sizes.
    device, threads, accuracy, isa, machine, wisdom, frozen: as for rynd.load.

    Needs torch, and what its exporter needs (PyTorch 2.6 and later: the packages onnx and onnxscript; before, the older exporter is used).
    Raises UnsupportedError where PyTorch cannot export the module (its reason is the cause), where what it exports computes something else, or where rynd
    lacks an operator, and what rynd.load raises.
    """
    import torch
    example = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    for i, tensor in enumerate(example):
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentTypeError(f"example {i} is a {type(tensor).__name__}: give tensors of PyTorch")
    if not isinstance(module, torch.nn.Module):
        raise ArgumentTypeError(f"a {type(module).__name__} was given: from_torch takes a torch.nn.Module")
    options = {"device": device, "threads": threads, "accuracy": accuracy, "isa": isa, "machine": machine, "wisdom": wisdom, "frozen": frozen}
    dims = _open_dims(example, dims or {})
    export = _exporter()
    with _Evaluating(module), torch.no_grad():
        try:
            model = export(module, example, dims, options)
            _check_results(model, module, example, accuracy)
            return model
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            from .errors import Error
            if isinstance(error, Error):
                raise
            raise UnsupportedError(f"PyTorch cannot export {type(module).__name__}: {reason(error)}") from error
