# SPDX-License-Identifier: Apache-2.0
"""PyTorch's device "rynd": `x.to("rynd")` puts a tensor there, and what is computed with it is computed by rynd.

    import rynd.torch
    network.to("rynd")
    loss = criterion(network(x.to("rynd")), y.to("rynd"))
    loss.backward()

rynd:0 is the processor, rynd:1 and later are the devices of OpenCL and CUDA (`get_device_name`). An operator without a kernel of rynd runs by PyTorch's CPU, with one warning; RYND_TORCH_STRICT=1 makes that an error.
`torch.rynd` has the functions below, as `torch.cuda` has its own. The device is a small library in C++ for one series of PyTorch. The wheel may bring it;
else the first import compiles it and keeps it in a cache folder (XDG_CACHE_HOME/rynd), which needs a C++ compiler. Needs PyTorch 2.11.
"""

import contextlib
import sys
import warnings

import torch

from .build import extension
from .distributed import register as _register_distributed

_device = extension()


def is_available():
    """True: the processor is always there."""
    return True


def device_count():
    """The number of devices: the processor, and those of OpenCL and CUDA."""
    return _device.device_count()


def _index(device):
    """The index of "rynd:1", torch.device("rynd", 1) or 1; None: the current device."""
    index = device if device is None or isinstance(device, int) else torch.device(device).index
    index = _device.current_device() if index is None or index < 0 else index
    if index >= device_count():
        raise ValueError(f"{device!r}: the last device is rynd:{device_count() - 1}")
    return index


def get_device_name(device=None):
    """rynd's name of a device: "cpu", "opencl:0"."""
    return _device.device_name(_index(device))


def current_device():
    """The index of this thread's current device, which "rynd" means."""
    return _device.current_device()


def set_device(device):
    """Sets the current device: "rynd:0", 0."""
    _device.set_current_device(_index(device))


@contextlib.contextmanager
def device(index):
    """A context with another current device."""
    before = current_device()
    set_device(index)
    try:
        yield
    finally:
        set_device(before)


def synchronize(device=None):
    """Waits for the device's work. The processor's is done when an operator returns."""
    _device.synchronize(_index(device))


def host_calls():
    """Operators that ran by PyTorch's loops for the CPU, since the start: calls and seconds by name, {"aten::topk.values": (2, 0.001)}.
    "rynd::conv" is a problem for which the device has no kernel, and which the processor ran."""
    names, counts, seconds = _device.host_calls()
    return dict(zip(names, zip(counts, seconds)))


def memory_allocated(device=None):
    """Bytes of tensors."""
    return _device.memory(_index(device))[0]


def max_memory_allocated(device=None):
    """The largest value of memory_allocated since the start or reset_peak_memory_stats."""
    return _device.memory(_index(device))[1]


def memory_reserved(device=None):
    """Bytes of tensors, and of freed memory that is kept for the next."""
    return _device.memory(_index(device))[2]


def reset_peak_memory_stats(device=None):
    """Begins max_memory_allocated anew."""
    _device.reset_peak(_index(device))


def empty_cache():
    """Frees memory that no tensor uses, and operators with their workspaces and packed weights, of all devices."""
    _device.clear_operators()
    _device.empty_cache()


def memory_stats(device=None):
    """memory_allocated, its maximum and memory_reserved by the names that torch.cuda.memory_stats has."""
    used, peak, held = _device.memory(_index(device))
    return {"allocated_bytes.all.current": used, "allocated_bytes.all.peak": peak, "reserved_bytes.all.current": held}


def Stream(device="rynd", priority=0):
    """A queue of work. The processor's runs are done when they return: streams order nothing, and waiting for one returns at once."""
    return torch.Stream(torch.device(device), priority=priority)


def Event(enable_timing=False, blocking=False, interprocess=False):
    """A point in a queue; with enable_timing=True, `a.elapsed_time(b)` is the milliseconds between two recorded ones."""
    return torch.Event(torch.device("rynd"), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


def current_stream(device=None):
    """The stream of this thread."""
    return torch.accelerator.current_stream(_index(device))


def default_stream(device=None):
    """The stream that each thread begins with."""
    return torch.Stream(stream_id=0, device_index=_index(device), device_type=current_stream().device_type)


@contextlib.contextmanager
def stream(stream):
    """A context with another stream."""
    before = current_stream()
    torch.accelerator.set_stream(stream)
    try:
        yield
    finally:
        torch.accelerator.set_stream(before)


def get_amp_supported_dtype():
    """The dtypes of torch.amp.autocast("rynd")."""
    return [torch.bfloat16, torch.float16]


def operators():
    """(operators that are kept, operators made, bytes of their workspaces and packed weights)."""
    return _device.operators()


def set_threads(count):
    """Sets the number of threads; 0: RYND_THREADS, or one for each core."""
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"set_threads({count!r}): give a whole number, 0 for one thread a core")
    _device.set_threads(count)


def manual_seed(seed):
    """Seeds random numbers. They are the CPU's: torch.manual_seed does the same."""
    torch.default_generator.manual_seed(seed)


def manual_seed_all(seed):
    """As manual_seed: called by torch.manual_seed, which has seeded the CPU's generator."""


def get_rng_state(device=None):
    """The state of the generator, which is the CPU's."""
    return torch.default_generator.get_state()


def set_rng_state(state, device=None):
    """Sets the state of the generator, which is the CPU's."""
    torch.default_generator.set_state(state)


def _is_in_bad_fork():
    return False


def _register():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that a PyTorch may have already
        torch.utils.rename_privateuse1_backend("rynd")
        if not hasattr(torch, "rynd"):
            torch._register_device_module("rynd", sys.modules[__name__])
        torch.utils.generate_methods_for_privateuse1_backend()
    _register_distributed(_device.on_host)


_register()
