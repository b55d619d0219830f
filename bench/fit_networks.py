# SPDX-License-Identifier: Apache-2.0
"""Fits what predictions of networks are made from (src/predict/network.c, forecast.c) to measured steps: bench/predictions calls it.

A network is {"network", "total": seconds, "machine": {...}, "steps": [...]}; a step has what bench/steps.c prints, and "time": seconds."""
import math

import numpy

# Coefficient: its range. `shared` is MiB a core.
RANGES = {"own": (0.01, 2), "shared": (1, 256), "near": (0, 0.95), "rate": (0.3, 1.3), "around": (0.5, 8), "exposed": (0, 1), "region": (0.3, 4), "lines": (0, 60)}
MULTIPLES = (0.5, 0.7, 0.85, 1.18, 1.4, 2)
FACTORS = numpy.exp(numpy.linspace(math.log(0.25), math.log(5), 60))
PRIOR = 1.0  # prior of a family's factor: this many steps of mean weight with factor 1
REUSED = 6  # tensors of a step whose reuse distance is known (predict.h)
NETWORKS = 2.0  # weight of the error of a network's total, relative to the errors of its steps
LEAST_SPREAD = 0.05


class Steps:
    """All steps of some networks, as arrays."""

    def __init__(self, networks):
        flat = [(n, network, step) for n, network in enumerate(networks) for step in network["steps"]]
        for key in ("arithmetic", "overhead", "pack", "bytes", "raw", "read", "micro_batches", "time"):
            setattr(self, key, numpy.array([step[key] for _, _, step in flat], float))
        self.packed = numpy.array([step.get("packed", 0) for _, _, step in flat], float)
        # [bytes, reuse distance] of tensors; older files have none
        self.reused = numpy.array([(step.get("reused", []) + [[0, 0]] * REUSED)[:REUSED] for _, _, step in flat], float)
        for key in ("footprint", "l2", "l3", "l3_rate", "dram_rate", "latency", "cores"):
            setattr(self, key, numpy.array([network["machine"][key] for _, network, _ in flat], float))
        for key in ("l2_latency", "l3_latency"):  # older files have memory's alone
            setattr(self, key, numpy.array([network["machine"].get(key, network["machine"]["latency"]) for _, network, _ in flat], float))
        self.network = numpy.array([n for n, _, _ in flat])
        self.count = len(networks)
        self.families = sorted({step["family"] for _, _, step in flat})
        self.family = numpy.array([self.families.index(step["family"]) for _, _, step in flat])
        total = numpy.bincount(self.network, self.time, self.count)
        self.weight = numpy.sqrt(self.time / total[self.network])


def kept(around, cache):
    return numpy.clip(2 - around / numpy.maximum(cache, 1), 0, 1)


def predict(steps, costs, factor):
    """Seconds of each step, as ry_plan_step_time. factor: of each step."""
    c = costs
    cache = numpy.minimum(steps.l3, c["shared"] * 2 ** 20 * steps.cores)

    def levels(around):
        own = kept(around, c["own"] * steps.l2)
        shared = numpy.where(steps.l3 > 0, kept(around, cache) * (1 - own), 0)
        return own, shared, 1 - own - shared

    def memory(size, around):
        own, shared, far = levels(around)
        return size * (shared * (1 - c["near"]) / steps.l3_rate + far / (steps.dram_rate * c["rate"]))

    def once(network_bytes):
        tensors, again = numpy.maximum(steps.bytes - steps.raw, 0), numpy.maximum(network_bytes, steps.bytes)
        m = memory(steps.packed, c["around"] * steps.packed) + memory(steps.read, again)
        for k in range(REUSED):
            part = numpy.minimum(steps.reused[:, k, 0], tensors)
            m, tensors = m + memory(part, c["around"] * steps.bytes + steps.reused[:, k, 1]), tensors - part
        m = m + memory(tensors, c["around"] * steps.bytes)
        a = steps.arithmetic * factor
        own, shared, far = levels(again)
        start = c["lines"] * (own * steps.l2_latency + shared * steps.l3_latency + far * steps.latency)
        return steps.pack + numpy.maximum(a, m) + c["exposed"] * numpy.minimum(a, m) + c["region"] * steps.overhead + start

    return once(steps.footprint) + (steps.micro_batches - 1) * once(0)


def fit_factors(steps, costs):
    """The factor of each family, by least weighted error of logarithms, drawn towards 1."""
    count = len(steps.families)
    best, factors = numpy.full(count, numpy.inf), numpy.ones(count)
    for factor in FACTORS:
        off = numpy.abs(numpy.log(steps.time / predict(steps, costs, factor))) * steps.weight
        error = numpy.bincount(steps.family, off, count) + PRIOR * steps.weight.mean() * abs(math.log(factor))
        better = error < best
        best[better], factors[better] = error[better], factor
    return factors


def error_of(steps, costs, factors):
    time = predict(steps, costs, factors[steps.family])
    sums = numpy.bincount(steps.network, time, steps.count) / numpy.bincount(steps.network, steps.time, steps.count)
    return (numpy.abs(numpy.log(steps.time / time)) * steps.weight).sum() + NETWORKS * numpy.abs(numpy.log(sums)).sum()


def fit(networks, costs, rounds=4):
    """(costs, {family: factor}, {family: spread}), from costs to begin with."""
    steps = Steps(networks)
    costs = dict(costs)
    factors = fit_factors(steps, costs)
    best = error_of(steps, costs, factors)
    for _ in range(rounds):
        for name, (least, most) in RANGES.items():
            for multiple in MULTIPLES:
                tried = {**costs, name: min(max(costs[name] * multiple, least), most)}
                their = fit_factors(steps, tried)
                error = error_of(steps, tried, their)
                if error < best * 0.9995:
                    best, costs, factors = error, tried, their
    off = numpy.log(steps.time / predict(steps, costs, factors[steps.family]))
    spreads = {}
    for f, family in enumerate(steps.families):
        own = steps.family == f
        spreads[family] = math.hypot(math.sqrt(numpy.average(off[own] ** 2, weights=steps.weight[own])), LEAST_SPREAD)
    spread = math.hypot(math.sqrt(numpy.average(off ** 2, weights=steps.weight)), LEAST_SPREAD)
    return costs, dict(zip(steps.families, factors.tolist())), {**spreads, "": spread}


def sums(networks, costs, factors):
    """Predicted seconds of each network; families that are not known have factor 1."""
    steps = Steps(networks)
    factor = numpy.array([factors.get(family, 1.0) for family in steps.families])[steps.family]
    return numpy.bincount(steps.network, predict(steps, costs, factor), steps.count).tolist()
