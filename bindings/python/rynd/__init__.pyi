# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, overload

from .errors import (ArgumentError as ArgumentError, ArgumentTypeError as ArgumentTypeError, BusyError as BusyError,
                     CancelledError as CancelledError, DeviceError as DeviceError, Error as Error, FileError as FileError,
                     FormatError as FormatError, MissingFileError as MissingFileError, NotFoundError as NotFoundError,
                     OutOfMemoryError as OutOfMemoryError, ShapeError as ShapeError, UnsupportedError as UnsupportedError)

from . import random as random, tasks as tasks, wisdom as wisdom

__version__: str
__all__: list[str]

# An array: anything with the buffer protocol, __dlpack__, or a dtype of ml_dtypes.
_Array = Any
_Result = Array | tuple[Array, ...]
# An array, or its dtype, shape and (where they are not row-major) strides in elements.
_Description = _Array | tuple[str, Sequence[int]] | tuple[str, Sequence[int], Sequence[int]]
_Settings = Mapping[str, str | int]

class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def numpy(self) -> Any: ...
    def torch(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def tolist(self) -> Any: ...
    def item(self) -> int | float | bool: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(self, *, stream: None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
                   copy: bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...

class Value(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int | str, ...] | None

class Node(NamedTuple):
    name: str
    op: str
    source: str
    inputs: list[str]
    outputs: list[str]

class Memory(NamedTuple):
    weights: int
    activations: int
    workspace: int
    total: int

class Prediction(NamedTuple):
    median: float
    low: float
    high: float
    coverage: float
    arithmetic: float
    memory: float
    overhead: float
    energy: tuple[float, float, float, str] | None

class Candidate(NamedTuple):
    kernel: str
    accuracy: str
    refused: str | None
    chosen: bool
    knobs: str
    prediction: Prediction | None
    measured: float | None
    workspace: int
    packed: int
    kinds: dict[str, float]

class Candidates(list[Candidate]):
    @property
    def chosen(self) -> Candidate: ...
    @property
    def forms(self) -> list[Candidate]: ...
    @property
    def refused(self) -> list[Candidate]: ...

class PlanForm(NamedTuple):
    knobs: str
    reason: str
    measured: float

class Operand(NamedTuple):
    name: str
    output: bool
    dtype: str
    shape: tuple[int, ...]
    storage: str
    offset: int
    bytes: int
    producer: int | None

class Span(NamedTuple):
    step: Step
    thread: int
    begin: float
    end: float
    tasks: int

class Parameter(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    node: str

class Knob(NamedTuple):
    name: str
    value: str
    values: tuple[str, ...]
    unit: str
    main: bool

class Step:
    index: int
    name: str
    op: str
    problem: str
    kernel: str
    knobs: str
    layout_in: str
    layout_out: str
    fused: str
    reason: str
    flop: float
    bytes: float
    accuracy: str
    kernel_flop: float
    micro_batches: int
    activations: int
    workspace: int
    source: str
    reference: bool

class Profile:
    steps: list[tuple[Step, float]]
    spread: list[tuple[float, float]]
    predicted: list[float]
    seconds: float
    total_spread: tuple[float, float]
    total_predicted: float
    rounds: int
    def _repr_html_(self) -> str: ...

class TunedForm:
    kernel: str
    knobs: str
    verdict: str
    reason: str
    predicted: float
    n: int
    mean: float
    variance: float
    median: float
    min: float
    max: float
    flop: float
    bytes: float
    tasks: int
    packed: int
    workspace: int
    joule: float

class TunedPlan:
    knobs: str
    predicted: float
    n: int
    mean: float
    variance: float
    median: float
    min: float
    max: float
    ratio: float
    faster: bool

class TunedProblem:
    problem: str
    constants: int
    steps: int
    forms: list[TunedForm]
    taken: int
    ratio: float
    network_ratio: float
    rounds: int
    disturbed: int
    disturbance: float
    left_out: int
    seconds: float
    cold: bool
    elsewhere: bool
    @property
    def default(self) -> TunedForm: ...
    @property
    def choice(self) -> TunedForm: ...

class Tuning:
    problems: list[TunedProblem]
    plans: list[TunedPlan]
    plans_listed: int
    plan: int
    budget: float
    used: float
    before: float
    after: float
    ratio: float
    runs: int
    taken: bool
    ended: bool

class Session:
    plan: Plan
    @property
    def memory(self) -> int: ...
    @property
    def copied(self) -> int: ...
    def __init__(self, plan: Plan) -> None: ...
    def run(self, *arrays: _Array, **named: _Array) -> _Result: ...
    async def run_async(self, *arrays: _Array, **named: _Array) -> _Result: ...
    def run_in_stream(self, inputs: Iterable[_Array | Buffer | View | tuple[Buffer, int]],
                      outputs: Iterable[_Array | Buffer | View | tuple[Buffer, int] | None] | None = None, stream: Stream | None = None,
                      wait: Iterable[Event] = (), record: Event | None = None) -> tuple[Any, ...]: ...
    def wait(self) -> None: ...
    def run_forward(self, *arrays: _Array | None) -> _Result: ...
    def run_backward(self, *gradients: _Array) -> _Result: ...
    @property
    def rereads(self) -> list[int]: ...
    def profile(self, *arrays: _Array, rounds: int = 5, **named: _Array) -> Profile: ...
    def trace(self, *arrays: _Array, **named: _Array) -> list[Span]: ...

class Plan:
    memory: Memory
    planning_seconds: float
    complete: bool
    @property
    def seconds(self) -> float: ...
    def predict(self, step: Step | int | str | None = None) -> Prediction: ...
    def explain(self, step: Step | int | str) -> Candidates: ...
    @property
    def steps(self) -> list[Step]: ...
    @property
    def form(self) -> PlanForm: ...
    def knobs(self, step: Step | int | str | None = None) -> list[Knob]: ...
    def operands(self, step: Step | int | str) -> list[Operand]: ...
    def session(self) -> Session: ...
    def _repr_html_(self) -> str: ...

class Weights(NamedTuple):
    packed: int
    derived: int
    unused_packed: int
    unused_derived: int
    keep: int

class Model:
    inputs: list[Value]
    outputs: list[Value]
    @property
    def info(self) -> dict[str, Any]: ...
    def new_head(self, classes: int, seed: int = 0) -> Model: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    def set_metadata(self, key: str, value: str | None) -> None: ...
    @property
    def quantization(self) -> Quantization | None: ...
    @property
    def nodes(self) -> list[Node]: ...
    @property
    def parameters(self) -> list[Parameter]: ...
    @property
    def path(self) -> str | None: ...
    def __init__(self, source: str | os.PathLike[str] | bytes, device: str | None = None, threads: int | None = None,
                 accuracy: str | None = None, isa: str | None = None, machine: str | None = None, wisdom: str | os.PathLike[str] | None = None,
             frozen: bool | None = None, own_weights: int | None = None) -> None: ...
    @property
    def weights(self) -> Weights: ...
    def keep_weights(self, size: int) -> None: ...
    def forget(self) -> None: ...
    def __call__(self, *arrays: _Array | Mapping[str, _Array], **named: _Array) -> _Result: ...
    def plan(self, batch: int | None = None, dims: Mapping[str, int] | None = None, inputs: Mapping[str, _Description] | None = None,
             accuracy: str | None = None, device: str | None = None, threads: int | None = None, isa: str | None = None,
             machine: str | None = None, settings: Mapping[str, _Settings] | None = None, weights: bool = True,
             progress: Callable[[int, int], object] | bool | None = None, wisdom: str | os.PathLike[str] | None = None,
             frozen: bool | None = None, own_weights: int | None = None) -> Plan: ...

    def tune(self, budget: float = 0.0, batch: int | None = None, dims: Mapping[str, int] | None = None,
             inputs: Mapping[str, _Description] | None = None, seed: int = 1, weights: str | None = None,
             settings: Mapping[str, _Settings] | None = None, keep: bool = True,
             progress: Callable[[dict[str, Any]], object] | None = None, energy: bool = False) -> Tuning: ...
    def part(self, inputs: Sequence[str], outputs: Sequence[str], batch: int | None = None,
             dims: Mapping[str, int] | None = None) -> Part: ...
    def gradient(self, inputs: Sequence[str], outputs: Sequence[str] | None = None, batch: int | None = None,
                 dims: Mapping[str, int] | None = None) -> Gradient: ...
    @overload
    def save(self, path: None = None, tensors: Mapping[str, _Array] | None = None) -> bytes: ...
    @overload
    def save(self, path: str | os.PathLike[str], tensors: Mapping[str, _Array] | None = None) -> None: ...

class Part:
    inputs: list[Value]
    outputs: list[Value]
    def plan(self, accuracy: str | None = None, settings: Mapping[str, _Settings] | None = None, weights: bool = True,
             progress: Callable[[int, int], object] | bool | None = None) -> Plan: ...
    def __call__(self, *arrays: _Array, **named: _Array) -> _Result: ...

class Gradient(Part):
    def plan(self, inputs: Mapping[str, _Description] | None = None, accuracy: str | None = None,
             settings: Mapping[str, _Settings] | None = None, weights: bool = True,
             progress: Callable[[int, int], object] | bool | None = None) -> Plan: ...
    def forward(self, *arrays: _Array) -> _Result: ...
    def backward(self, *gradients: _Array) -> _Result: ...

class PlacedPart(Part):
    network: int
    device: str
    first: int
    end: int
    first_node: str
    last_node: str
    steps: int
    seconds: float
    memory: Memory
    bytes_in: float
    bytes_out: float

class FleetDevice(NamedTuple):
    name: str
    device: str
    machine: str | None
    threads: int | None
    memory: float | None
    watts: float | None

class Placement:
    objective: str
    value: float
    bound: float
    gap: float
    searched: int
    latency: float
    period: float
    energy: float | None
    memory: float
    complete: bool
    devices: list[FleetDevice]
    @property
    def parts(self) -> list[PlacedPart]: ...
    def link(self, a: str, b: str) -> tuple[float, float]: ...
    def makespan(self, inputs: int) -> float: ...

class Op:
    problem: str
    step: Step
    steps: list[Step]
    def __init__(self, problem: str, inputs: Sequence[_Description | None] = (), accuracy: str | None = None, device: str | None = None,
                 threads: int | None = None, isa: str | None = None, machine: str | None = None, settings: _Settings | None = None, wisdom: str | os.PathLike[str] | None = None,
             frozen: bool | None = None, cached: bool = False) -> None: ...
    @property
    def inputs(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]] | None]: ...
    @property
    def outputs(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]] | None]: ...
    @property
    def workspace(self) -> int: ...
    def predict(self) -> Prediction: ...
    def explain(self, step: Step | int = 0) -> Candidates: ...
    def run(self, *arrays: _Array) -> _Result: ...
    def run_async(self, inputs: Iterable[_Operand], outputs: Iterable[_Operand], stream: Stream,
                  workspace: tuple[Buffer, int] | Buffer | None = None) -> None: ...
    def wait(self) -> None: ...
    def in_place(self, output: int, input: int) -> bool: ...
    def result(self, output: int) -> tuple[str, tuple[int, ...], tuple[int, ...]]: ...

class Buffer:
    @property
    def size(self) -> int: ...
    @property
    def native(self) -> int: ...
    def __init__(self, size: int, device: str | None = None, threads: int | None = None, isa: str | None = None, machine: str | None = None,
                 wisdom: str | os.PathLike[str] | None = None, frozen: bool | None = None, native: int | None = None) -> None: ...
    def write(self, array: _Array, offset: int = 0) -> None: ...
    def read(self, array: _Array, offset: int = 0) -> None: ...

class View(NamedTuple):
    buffer: Buffer
    dtype: str
    shape: Sequence[int]
    strides: Sequence[int] | None = None
    offset: int = 0
    @property
    def description(self) -> tuple[str, tuple[int, ...], tuple[int, ...]]: ...

_Operand = View | Buffer | tuple[Buffer, int] | int | float | None

class Event:
    @property
    def done(self) -> bool: ...
    def __init__(self, device: str | None = None, threads: int | None = None, isa: str | None = None, machine: str | None = None,
                 wisdom: str | os.PathLike[str] | None = None, frozen: bool | None = None) -> None: ...
    def wait(self) -> None: ...
    def elapsed(self, to: Event) -> float: ...

class Stream:
    def __init__(self, device: str | None = None, threads: int | None = None, isa: str | None = None, machine: str | None = None,
                 wisdom: str | os.PathLike[str] | None = None, frozen: bool | None = None) -> None: ...
    def synchronize(self) -> None: ...
    def profile(self, on: bool) -> None: ...
    def wait(self, other: Event | Stream) -> None: ...
    def record(self, event: Event | None = None) -> Event: ...
    def write(self, buffer: Buffer, array: _Array, offset: int = 0) -> None: ...
    def read(self, buffer: Buffer, array: _Array, offset: int = 0) -> None: ...
    def copy(self, to: Buffer, source: Buffer, size: int | None = None, to_offset: int = 0, source_offset: int = 0) -> None: ...
    def fill(self, buffer: Buffer, pattern: bytes, size: int | None = None, offset: int = 0) -> None: ...
    def copy_tensor(self, to: View, source: View | int | float) -> None: ...

class OpCache(NamedTuple):
    hits: int
    misses: int
    evictions: int
    ops: int
    bytes: int
    limit_ops: int
    limit_bytes: int

def op_cache(device: str | None = None, threads: int | None = None) -> OpCache: ...
def limit_op_cache(ops: int, bytes: int, device: str | None = None, threads: int | None = None) -> None: ...

def host_allocate(dtype: str, shape: Sequence[int], device: str | None = None, threads: int | None = None, isa: str | None = None,
                  machine: str | None = None, wisdom: str | None = None, frozen: bool | None = None) -> Array: ...

class DeviceMemory(NamedTuple):
    used: int
    held: int
    peak: int
    total: int

def device_memory(device: str | None = None, threads: int | None = None) -> DeviceMemory: ...
def trim_memory(keep: int = 0, device: str | None = None, threads: int | None = None) -> None: ...

class Expr:
    def __init__(self, text: str, *inputs: _Description, axes: int | Sequence[int] | None = None, keepdims: bool = False,
                 accuracy: str | None = None, device: str | None = None, threads: int | None = None, isa: str | None = None,
                 machine: str | None = None, wisdom: str | os.PathLike[str] | None = None, frozen: bool | None = None) -> None: ...
    @property
    def inputs(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]: ...
    @property
    def outputs(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]: ...
    @property
    def steps(self) -> list[Step]: ...
    @property
    def model(self) -> Part: ...
    def gradient(self, wanted: int | Iterable[int] | None = None) -> Expr: ...
    def predict(self) -> Prediction: ...
    def run(self, *arrays: _Array) -> _Result: ...

def expr(text: str, *arrays: _Array, axes: int | Sequence[int] | None = None, keepdims: bool = False, accuracy: str | None = None,
         device: str | None = None, threads: int | None = None) -> _Result: ...
class State(NamedTuple):
    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]

_Batch = _Array | Sequence[_Array] | Mapping[str, _Array]

class Bucket(NamedTuple):
    bytes: int
    made: int
    awaited: int

class _Ranks(Protocol):
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    def all_reduce(self, array: Any, /) -> object: ...

class Exchange:
    rank: int
    ranks: int
    local_ranks: int
    def all_reduce(self, array: Any, /) -> None: ...
    def close(self) -> None: ...
    def abort(self, code: int, /) -> None: ...
    def __enter__(self) -> Exchange: ...
    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None: ...

def mpi() -> Exchange: ...
def mpi_ranks() -> int: ...

class Trainer:
    states: list[State]
    def __init__(self, model: Model | str | os.PathLike[str] | bytes, loss: str = "cross_entropy", output: str | None = None,
                 target: str | None = None, label_smoothing: float = 0.0, charbonnier_epsilon: float = 1e-3, optimizer: str = "sgd",
                 momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8, clip_norm: float = 0.0, norm_momentum: float = 0.0, freeze: str | Iterable[str] = (),
                 train_only: str | Iterable[str] = (), train_last: int | None = None,
                 keep_gradients: bool = False, init: str = "model", init_seed: int = 0, dropout: str = "model", dropout_seed: int = 0, accumulate: int = 1,
                 memory_limit: int | None = None, storage: str = "f32", batch: int | None = None, dims: Mapping[str, int] | None = None,
                 inputs: Mapping[str, _Description] | None = None, accuracy: str | None = None,
                 settings: Mapping[str, _Settings] | None = None, exchange: _Ranks | None = None, bucket_bytes: int = 0,
                 ignore_label: int | None = None, head: str | None = None, boxes: int = 0, box_weight: float = 0.0) -> None: ...
    def step(self, inputs: _Batch, target: _Array, learning_rate: float) -> float: ...
    def evaluate(self, inputs: _Batch, target: _Array) -> float: ...
    @property
    def output(self) -> Array: ...
    @property
    def outputs(self) -> dict[str, Array]: ...
    @property
    def target(self) -> tuple[str, tuple[int, ...]]: ...
    def read(self, name: str) -> Array: ...
    def write(self, name: str, array: _Array) -> None: ...
    def prepare_evaluation(self) -> None: ...
    @property
    def identity(self) -> dict[str, str]: ...
    @overload
    def save(self, path: None = None) -> bytes: ...
    @overload
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def gradient(self, name: str) -> Array: ...
    @property
    def steps(self) -> list[Step]: ...
    @property
    def buckets(self) -> list[Bucket]: ...
    def predict(self, step: Step | int | None = None) -> Prediction: ...
    def profile(self, inputs: _Batch, target: _Array, learning_rate: float = 0.0, rounds: int = 3) -> Profile: ...
    @property
    def memory(self) -> int: ...

def load(source: str | os.PathLike[str] | bytes, device: str | None = None, threads: int | None = None, accuracy: str | None = None,
         isa: str | None = None, machine: str | None = None, wisdom: str | os.PathLike[str] | None = None,
             frozen: bool | None = None, own_weights: int | None = None) -> Model: ...
def conv1d(x: _Array, w: _Array, b: _Array | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
           dilation: int | Sequence[int] = 1, groups: int = 1, accuracy: str | None = None, device: str | None = None,
           threads: int | None = None) -> Array: ...
def conv2d(x: _Array, w: _Array, b: _Array | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
           dilation: int | Sequence[int] = 1, groups: int = 1, accuracy: str | None = None, device: str | None = None,
           threads: int | None = None) -> Array: ...
def conv3d(x: _Array, w: _Array, b: _Array | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
           dilation: int | Sequence[int] = 1, groups: int = 1, accuracy: str | None = None, device: str | None = None,
           threads: int | None = None) -> Array: ...
class SweepTime(NamedTuple):
    median: float
    low: float
    high: float
    coverage: float

class SweepMeasured(NamedTuple):
    n: int
    median: float
    min: float
    max: float
    mean: float
    variance: float

class SweepPoint(NamedTuple):
    values: dict[str, int | str]
    problem: str
    kernel: str
    knobs: str
    time: SweepTime
    measured: SweepMeasured | None
    dominance: dict[str, float | None]

class Sweep:
    problem: str
    points: list[SweepPoint]
    dominance: dict[str, float | None]
    excess: list[dict[str, Any]]
    svg: str
    def _repr_html_(self) -> str: ...

def sweep(problem: str, measure: bool = False, seconds: float = 2, rounds: int = 9, seed: int = 1, device: str | None = None,
          threads: int | None = None, machine: str | None = None, settings: _Settings | None = None,
          **ranges: Iterable[int | str] | int | str) -> Sweep: ...

def tune(problem: str, budget: float = 0.0, seed: int = 1, weights: str | None = None, constants: int | None = None,
         accuracy: str | None = None, device: str | None = None, threads: int | None = None, isa: str | None = None,
         machine: str | None = None, wisdom: str | os.PathLike[str] | None = None, frozen: bool | None = None, keep: bool = True,
         progress: Callable[[dict[str, Any]], object] | None = None, energy: bool = False) -> Tuning: ...
class Quantization(NamedTuple):
    form: str
    layers: int
    quantized: int
    per_channel: int
    weights: str | None
    activations: str | None

class QuantizedLayer(NamedTuple):
    name: str
    op: str
    weights: int
    is_float: bool
    snr: float
    output_snr: float
    seconds: float
    float_seconds: float

class QuantizedInfo(NamedTuple):
    layers: int
    float_layers: int
    observed: int
    output_snr: float
    seconds: float
    float_seconds: float

class Quantizer:
    def __init__(self, model: Model, calibrate: str = "auto", percentile: float = 99.999, activations: str = "u8", per_tensor: bool = False,
                 bias_correction: bool = True, equalise: bool = False, samples: int = 4, batch: int | None = None,
                 dims: Mapping[str, int] | None = None, progress: Callable[[int, int], object] | None = None) -> None: ...
    @property
    def layers(self) -> list[QuantizedLayer]: ...
    @property
    def info(self) -> QuantizedInfo: ...
    def observe(self, *inputs: _Array) -> None: ...
    def measure(self) -> None: ...
    def set_float(self, index: int, is_float: bool = True) -> None: ...
    def keep_float(self, count: int) -> None: ...
    @overload
    def save(self, path: None = None) -> bytes: ...
    @overload
    def save(self, path: str | os.PathLike[str]) -> None: ...

def quantize(model: Model, examples: Iterable[Any], path: str | os.PathLike[str] | None = None, keep_float: int | str = 0,
             min_snr: float | None = None, **options: Any) -> bytes | None: ...
def devices() -> list[str]: ...
def cards() -> list[tuple[str, str, str]]: ...
def check_device(device: str | None = None, threads: int | None = None) -> list[dict[str, Any]]: ...
class Competition:
    def __init__(self) -> None: ...
    def since(self) -> float: ...
    def disturbance(self, best: float, mean: float) -> float: ...
def calibrate_device(device: str | None = None, threads: int | None = None, seconds: float = 90,
                     progress: Callable[[int, int], Any] | None = None) -> dict[str, Any]: ...
def device_info(device: str | None = None, threads: int | None = None) -> dict[str, Any]: ...
def place(models: Model | Sequence[Model], devices: str | os.PathLike[str], objective: str = "latency", batch: int | None = None,
          dims: Mapping[str, int] | None = None, accuracy: str | None = None, parts: int | None = None, nodes: int | None = None,
          progress: Callable[[int, int], object] | None = None) -> Placement: ...
def save_html(thing: Plan | Profile, path: str | os.PathLike[str]) -> None: ...
def from_torch(module: Any, example: Any, dims: Mapping[int, str] | None = None, device: str | None = None, threads: int | None = None,
               accuracy: str | None = None, isa: str | None = None, machine: str | None = None, wisdom: str | os.PathLike[str] | None = None,
             frozen: bool | None = None, own_weights: int | None = None) -> Model: ...
