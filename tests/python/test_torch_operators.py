# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own samples of each operator (torch.testing's OpInfo), forward and backward, strict, against the CPU."""

import itertools
from unittest import mock

import pytest

from torch_strict import torch

from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from torch_operators import DROPPING, EXCLUDED, WITHOUT_KERNEL

SAMPLES = 3
OPERATORS = [op for op in op_db if op.supports_dtype(torch.float32, "cpu") and op.full_name not in EXCLUDED]


def moved(sample):
    """The sample on the device: a tensor that occurs twice does so again."""
    copies = {}

    def move(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in copies:
            copies[id(value)] = value.detach().to("rynd").requires_grad_(value.requires_grad)
        return copies[id(value)]
    return sample.transform(move)


def computed(op, sample):
    """Results and gradients."""
    tensors = [leaf for leaf in tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    for tensor in tensors:  # samples share tensors
        tensor.grad = None
    results = [leaf for leaf in tree_leaves(op(sample.input, *sample.args, **sample.kwargs)) if isinstance(leaf, torch.Tensor)]
    roots = [result for result in results if result.requires_grad and result.is_floating_point()]
    if roots:
        torch.autograd.backward(roots, [torch.cos(torch.arange(root.numel(), dtype=torch.float32)).reshape(root.shape).to(root.dtype).to(root.device) for root in roots])
    return [result.detach().cpu() for result in results], [tensor.grad.cpu() for tensor in tensors if tensor.grad is not None]


def close(got, expected):
    assert got.shape == expected.shape and got.dtype == expected.dtype
    finite = expected[torch.isfinite(expected)] if expected.is_floating_point() else expected
    largest = finite.abs().max().item() if expected.is_floating_point() and finite.numel() else 0.0
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=3e-5 * max(largest, 1.0), equal_nan=True)


def with_seed(seed, op, sample):
    """Returns results. The seed replaces the number in the OpInfo."""
    with mock.patch.object(torch, "manual_seed", lambda _: torch.default_generator.manual_seed(seed)):
        return computed(op, sample)[0]


def drops(op, sample):
    """Does the sample's result depend on the seed? Then the device's own result has its shape, and depends on the seed alone."""
    first, second = (with_seed(seed, op, sample) for seed in (0, 1))
    if all(map(torch.equal, first, second)):
        return False
    other = moved(sample)
    one, again, another = (with_seed(seed, op, other) for seed in (0, 0, 1))
    assert all(map(torch.equal, one, again)) and not all(map(torch.equal, one, another))
    assert [(result.shape, result.dtype) for result in one] == [(result.shape, result.dtype) for result in first]
    return True


def compare(op):
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
    for sample in itertools.islice(samples, SAMPLES):
        if op.full_name in DROPPING and drops(op, sample):
            continue
        other = moved(sample)
        expected, slopes = computed(op, sample)
        got, own = computed(op, other)
        assert len(got) == len(expected) and len(own) == len(slopes)
        for a, b in zip(got + own, expected + slopes):
            close(a, b)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.full_name)
def test_operator(op):
    torch.manual_seed(0)
    if op.full_name in WITHOUT_KERNEL:  # fails when a kernel is added: shorten the list
        with pytest.raises(NotImplementedError, match="rynd has no kernel for"):
            compare(op)
    else:
        compare(op)
