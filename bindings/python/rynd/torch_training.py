# SPDX-License-Identifier: Apache-2.0
"""Captured graphs that need gradients: forward and backward pass are one plan of rynd, differentiated by rynd, behind one autograd function.

Parameters are inputs of the plan, so that writes to them are seen. A call takes a session of the plan until its backward pass has run, or its results
are gone; then the next call reuses the session. Tensors that the graph changes in place (running statistics) are written after the forward pass.
"""

import collections

import torch

from .torch_export import differs, gradients_differ
from .torch_graph import Arguments, Refused, export_training, results_of, size_of
from .torch_random import draw_outside

MOST_PLANS = 8  # per graph: shapes and strides of inputs, and sets of tensors whose gradients are wanted
MOST_READY = 2  # plans used last that keep sessions, which hold the memory of activations
MOST_SESSIONS = 2  # idle ones that such a plan keeps


class _Lease:
    """A session, from a forward pass to its backward pass."""

    def __init__(self, plan):
        self.plan = plan
        self.open = False
        try:
            self.session = plan.idle.pop()
        except IndexError:
            self.session = None
            self.session = _Bound(plan.plan.session())

    def forward(self, tensors):
        results = self.session.forward(tensors)
        self.open = True
        return results

    def backward(self, gradients):
        if not self.open:
            raise RuntimeError("backend rynd: the backward pass of this call has run already, and its values are gone. Call the network again; "
                               "retain_graph=True has no effect on a graph that rynd runs")
        self.open = False
        results = self.session.backward(gradients)
        self.give_back()
        return results

    def give_back(self):
        if self.session and len(self.plan.idle) < MOST_SESSIONS:
            self.plan.idle.append(self.session)
        self.session = None

    def __del__(self):
        self.give_back()


def _tuple(results):
    return results if isinstance(results, tuple) else (results,)


class _Bound:
    """Runs a session, and binds the tensors that have moved."""

    def __init__(self, session):
        self.session = session
        self.rereads = session.rereads
        self.places = []
        self.copies = []  # tensors that lie in the session's hands alone

    def forward(self, tensors):
        self.copies = [tensor.detach().resolve_neg() if tensor.is_neg() else None for tensor in tensors]
        tensors = [copy if copy is not None else tensor.detach() for tensor, copy in zip(tensors, self.copies)]
        places = [(tensor.data_ptr(), tensor.stride()) for tensor in tensors]
        same = self.places or [None] * len(places)
        self.places = []  # unknown, if the run fails
        given = [None if place == before and place[0] else tensor for tensor, place, before in zip(tensors, places, same)]
        results = [torch.from_dlpack(result) for result in _tuple(self.session.run_forward(*given))]
        self.places = places
        return results

    def backward(self, gradients):
        return [torch.from_dlpack(result) for result in _tuple(self.session.run_backward(*(gradient.detach().resolve_neg() for gradient in gradients)))]


class _Plan:
    """Forward and backward pass for one set of shapes, and of tensors whose gradients are wanted."""

    def __init__(self, graph, tensors, wanted):
        model = graph.model
        self.wanted = [place for place, index in enumerate(graph.inputs) if wanted[index]]
        names = [model.inputs[place].name for place in self.wanted]
        dims = {}
        for value, index in zip(model.inputs, graph.inputs):
            for name, size in zip(value.shape, tensors[index].shape):
                if isinstance(name, str) and name.isidentifier():
                    dims[name] = size
        gradient = model.gradient(names, [model.outputs[place].name for place in graph.differentiable], dims=dims)
        self.plan = gradient.plan(inputs={model.inputs[place].name: tensors[index].detach() for place, index in enumerate(graph.inputs)})
        self.idle = [_Bound(self.plan.session())]
        self.rereads = self.idle[0].rereads
        self.given = [value.shape for value in gradient.inputs[len(model.inputs):]]
        self.dtypes = [getattr(torch, _DTYPES[value.dtype]) for value in gradient.inputs[len(model.inputs):]]
        if any(graph.inputs[place] in graph.changed for place in self.rereads):
            raise Refused("its gradients need a tensor that it changes in place")

    def gradients(self, gradients):
        """Gradients of all outputs: zeros in the place of None."""
        return [torch.zeros(shape, dtype=dtype) if gradient is None else gradient
                for gradient, shape, dtype in zip(gradients, self.given, self.dtypes)]


_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


class _Call(torch.autograd.Function):
    """A call of the graph: `tensors` are the inputs of the model, results are its outputs."""

    @staticmethod
    def forward(ctx, graph, plan, *tensors):
        lease = _Lease(plan)
        results = lease.forward(tensors)
        ctx.lease, ctx.graph, ctx.count = lease, graph, len(tensors)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*(tensors[place] for place in plan.rereads))
        ctx.mark_non_differentiable(*(result for place, result in enumerate(results) if place not in graph.differentiable))
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        if torch.is_grad_enabled():
            raise RuntimeError("backend rynd: create_graph=True wants second derivatives, and a graph that rynd runs has none. Leave the module uncompiled")
        ctx.saved_tensors  # noqa: B018 - fails if one was changed in place
        plan = ctx.lease.plan
        made = ctx.lease.backward(plan.gradients([gradients[place] for place in ctx.graph.differentiable]))
        all_of = [None] * ctx.count
        for place, gradient in zip(plan.wanted, made):
            all_of[place] = gradient
        return None, None, *all_of


class TrainedGraph:
    """A graph by rynd, with gradients. Raises Refused, and what rynd and PyTorch's exporter raise, while it is made or first called."""

    def __init__(self, graph_module, examples, options):
        self.graph_module, self.draws = draw_outside(graph_module)
        nodes = [node for node in self.graph_module.graph.nodes if node.op == "placeholder"]
        self.arguments = Arguments(nodes, [*examples, *(torch.zeros(1) for _ in self.draws)])
        self.results = results_of(self.graph_module.graph, self.arguments, nodes)
        self.options = options
        self.positions = [*self.arguments.at, *self.arguments.constants]  # arguments that are the program's inputs
        self.model = None
        self.plans = collections.OrderedDict()

    def _export(self, values):
        self.model, self.changed = export_training(self.graph_module, self.arguments, values, self.options)
        names = [f"x{i}" for i in range(len(self.arguments.at))] + [f"c{i}" for i in range(len(self.arguments.constants))]
        self.inputs = [names.index(value.name) for value in self.model.inputs]  # the program's inputs that are the model's
        differentiable = self.arguments.needs_gradient(self.graph_module.graph)
        self.differentiable = [len(self.changed) + place for place, needs in enumerate(differentiable) if needs]
        outputs = [value.name for value in self.model.outputs]
        if len(set(outputs)) < len(outputs):
            raise Refused("it gives a tensor twice")
        if not self.differentiable:
            raise Refused("no result needs a gradient")

    def _values(self, values):
        """The arguments, drawn ones included."""
        sizes = self.arguments.sizes(values)
        return [*values, *(draw.tensor([size_of(size, sizes) for size in draw.meta.shape]) for draw in self.draws)]

    def _plan(self, tensors):
        wanted = tuple(tensor.requires_grad for tensor in tensors)
        if any(tensor.requires_grad and place in self.changed for place, tensor in enumerate(tensors)):
            raise Refused("it changes a tensor in place whose gradient is wanted")
        count = len(self.arguments.at)
        key = (wanted, *((tensor.shape, tensor.stride()) for tensor in tensors[:count]))
        if key not in self.plans:
            if len(self.plans) >= MOST_PLANS:
                self.plans.popitem(last=False)
            self.plans[key] = _Plan(self, tensors, wanted)
        self.plans.move_to_end(key)
        for plan in list(self.plans.values())[:-MOST_READY]:
            plan.idle.clear()
        return self.plans[key]

    def _check(self, plan, tensors, values):
        """Compares results and gradients with PyTorch's. Raises Refused."""
        mine = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
        for place in self.changed:
            mine[place] = tensors[place].detach().clone()
        arguments = list(values)
        for position, tensor in zip(self.positions, mine):
            arguments[position] = tensor
        with torch.enable_grad():
            arguments = [argument.clone() if isinstance(argument, torch.Tensor) and argument.requires_grad else argument for argument in arguments]
            theirs = [result for result in self.graph_module(*arguments) if isinstance(result, torch.Tensor)]
        lease = _Lease(plan)
        results = lease.forward([tensors[index] for index in self.inputs])
        accuracy = self.options.get("accuracy")
        for result, tensor in zip(results[len(self.changed):], theirs):
            if differs(result, tensor.detach(), accuracy):
                raise Refused("as PyTorch exports it, it computes other results than PyTorch")
        for place, result in zip(self.changed, results):
            if differs(result, mine[place], accuracy):
                raise Refused("as PyTorch exports it, it changes tensors in another way than PyTorch")
        of = [theirs[place - len(self.changed)] for place in self.differentiable]
        generator = torch.Generator().manual_seed(1)
        seeds = [torch.randn(tensor.shape, generator=generator).to(tensor.dtype) for tensor in of]
        wanted = [mine[self.inputs[place]] for place in plan.wanted]
        made = lease.backward(plan.gradients([seed.clone() for seed in seeds]))
        expected = torch.autograd.grad(of, wanted, seeds, allow_unused=True)
        if gradients_differ(made, expected, accuracy):
            raise Refused("as PyTorch exports it, its gradients are not PyTorch's")

    def prepare(self, values):
        """Exports, plans and compares for the first call. It changes nothing but PyTorch's generator, which `call` finds as it was."""
        generator = torch.get_rng_state()
        try:
            values = self._values(values)
            self._export(values)
            tensors = [values[position] for position in self.positions]
            self._check(self._plan(tensors), tensors, values)
        finally:
            torch.set_rng_state(generator)

    def begin(self, values):
        """A call in two parts: plans, and returns the function that runs it and gives the graph's results. Raises Refused before anything has changed."""
        if not self.draws:
            plan = self._plan([values[position] for position in self.positions])
            return lambda: self._run(plan, values)
        generator = torch.get_rng_state()
        values = self._values(values)
        try:
            plan = self._plan([values[position] for position in self.positions])
        except Exception:
            torch.set_rng_state(generator)
            raise
        return lambda: self._run(plan, values)

    def _run(self, plan, values):
        tensors = [values[position] for position in self.positions]
        computed = _Call.apply(self, plan, *(tensors[index] for index in self.inputs))
        if self.changed:
            with torch.no_grad():
                torch._foreach_copy_([tensors[place] for place in self.changed], list(computed[:len(self.changed)]))
        made = {"model": lambda index: computed[len(self.changed) + index], "argument": values.__getitem__, "value": lambda value: value}
        return tuple(made[kind](what) for kind, what in self.results)
