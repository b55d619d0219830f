# SPDX-License-Identifier: Apache-2.0
"""Estimates from turns: medians, ratios with their intervals, geometric means."""
import math
import statistics

CONFIDENCE = 0.95


def ratio(theirs, ours):
    """How often `ours` fits into `theirs`: (median, low, high, coverage) of the ratios of paired turns.

    The interval is that of order statistics for a median (David and Nagaraja, Order Statistics, 7.1): it assumes nothing of the distribution. With
    fewer than six pairs none reaches 95%; it is then from the least to the greatest, with the coverage that this has."""
    ratios = sorted(a / b for a, b in zip(theirs, ours))
    n = len(ratios)
    outside, k = 0.0, 0  # the chance that the median lies below the k-th, or above the k-th from the end
    while k < n // 2 and outside + 2 * math.comb(n, k) / 2**n <= 1 - CONFIDENCE:
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    if k == 0:
        outside, k = 2 / 2**n, 1
    return statistics.median(ratios), ratios[k - 1], ratios[n - k], 1 - outside


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None
