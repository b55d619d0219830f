# SPDX-License-Identifier: Apache-2.0
"""Assignments beside a packaged solver of integer programs (HiGHS): the same optimum.

A chain is a path of one unit of flow: from device 0 through a segment (parts i to j on a device) and a transfer, in turn, to the end and back to device 0.
"""

import json
import math
import os
import subprocess

import pytest

highspy = pytest.importorskip("highspy", reason="highspy is not installed: tests/requirements.txt")


def arcs_of(problem, chain):
    """(from, to, kind, device or pair, amount, bytes held): every segment and transfer that there may be."""
    devices, parts = problem["devices"], chain["parts"]
    for i in range(parts):
        for j in range(i, parts):
            for d in range(devices):
                entry = (i * parts + j) * devices + d
                seconds, held = chain["seconds"][entry], chain["bytes"][entry]
                if seconds is not None:
                    yield ("in", i, d), ("out", j + 1, d), "segment", d, seconds, held

    def transfer(part, a, b):
        size = chain["crossing"][part]
        return 0 if a == b or size == 0 else problem["latency"][a * devices + b] + size / problem["bandwidth"][a * devices + b]

    for d in range(devices):
        yield "begin", ("in", 0, d), "link", (0, d), transfer(0, 0, d), 0
        yield ("out", parts, d), "end", "link", (0, d), transfer(parts, d, 0), 0
        for part in range(1, parts):
            for other in range(devices):
                if other != d:
                    yield ("out", part, d), ("in", part, other), "link", (min(d, other), max(d, other)), transfer(part, d, other), 0


class Program:
    def __init__(self):
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("mip_rel_gap", 0.0)
        self.highs.setOptionValue("mip_abs_gap", 0.0)
        self.count = 0

    def variable(self, upper, integer, cost=0.0):
        self.highs.addVar(0.0, upper)
        self.highs.changeColCost(self.count, cost)
        if integer:
            self.highs.changeColIntegrality(self.count, highspy.HighsVarType.kInteger)
        self.count += 1
        return self.count - 1

    def row(self, low, high, terms):
        self.highs.addRow(low, high, len(terms), [v for v, _ in terms], [float(c) for _, c in terms])

    def solve(self):
        """The least cost, or None if no assignment is feasible."""
        self.highs.run()
        status = self.highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return None
        assert status == highspy.HighsModelStatus.kOptimal, status
        return self.highs.getInfo().objective_function_value


def least(problem):
    program, infinity, objective = Program(), highspy.kHighsInf, problem["objective"]
    largest = program.variable(infinity, False, 1.0)
    loads, held = {}, {}
    for index, chain in enumerate(problem["chains"]):
        balance = {}
        for begin, end, kind, where, amount, size in arcs_of(problem, chain):
            x = program.variable(1.0, True)
            balance.setdefault(begin, []).append((x, -1))
            balance.setdefault(end, []).append((x, 1))
            if kind == "segment":
                held.setdefault(where, []).append((x, size))
            if objective == "memory":
                if kind == "segment":
                    loads.setdefault(("device", where), []).append((x, size))
            elif objective == "energy":
                if kind == "segment":
                    loads.setdefault("all", []).append((x, amount * problem["watts"][where]))
            else:
                loads.setdefault((kind, where), []).append((x, amount))
                if objective == "latency":
                    loads.setdefault(("chain", index), []).append((x, amount))
        for node, terms in balance.items():
            flow = {"begin": -1, "end": 1}.get(node, 0)
            program.row(flow, flow, terms)
    for terms in loads.values():
        program.row(-infinity, 0, terms + [(largest, -1)])
    for device, terms in held.items():
        limit = problem["memory"][device]
        if limit is not None:
            program.row(-infinity, limit, terms)
    return program.solve()


def instances(count, seed, devices, chains, parts):
    program = os.environ["PLACE_INSTANCES"]
    out = subprocess.run([program, *map(str, (count, seed, devices, chains, parts))], capture_output=True, text=True, timeout=300, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("size", [(24, 1, 3, 1, 6), (16, 2, 4, 1, 9), (8, 3, 5, 1, 12), (4, 4, 8, 1, 12), (16, 5, 3, 3, 3), (16, 6, 5, 4, 2)], ids=str)
def test_as_highs(size):
    for problem in instances(*size):
        wanted = least(problem)
        if wanted is None:
            assert problem["value"] is None
        elif problem["objective"] == "latency" and len(problem["chains"]) > 1:
            # Turns that are waited for are in no linear program: it is a bound there.
            assert problem["value"] >= wanted * (1 - 1e-6)
            assert problem["bound"] <= problem["value"]
        else:
            assert problem["bound"] == problem["value"]
            assert math.isclose(problem["value"], wanted, rel_tol=1e-6), problem["objective"]
