# SPDX-License-Identifier: Apache-2.0
"""rynd behind ONNX's own interface of backends (onnx.backend.base), and so for ONNX's test runner:

    import onnx, rynd.onnx_backend
    y, = rynd.onnx_backend.run_model(onnx.load("resnet50.onnx"), [x])

Needs the package onnx. Inputs and outputs are arrays of numpy (bfloat16 with the dtype of ml_dtypes).
"""

import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .context import devices
from .errors import ArgumentError, UnsupportedError
from .model import Model


def _device(device):
    """rynd's name of a device: ONNX writes CPU and CUDA:1."""
    return device.lower() if device else None


class Representation(BackendRep):
    """A model that is ready to run. `model` is the rynd.Model."""

    def __init__(self, model):
        self.model = model
        self._results = namedtupledict("Outputs", [value.name for value in model.outputs])

    def run(self, inputs, **kwargs):
        """Runs on arrays in the model's order, or a dict of them by name; the results are a tuple that also knows the outputs' names."""
        if kwargs:
            raise ArgumentError(f"run got {next(iter(kwargs))!r}: there are no options of a run")
        if not isinstance(inputs, (dict, list, tuple)):
            inputs = [inputs]
        results = self.model(inputs) if isinstance(inputs, dict) else self.model(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        return self._results(*[result.numpy() for result in results])


class RyndBackend(Backend):
    """onnx.backend.base.Backend by rynd."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Does rynd have every operator and type of the model?"""
        try:
            Model(model.SerializeToString())
            return cls.supports_device(device)
        except UnsupportedError:
            return False

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """A Representation of an onnx.ModelProto. kwargs: threads, accuracy, isa, machine, as for rynd.load."""
        return Representation(Model(model.SerializeToString(), device=_device(device), **kwargs))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        """Prepares a model and runs it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node on arrays in its order. kwargs: opset (the newest that onnx has otherwise), and those of prepare."""
        opset = kwargs.pop("opset", onnx.defs.onnx_opset_version())
        given = [name for name in node.input if name]
        values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(numpy.asarray(array).dtype),
                                                     numpy.shape(array)) for name, array in zip(given, inputs)]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", values, outputs)
        imports = [onnx.helper.make_opsetid(node.domain, opset)]
        model = onnx.shape_inference.infer_shapes(onnx.helper.make_model_gen_version(graph, opset_imports=imports))
        return cls.run_model(model, [numpy.asarray(array) for array in inputs], device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        """Is the device here? "CPU", "OPENCL:0", "CUDA"."""
        name = _device(device)
        return any(name in (present, present.split(":")[0]) for present in devices())


is_compatible = RyndBackend.is_compatible
prepare = RyndBackend.prepare
run_model = RyndBackend.run_model
run_node = RyndBackend.run_node
supports_device = RyndBackend.supports_device
