# SPDX-License-Identifier: Apache-2.0
"""librynd through its public C interface, for tests: contexts, models, plans, sessions with numpy arrays.

The library is the one named by RYND_LIBRARY, or build/release/lib/librynd.so. The structs below mirror include/rynd/*.h. It is used without a
profile of the machine, which would decide what kernels a test reaches.
"""
import ctypes
import os
import pathlib
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

import ml_dtypes
import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ["RYND_MACHINE"] = "off"
os.environ["RYND_WISDOM"] = "off"
MAX_RANK = 16
DTYPES = [None, numpy.float32, numpy.float16, ml_dtypes.bfloat16, numpy.float64, numpy.int8, numpy.int16, numpy.int32, numpy.int64,
          numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64, numpy.bool_]
DTYPE_CODES = {numpy.dtype(dtype): code for code, dtype in enumerate(DTYPES) if dtype is not None}
STATUS_NOT_FOUND, STATUS_DEVICE = 7, 8
ACCURACIES = {"default": 0, "strict": 1, "near32": 2, "tf32": 3, "bf16": 4, "int8": 5}


class Error(Exception):
    """A call failed: `.status` is its number, the text is what rynd_last_error says."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("rank", c_int), ("dim", c_int64 * MAX_RANK), ("stride", c_int64 * MAX_RANK)]

    @classmethod
    def of(cls, array, with_data=True):
        """A view of an array; the array must outlive the view."""
        tensor = cls()
        tensor.data = array.ctypes.data if with_data else None
        tensor.dtype = DTYPE_CODES[array.dtype]
        tensor.rank = array.ndim
        for i in range(array.ndim):
            tensor.dim[i] = array.shape[i]
            tensor.stride[i] = array.strides[i] // array.itemsize
        return tensor

    def array(self):
        """A copy of what the tensor shows."""
        dtype = numpy.dtype(DTYPES[self.dtype])
        shape = tuple(self.dim[: self.rank])
        if 0 in shape:
            return numpy.empty(shape, dtype)
        strides = tuple(stride * dtype.itemsize for stride in self.stride[: self.rank])
        size = sum((dim - 1) * stride for dim, stride in zip(shape, strides)) + dtype.itemsize
        memory = numpy.frombuffer((ctypes.c_char * size).from_address(self.data), numpy.uint8)
        return numpy.ndarray(shape, dtype, memory, 0, strides).copy()


class ContextOptions(Structure):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("threads", c_uint), ("isa", c_char_p), ("allocator", c_void_p),
                ("parallel_for", c_void_p), ("parallel_for_user", c_void_p), ("log", c_void_p), ("log_user", c_void_p)]


class DeviceInfo(Structure):
    _fields_ = [("size", c_size_t), ("device", c_char_p), ("name", c_char_p), ("isa", c_char_p), ("threads", c_uint), ("cores", c_uint)]


class ValueInfo(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("dtype", c_int), ("rank", c_int), ("dim", c_int64 * MAX_RANK),
                ("symbol", c_char_p * MAX_RANK)]


class Dim(Structure):
    _fields_ = [("symbol", c_char_p), ("value", c_int64)]


class PlanOptions(Structure):
    _fields_ = [("size", c_size_t), ("accuracy", c_int), ("dims", POINTER(Dim)), ("dim_count", c_size_t), ("inputs", POINTER(Tensor)),
                ("batch", c_int64), ("without_weights", c_int)]


class Memory(Structure):
    _fields_ = [("size", c_size_t), ("weights", c_size_t), ("activations", c_size_t), ("workspace", c_size_t), ("total", c_size_t)]


class StepInfo(Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_char_p) for name in
                ("name", "op", "problem", "kernel", "knobs", "layout_in", "layout_out", "fused", "reason")] + [
                    ("flop", c_double), ("bytes", c_double), ("accuracy", c_char_p), ("kernel_flop", c_double), ("micro_batches", c_int64),
                    ("activations", c_size_t), ("workspace", c_size_t), ("source", c_uint64), ("reference", c_int)]


class OpOptions(Structure):
    _fields_ = [("size", c_size_t), ("accuracy", c_int), ("inputs", POINTER(Tensor)), ("outputs", POINTER(Tensor)), ("kernel", c_char_p)]


class TrainerOptions(Structure):
    _fields_ = [("size", c_size_t), ("loss", c_int), ("output", c_char_p), ("target", c_int), ("label_smoothing", c_double),
                ("charbonnier_epsilon", c_double), ("optimizer", c_int), ("momentum", c_double), ("nesterov", c_int), ("weight_decay", c_double),
                ("beta1", c_double), ("beta2", c_double), ("epsilon", c_double), ("clip_norm", c_double), ("norm_momentum", c_double),
                ("freeze", POINTER(c_char_p)), ("freeze_count", c_size_t), ("keep_gradients", c_int), ("dims", POINTER(Dim)),
                ("dim_count", c_size_t), ("inputs", POINTER(Tensor)), ("batch", c_int64), ("accuracy", c_int), ("settings", c_void_p),
                ("setting_count", c_size_t), ("init", c_int), ("init_seed", c_uint64), ("dropout", c_int), ("dropout_seed", c_uint64),
                ("exchange", c_void_p), ("bucket_bytes", c_size_t), ("accumulate", c_int64), ("memory_limit", c_size_t), ("storage", c_int)]


class StateInfo(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("kind", c_int), ("tensor", Tensor)]


def sized(struct):
    """A zeroed struct with its size field set."""
    value = struct()
    value.size = ctypes.sizeof(struct)
    return value


SIGNATURES = {
    "rynd_status_text": (c_char_p, c_int),
    "rynd_last_error": (c_char_p,),
    "rynd_version": (c_char_p,),
    "rynd_context_create": (c_int, POINTER(ContextOptions), POINTER(c_void_p)),
    "rynd_context_destroy": (None, c_void_p),
    "rynd_context_get_info": (c_int, c_void_p, POINTER(DeviceInfo)),
    "rynd_model_load": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "rynd_model_load_memory": (c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)),
    "rynd_model_destroy": (None, c_void_p),
    "rynd_model_input_count": (c_size_t, c_void_p),
    "rynd_model_output_count": (c_size_t, c_void_p),
    "rynd_model_get_input": (c_int, c_void_p, c_size_t, POINTER(ValueInfo)),
    "rynd_model_get_output": (c_int, c_void_p, c_size_t, POINTER(ValueInfo)),
    "rynd_plan_create": (c_int, c_void_p, POINTER(PlanOptions), POINTER(c_void_p)),
    "rynd_plan_destroy": (None, c_void_p),
    "rynd_plan_get_memory": (c_int, c_void_p, POINTER(Memory)),
    "rynd_plan_planning_seconds": (c_double, c_void_p),
    "rynd_plan_step_count": (c_size_t, c_void_p),
    "rynd_plan_get_step": (c_int, c_void_p, c_size_t, POINTER(StepInfo)),
    "rynd_plan_complete": (c_int, c_void_p),
    "rynd_session_create": (c_int, c_void_p, POINTER(c_void_p)),
    "rynd_session_destroy": (None, c_void_p),
    "rynd_session_bind": (c_int, c_void_p, c_char_p, POINTER(Tensor)),
    "rynd_session_run": (c_int, c_void_p),
    "rynd_session_get_output": (c_int, c_void_p, c_size_t, POINTER(Tensor)),
    "rynd_session_memory": (c_size_t, c_void_p),
    "rynd_session_copied": (c_size_t, c_void_p),
    "rynd_trainer_create": (c_int, c_void_p, POINTER(TrainerOptions), POINTER(c_void_p)),
    "rynd_trainer_destroy": (None, c_void_p),
    "rynd_trainer_step": (c_int, c_void_p, POINTER(Tensor), POINTER(Tensor), c_double, POINTER(c_double)),
    "rynd_trainer_evaluate": (c_int, c_void_p, POINTER(Tensor), POINTER(Tensor), POINTER(c_double)),
    "rynd_trainer_get_output": (c_int, c_void_p, POINTER(Tensor)),
    "rynd_trainer_state_count": (c_size_t, c_void_p),
    "rynd_trainer_get_state": (c_int, c_void_p, c_size_t, POINTER(StateInfo)),
    "rynd_trainer_read": (c_int, c_void_p, c_char_p, POINTER(Tensor)),
    "rynd_trainer_get_gradient": (c_int, c_void_p, c_char_p, POINTER(Tensor)),
    "rynd_trainer_plan": (c_void_p, c_void_p),
    "rynd_trainer_memory": (c_size_t, c_void_p),
    "rynd_op_create": (c_int, c_void_p, c_char_p, POINTER(OpOptions), POINTER(c_void_p)),
    "rynd_op_destroy": (None, c_void_p),
    "rynd_op_input_count": (c_size_t, c_void_p),
    "rynd_op_output_count": (c_size_t, c_void_p),
    "rynd_op_get_input": (c_int, c_void_p, c_size_t, POINTER(Tensor)),
    "rynd_op_get_output": (c_int, c_void_p, c_size_t, POINTER(Tensor)),
    "rynd_op_execute": (c_int, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "rynd_op_get_info": (c_int, c_void_p, POINTER(StepInfo)),
}


def open_library():
    path = os.environ.get("RYND_LIBRARY") or ROOT / "build/release/lib/librynd.so"
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = open_library()


def call(name, *arguments):
    status = getattr(LIBRARY, name)(*arguments)
    if status:
        text = LIBRARY.rynd_last_error().decode(errors="replace")
        raise Error(status, f"{LIBRARY.rynd_status_text(status).decode()}: {text}")


class Handle:
    """Owns one object of the library; `keep` holds whatever it must not outlive."""

    destroy = ""

    def __init__(self, *keep):
        self.pointer = c_void_p()
        self.keep = keep

    def __del__(self):
        if self.pointer:
            getattr(LIBRARY, self.destroy)(self.pointer)
            self.pointer = c_void_p()


class Context(Handle):
    destroy = "rynd_context_destroy"

    def __init__(self, threads=0, isa=None, device="cpu"):
        super().__init__()
        options = sized(ContextOptions)
        options.threads = threads
        options.isa = isa.encode() if isa else None
        options.device = device.encode()
        call("rynd_context_create", byref(options), byref(self.pointer))

    def info(self):
        info = sized(DeviceInfo)
        call("rynd_context_get_info", self.pointer, byref(info))
        return {name: value.decode() if isinstance(value, bytes) else value
                for name, value in ((field, getattr(info, field)) for field, _ in DeviceInfo._fields_[1:])}


def lacks_isa(isa):
    """Why this machine runs nothing at an instruction set (empty or None: its best), or an empty string."""
    try:
        got = Context(threads=1, isa=isa).info()["isa"]
    except Error as error:
        if error.status == STATUS_DEVICE:
            return str(error)
        raise
    assert got == isa or not isa, f"asked for {isa}, got {got}"
    return ""


def lacks_device(device):
    """Why there is no such device here, or an empty string."""
    try:
        Context(threads=1, device=device)
    except Error as error:
        if error.status in (STATUS_DEVICE, STATUS_NOT_FOUND):
            return str(error)
        raise
    return ""


class Model(Handle):
    """A model from a path, or from bytes."""

    destroy = "rynd_model_destroy"

    def __init__(self, context, source):
        super().__init__(context, source)
        if isinstance(source, bytes):
            call("rynd_model_load_memory", context.pointer, source, len(source), byref(self.pointer))
        else:
            call("rynd_model_load", context.pointer, str(source).encode(), byref(self.pointer))
        self.inputs = [self._value("input", i) for i in range(LIBRARY.rynd_model_input_count(self.pointer))]
        self.outputs = [self._value("output", i) for i in range(LIBRARY.rynd_model_output_count(self.pointer))]

    def _value(self, kind, index):
        """name, dtype, shape (None: rank unknown; an open dim is its symbol)."""
        info = sized(ValueInfo)
        call(f"rynd_model_get_{kind}", self.pointer, index, byref(info))
        shape = None
        if info.rank >= 0:
            shape = [info.dim[i] if info.dim[i] >= 0 else info.symbol[i].decode() for i in range(info.rank)]
        return info.name.decode(), DTYPES[info.dtype], shape


def steps_of(plan):
    rows = []
    for index in range(LIBRARY.rynd_plan_step_count(plan)):
        info = sized(StepInfo)
        call("rynd_plan_get_step", plan, index, byref(info))
        rows.append({name: value.decode() if isinstance(value, bytes) else value
                     for name, value in ((field, getattr(info, field)) for field, _ in StepInfo._fields_[1:])})
    return rows


class Plan(Handle):
    """feeds: arrays by input name, for their shapes; with_data: also for their content."""

    destroy = "rynd_plan_destroy"

    def __init__(self, model, feeds=None, with_data=False, dims=None, batch=0, accuracy="default"):
        super().__init__(model)
        options = sized(PlanOptions)
        options.accuracy = ACCURACIES[accuracy]
        options.batch = batch
        if dims:
            options.dims = (Dim * len(dims))(*[Dim(name.encode(), value) for name, value in dims.items()])
            options.dim_count = len(dims)
        if feeds:
            tensors = [Tensor.of(feeds[name], with_data) if name in feeds else Tensor() for name, _, _ in model.inputs]
            options.inputs = (Tensor * len(tensors))(*tensors)
        call("rynd_plan_create", model.pointer, byref(options), byref(self.pointer))
        self.model = model

    def complete(self):
        return bool(LIBRARY.rynd_plan_complete(self.pointer))

    def time(self):
        return LIBRARY.rynd_plan_planning_seconds(self.pointer)

    def memory(self):
        memory = sized(Memory)
        call("rynd_plan_get_memory", self.pointer, byref(memory))
        return {name: getattr(memory, name) for name, _ in Memory._fields_[1:]}

    def steps(self):
        return steps_of(self.pointer)


class Session(Handle):
    destroy = "rynd_session_destroy"

    def __init__(self, plan):
        super().__init__(plan)
        call("rynd_session_create", plan.pointer, byref(self.pointer))
        self.model = plan.model
        self.bound = {}

    def bind(self, name, array):
        call("rynd_session_bind", self.pointer, name.encode(), byref(Tensor.of(array)))
        self.bound[name] = array

    def run(self, feeds=None):
        """Copies of all outputs, in the model's order."""
        for name, array in (feeds or {}).items():
            self.bind(name, array)
        self.execute()
        return self.outputs()

    def execute(self):
        call("rynd_session_run", self.pointer)

    def outputs(self):
        """Copies of the outputs of the last run."""
        outputs = []
        for index in range(len(self.model.outputs)):
            tensor = Tensor()
            call("rynd_session_get_output", self.pointer, index, byref(tensor))
            outputs.append(tensor.array())
        return outputs


class Op(Handle):
    """One problem. constants: arrays in the memory order that the text says, by the input's number; they are packed now."""

    destroy = "rynd_op_destroy"

    def __init__(self, context, text, constants=None, accuracy="default", kernel=None):
        super().__init__(context, constants)
        options = sized(OpOptions)
        options.accuracy = ACCURACIES[accuracy]
        options.kernel = kernel.encode() if kernel else None
        if constants:
            # The descriptions are those of an operator without constants, which any kernel may run.
            inputs = Op(context, text, accuracy=accuracy).descriptions("input")
            for number, array in constants.items():
                inputs[number].data = array.ctypes.data
            options.inputs = (Tensor * len(inputs))(*inputs)
        call("rynd_op_create", context.pointer, text.encode(), byref(options), byref(self.pointer))

    def descriptions(self, end):
        """Information on the inputs or the outputs."""
        tensors = [Tensor() for _ in range(getattr(LIBRARY, f"rynd_op_{end}_count")(self.pointer))]
        for index, tensor in enumerate(tensors):
            call(f"rynd_op_get_{end}", self.pointer, index, byref(tensor))
        return tensors

    def bind(self, inputs, outputs):
        """A function that runs it on these arrays. Inputs that are constants may be left out at the end."""
        pointers = []
        for end, arrays in (("input", inputs), ("output", outputs)):
            given = [array.ctypes.data for array in arrays]
            missing = len(self.descriptions(end)) - len(given)
            pointers.append((c_void_p * (len(given) + missing))(*given, *[None] * missing))

        def execute(keep=(self, inputs, outputs)):
            call("rynd_op_execute", self.pointer, *pointers)

        return execute

    def kernel(self):
        info = sized(StepInfo)
        call("rynd_op_get_info", self.pointer, byref(info))
        return info.kernel.decode()


def plan(context, source, inputs, with_data=True, **options):
    """The plan of a model for inputs given in order, or by name; its `feeds` are theirs, dense."""
    model = Model(context, source)
    if not isinstance(inputs, dict):
        inputs = {name: array for (name, _, _), array in zip(model.inputs, inputs)}
    feeds = {name: numpy.ascontiguousarray(array).reshape(numpy.shape(array)) for name, array in inputs.items()}
    made = Plan(model, feeds, with_data, **options)
    made.feeds = feeds
    return made


def run(context, source, inputs, with_data=True, **options):
    """Outputs of a model for inputs given in order, or by name."""
    made = plan(context, source, inputs, with_data, **options)
    return Session(made).run(made.feeds)


LOSSES = {"cross_entropy": 0, "mse": 1, "l1": 2, "charbonnier": 3, "bce": 4}
OPTIMIZERS = {"sgd": 0, "adam": 1, "adamw": 2}
STORAGES = {"f32": 1, "bf16": 3}  # numbers of rynd_dtype


class Trainer(Handle):
    """Steps of training; options by the names of rynd_trainer_options."""

    destroy = "rynd_trainer_destroy"

    def __init__(self, model, loss="cross_entropy", optimizer="sgd", freeze=(), storage="f32", **numbers):
        super().__init__(model)
        options = sized(TrainerOptions)
        options.loss, options.optimizer, options.storage = LOSSES[loss], OPTIMIZERS[optimizer], STORAGES[storage]
        patterns = (c_char_p * len(freeze))(*(pattern.encode() for pattern in freeze))
        options.freeze, options.freeze_count = (patterns, len(freeze)) if freeze else (None, 0)
        for name, value in numbers.items():
            setattr(options, name, value)
        call("rynd_trainer_create", model.pointer, byref(options), byref(self.pointer))

    def _go(self, function, inputs, target, *more):
        loss = c_double()
        tensors = (Tensor * len(inputs))(*(Tensor.of(array) for array in inputs))
        call(function, self.pointer, tensors, byref(Tensor.of(target)), *more, byref(loss))
        return loss.value

    def step(self, inputs, target, rate):
        return self._go("rynd_trainer_step", inputs, target, c_double(rate))

    def evaluate(self, inputs, target):
        return self._go("rynd_trainer_evaluate", inputs, target)

    def steps(self):
        return steps_of(LIBRARY.rynd_trainer_plan(self.pointer))

    def output(self):
        tensor = Tensor()
        call("rynd_trainer_get_output", self.pointer, byref(tensor))
        return tensor.array()

    def states(self):
        """Copies, by name."""
        found = {}
        for i in range(LIBRARY.rynd_trainer_state_count(self.pointer)):
            info = sized(StateInfo)
            call("rynd_trainer_get_state", self.pointer, i, byref(info))
            array = numpy.empty(tuple(info.tensor.dim[: info.tensor.rank]), DTYPES[info.tensor.dtype])
            call("rynd_trainer_read", self.pointer, info.name, byref(Tensor.of(array)))
            found[info.name.decode()] = array
        return found

    def gradient(self, name):
        tensor = Tensor()
        call("rynd_trainer_get_gradient", self.pointer, name.encode(), byref(tensor))
        return tensor.array()
