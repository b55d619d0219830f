# SPDX-License-Identifier: Apache-2.0
"""rynd where ONNX Runtime was: the part of its interface that most programs use. With this file beside a program, one line changes:

    import onnxruntime_session as onnxruntime            # was: import onnxruntime

    session = onnxruntime.InferenceSession("resnet50.onnx")
    y, = session.run(None, {session.get_inputs()[0].name: x})
"""
from collections import namedtuple

import rynd

TYPES = {"f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
         "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool"}

NodeArg = namedtuple("NodeArg", "name shape type")


def get_available_providers():
    """rynd's devices, in the form in which providers are named."""
    return [f"{device.split(':')[0].upper()}ExecutionProvider" for device in rynd.devices()]


class SessionOptions:
    """intra_op_num_threads is heeded; what else is set has no effect on results."""

    intra_op_num_threads = 0


class InferenceSession:
    """Runs a model: a path, or the content of a file as bytes."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None):
        threads = sess_options.intra_op_num_threads if sess_options else 0
        device = _device(providers[0]) if providers else None
        self.model = rynd.load(path_or_bytes, device=device, threads=threads or None)

    def get_inputs(self):
        return [_node_arg(value) for value in self.model.inputs]

    def get_outputs(self):
        return [_node_arg(value) for value in self.model.outputs]

    def get_providers(self):
        return get_available_providers()

    def run(self, output_names, input_feed, run_options=None):
        """Returns numpy arrays of the named outputs, or of all outputs if output_names is None."""
        results = self.model(input_feed)
        results = results if isinstance(results, tuple) else (results,)
        by_name = {value.name: result.numpy() for value, result in zip(self.model.outputs, results)}
        return [by_name[name] for name in output_names or by_name]


def _device(provider):
    """"OPENCLExecutionProvider" is opencl."""
    name = provider[0] if isinstance(provider, tuple) else provider
    return name.removesuffix("ExecutionProvider").lower()


def _node_arg(value):
    return NodeArg(value.name, list(value.shape or ()), f"tensor({TYPES[value.dtype]})")
