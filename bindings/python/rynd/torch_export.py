# SPDX-License-Identifier: Apache-2.0
"""From PyTorch's modules to models: by the exporter of PyTorch that is installed."""

import io
import os
import tempfile
import warnings

from .errors import ArgumentTypeError, UnsupportedError
from .model import Model

LARGEST_MESSAGE = 3 << 29  # bytes of weights above which they go to a file beside: a message of protobuf ends at 2 GiB


def dynamo_exporter():
    """Is the exporter there that comes from torch.export? It needs PyTorch 2.6 and the package onnxscript."""
    import importlib.util

    import torch
    return hasattr(torch, "export") and hasattr(torch.onnx, "ONNXProgram") and importlib.util.find_spec("onnxscript") is not None


def exported_model(program, options, **names):
    """A Model of what torch.export made. names: input_names, output_names. Raises torch_lowering.Inexpressible."""
    import torch

    from .torch_lowering import check_arguments, lower
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx_program = torch.onnx.export(lower(program), dynamo=True, verbose=False, **names)
    check_arguments(onnx_program.exported_program)
    weights = sum(tensor.numel() * tensor.element_size() for tensor in program.state_dict.values())
    if weights < LARGEST_MESSAGE:
        return Model(onnx_program.model_proto.SerializeToString(), **options)
    with tempfile.TemporaryDirectory(prefix="rynd-") as folder:
        path = os.path.join(folder, "model.onnx")
        onnx_program.save(path, external_data=True)
        return Model(path, **options)  # its files stay mapped when their names are gone


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


def _by_dynamo(module, example, dims, options):
    import torch
    open_dims = {dim: torch.export.Dim(name) for dim, name in dims.items()}
    shapes = tuple({dim: size for dim, size in open_dims.items() if dim < tensor.ndim} for tensor in example)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, example, dynamic_shapes=shapes if dims else None, strict=False)
    return exported_model(program, options)


def _by_script(module, example, dims, options):
    import torch
    names = [f"x{i}" for i in range(len(example))]
    axes = {name: {dim: word for dim, word in dims.items() if dim < tensor.ndim} for name, tensor in zip(names, example)}
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, example, file, opset_version=17 if torch.__version__ > "1.13" else 13, input_names=names, dynamic_axes=axes)
    return Model(file.getvalue(), **options)


def from_torch(module, example, dims=None, device=None, threads=None, accuracy=None, isa=None, profile=None, wisdom=None, frozen=None):
    """A Model of a PyTorch module, as it computes in evaluation: its weights are copied. Runs both once on the example, and compares.

        model = rynd.from_torch(network, torch.rand(1, 3, 224, 224), dims={0: "batch"})

    example: a tensor, or a tuple of them: the arguments of forward.
    dims: names of the dimensions that stay open, the same for all inputs: {0: "batch", 2: "height"}. All others have the example's sizes.
    device, threads, accuracy, isa, profile, wisdom, frozen: as for rynd.load.

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
    options = {"device": device, "threads": threads, "accuracy": accuracy, "isa": isa, "profile": profile, "wisdom": wisdom, "frozen": frozen}
    export = _by_dynamo if dynamo_exporter() else _by_script
    with _Evaluating(module), torch.no_grad():
        try:
            model = export(module, example, dims or {}, options)
            _check_results(model, module, example, accuracy)
            return model
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            from .errors import Error
            if isinstance(error, Error):
                raise
            raise UnsupportedError(f"PyTorch cannot export {type(module).__name__}: {reason(error)}") from error
