/* SPDX-License-Identifier: Apache-2.0 */
/* Charges of segments and transfers. */
#include "placement/assign_loads.h"

#include <math.h>

static size_t link_count(const ry_assign_problem *problem)
{
    return problem->devices * (problem->devices - 1) / 2;
}

size_t ry_assign_load_count(const ry_assign_problem *problem)
{
    return problem->devices + link_count(problem) + problem->chains;
}

size_t ry_assign_link(const ry_assign_problem *problem, size_t a, size_t b)
{
    const size_t low = a < b ? a : b, high = a < b ? b : a;
    return problem->devices + high * (high - 1) / 2 + low;
}

static size_t chain_load(const ry_assign_problem *problem, size_t chain)
{
    return problem->devices + link_count(problem) + chain;
}

double ry_assign_transfer(const ry_assign_problem *problem, double bytes, size_t a, size_t b)
{
    const size_t pair = a * problem->devices + b;
    return a == b || bytes == 0 ? 0 : problem->latency[pair] + bytes / problem->bandwidth[pair];
}

ry_charge ry_charge_segment(const ry_assign_problem *problem, size_t chain, size_t first,
                            size_t last, size_t device)
{
    const ry_assign_chain *c = &problem->chain[chain];
    const size_t at = ry_assign_segment(c, first, last) * problem->devices + device;
    const double seconds = c->seconds[at], bytes = c->bytes[at];
    if (seconds == INFINITY || bytes > problem->memory[device]) {
        return (ry_charge){.amount = INFINITY, .load = {device}, .count = 1};
    }
    switch (problem->objective) {
    case RY_ASSIGN_LATENCY: return (ry_charge){seconds, {device, chain_load(problem, chain)}, 2};
    case RY_ASSIGN_ENERGY: return (ry_charge){seconds * problem->watts[device], {0}, 1};
    case RY_ASSIGN_MEMORY: return (ry_charge){bytes, {device}, 1};
    default: return (ry_charge){seconds, {device}, 1};
    }
}

ry_charge ry_charge_transfer(const ry_assign_problem *problem, size_t chain, size_t part, size_t a,
                             size_t b)
{
    const bool timed =
        problem->objective == RY_ASSIGN_LATENCY || problem->objective == RY_ASSIGN_THROUGHPUT;
    if (a == b || !timed) {
        return (ry_charge){0};
    }
    const double seconds = ry_assign_transfer(problem, problem->chain[chain].crossing[part], a, b);
    return (ry_charge){seconds,
                       {ry_assign_link(problem, a, b), chain_load(problem, chain)},
                       problem->objective == RY_ASSIGN_LATENCY ? 2 : 1};
}
