# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own samples of modules and optimizers (torch.testing's module_db and optim_db) on the device "rynd", strict, against the CPU."""

import copy

import pytest

from torch_strict import seed, torch  # noqa: F401

from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.utils._pytree import tree_leaves, tree_map

from torch_operators import MODULES_EXCLUDED, MODULES_WITHOUT_KERNEL, OPTIMIZERS_EXCLUDED

SAMPLES = 4


def differentiable(value):
    return isinstance(value, torch.Tensor) and value.requires_grad


def copied(values, where):
    """Values whose tensors are copies; one that needs a gradient is a leaf."""
    return tree_map(lambda value: value.detach().clone().to(where).requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value, values)


def computed(module, sample, where):
    """Results, and gradients of inputs and parameters."""
    torch.manual_seed(1)
    args, kwargs = copied((sample.args, sample.kwargs), where)
    leaves = [leaf for leaf in tree_leaves((args, kwargs)) if differentiable(leaf)] + list(module.parameters())
    results = [leaf for leaf in tree_leaves(module(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]
    roots = [result for result in results if result.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.cos(torch.arange(root.numel(), dtype=torch.float32)).reshape(root.shape).to(root.device) for root in roots])
    return [result.detach().cpu() for result in results] + [leaf.grad.cpu() for leaf in leaves if leaf.grad is not None]


def compare_module(info, training):
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
    for sample in inputs[:SAMPLES]:
        if sample.forward_input is None:
            continue
        made = sample.constructor_input
        module = info.module_cls(*made.args, **made.kwargs).train(training)
        if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):  # its hooks do not survive a copy
            module(*sample.forward_input.args, **sample.forward_input.kwargs)
        got = computed(copy.deepcopy(module).to("rynd"), sample.forward_input, "rynd")
        expected = computed(module, sample.forward_input, "cpu")
        for mine, theirs in zip(got, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=3e-5, equal_nan=True)


@pytest.mark.parametrize("training", (True, False), ids=("training", "evaluation"))
@pytest.mark.parametrize("info", [info for info in module_db if info.formatted_name not in MODULES_EXCLUDED], ids=lambda info: info.formatted_name)
def test_module(info, training):
    torch.manual_seed(0)
    if info.formatted_name in MODULES_WITHOUT_KERNEL:  # fails when a kernel is added: shorten the list
        with pytest.raises(NotImplementedError, match="rynd has no kernel for"):
            compare_module(info, training)
    else:
        compare_module(info, training)


def steps(info, kwargs, where):
    """The parameters after two steps, in float64."""
    torch.manual_seed(2)
    weights = [torch.randn(shape, dtype=torch.float64).to(where).requires_grad_() for shape in ((4, 3), (5, 4))]
    x = torch.randn(6, 3, dtype=torch.float64).to(where)
    optimizer = info.optim_cls(weights, **tree_map(lambda value: value.to(where) if isinstance(value, torch.Tensor) else value, kwargs))

    def closure():
        optimizer.zero_grad()
        loss = torch.tanh(x @ weights[0].t()).matmul(weights[1].t()).square().mean()
        loss.backward()
        return loss
    for _ in range(2):
        optimizer.step(closure)
    return [weight.detach().cpu() for weight in weights]


@pytest.mark.parametrize("info", [info for info in optim_db if info.optim_cls.__name__ not in OPTIMIZERS_EXCLUDED], ids=lambda info: info.optim_cls.__name__)
def test_optimizer(info):
    for sample in info.optim_inputs_func(device="cpu"):
        if not sample.kwargs.get("capturable"):  # CUDA's graphs
            for mine, theirs in zip(steps(info, sample.kwargs, "rynd"), steps(info, sample.kwargs, "cpu"), strict=True):
                torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5 if info.optim_cls is torch.optim.Muon else 1e-8)  # Muon computes in bfloat16


def test_lbfgs():
    """L-BFGS finds the minimum of Rosenbrock's function."""
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64).to("rynd").requires_grad_()
    optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        loss.backward()
        return loss
    optimizer.step(closure)
    torch.testing.assert_close(x.detach().cpu(), torch.ones(2, dtype=torch.float64), rtol=1e-4, atol=1e-4)
