#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coefficients of the functions of src/kernels/common/elementary.cl that name this script.

    build/venv/bin/python bench/fit_functions.py [NAME...]

The least maximum error comes by reweighting least squares (C. L. Lawson, 1961), of a quotient by
least squares of P - f Q over the last Q (C. K. Sanathanan, J. Koerner, 1963). Coefficients are
rounded to f32 one after the other, each followed by a fit of those that are left."""
import math
import sys

import numpy as np

POINTS, ROUNDS, LN2_HALF = 4000, 80, 0.34658
ROOT = float(np.float32(math.sqrt(2 * math.pi)))
erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)


def erfcx(x):
    """exp(x^2) erfc(x): beyond 5 by its continued fraction."""
    fraction = x + 0 * x
    for k in range(60, 0, -1):
        fraction = x + k / 2 / np.where(fraction == 0, 1, fraction)
    near = np.minimum(x, 5)
    far = 1 / np.sqrt(np.pi) / np.where(fraction == 0, 1, fraction)
    return np.where(x < 5, np.exp(near**2) * erfc(near), far)


def tail(a):
    return 0.5 * erfcx(a / math.sqrt(2))


def tail_quotient(a):
    """P / S where tail = P / (ROOT a P + S)."""
    return tail(a) / (1 - ROOT * a * tail(a))


def expm1_rest(r):
    """(exp(r) - 1 - r) / r^2, by its series near 0."""
    safe = np.where(np.abs(r) > 1e-3, r, 1)
    return np.where(np.abs(r) > 1e-3, (np.expm1(safe) - safe) / safe**2, 0.5 + r / 6 + r * r / 24)


def exp2_rest(f):
    safe = np.where(np.abs(f) > 1e-9, f, 1)
    return np.where(np.abs(f) > 1e-9, (np.exp2(safe) - 1) / safe, math.log(2))


def log1p_rest(z):
    """(2 atanh(s) - 2s) / s^3 for z = s^2."""
    s = np.sqrt(z)
    return (2 * np.arctanh(s) - 2 * s) / s**3


def tail_weight(a):
    """The relative error of tail for one of tail_quotient."""
    return 1 / (tail_quotient(a) * (1 + ROOT * a * tail_quotient(a)))


def near_gelu(z):
    return 0.5 * erf(np.sqrt(z / 2)) / np.sqrt(z)


def near_erf(z):
    return erf(np.sqrt(z)) / np.sqrt(z)


# name: function, weight of its error, interval, degrees of P and Q (with constant term 1)
FITS = {
    "tanh": (expm1_rest, np.abs, -LN2_HALF, LN2_HALF, 4, 0),
    "exp2": (exp2_rest, np.abs, -0.5, 0.5, 5, 0),
    "softplus": (log1p_rest, lambda z: z / 2, 1e-4, 1 / 9, 3, 0),
    "gelu": (tail_quotient, tail_weight, 0, 14.0, 4, 3),
    "near_gelu": (near_gelu, lambda z: np.sqrt(z) + 0.3, 1e-9, 29.0, 4, 5),
    "near_erf": (near_erf, lambda z: np.sqrt(z) + 0.5, 1e-9, 15.0, 4, 5),
}


def fit(f, weight, low, high, free, fixed, rounds):
    """The least maximum of weight |P/Q - f| over coefficients `free`, beside those `fixed`.

    A coefficient is named by "p" or "q" and its power."""
    angles = np.pi * (np.arange(POINTS) + 0.5) / POINTS
    x = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    y, w, chance, q = f(x), weight(x), np.ones(POINTS) / POINTS, np.ones(POINTS)
    column = {n: x**n[1] if n[0] == "p" else -y * x**n[1] for n in list(free) + list(fixed)}
    best = (math.inf, None)
    for _ in range(rounds):
        scale, coefficients = np.sqrt(chance) * w / q, dict(fixed)
        if free:
            matrix = np.stack([column[n] * scale for n in free], 1)
            size = np.abs(matrix).max(0)
            right = (y - sum(fixed[n] * column[n] for n in fixed)) * scale
            solution = np.linalg.lstsq(matrix / size, right, rcond=None)[0] / size
            coefficients.update(zip(free, solution))
        p = sum(c * x**n[1] for n, c in coefficients.items() if n[0] == "p")
        q = 1 + sum(c * x**n[1] for n, c in coefficients.items() if n[0] == "q")
        error = np.abs(w * (p / q - y))
        best = min(best, (error.max(), coefficients), key=lambda pair: pair[0])
        chance = chance * (error + 1e-30)
        chance /= chance.sum()
    return best


def main():
    for name in sys.argv[1:] or FITS:
        f, weight, low, high, above, below = FITS[name]
        free = [(part, i) for i in range(max(above, below) + 1) for part in "pq"]
        free = [n for n in free if (n[1] <= above if n[0] == "p" else 1 <= n[1] <= below)]
        fixed = {}
        while free:
            fitted = fit(f, weight, low, high, free, fixed, ROUNDS)[1]
            fixed[free[0]] = float(np.float32(fitted[free[0]]))
            free = free[1:]
        print(f"{name}: error {fit(f, weight, low, high, [], fixed, 1)[0]:.2g}")
        for (part, power), value in sorted(fixed.items()):
            print(f"    {part}{power} = {value.hex()}f")


if __name__ == "__main__":
    main()
