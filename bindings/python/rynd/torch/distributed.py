# SPDX-License-Identifier: Apache-2.0
"""torch.distributed's backend "rynd": gloo on the device's memory, which is the host's. No tensor is copied.

    torch.distributed.init_process_group("rynd", ...)
    network = torch.nn.parallel.DistributedDataParallel(network.to("rynd"))
"""

import torch.distributed as dist


def _wrapped(inner, on_host):
    """A process group that hands tensors of the device to `inner` as tensors of the CPU on the same memory."""

    def host(value):
        return [host(one) for one in value] if isinstance(value, (list, tuple)) else on_host(value)

    def forward(name):
        def call(self, *arguments, **options):
            return getattr(inner, name)(*(host(argument) if isinstance(argument, (list, tuple)) else argument for argument in arguments), **options)
        return call

    names = ("allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "gather", "scatter", "reduce_scatter", "alltoall", "send", "recv", "barrier")
    kind = type("RyndGroup", (dist.ProcessGroup,), {**{name: forward(name) for name in names}, "getBackendName": lambda self: "rynd"})
    return kind(inner.rank(), inner.size())


def register(on_host):
    """Adds the backend; `on_host` returns a tensor of the CPU on a tensor's memory."""
    if dist.is_available() and dist.is_gloo_available() and "rynd" not in dist.Backend.backend_list:
        dist.Backend.register_backend("rynd", lambda store, rank, size, timeout: _wrapped(dist.ProcessGroupGloo(store, rank, size, timeout), on_host), devices=["rynd", "cpu"])
