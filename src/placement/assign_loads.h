/* SPDX-License-Identifier: Apache-2.0 */
/* What parts and transfers add to which load: the largest load is what is minimised.
 *
 *   loads: | devices | links, by pairs | chains |     energy: load 0 alone is used */
#ifndef RY_PLACEMENT_ASSIGN_LOADS_H
#define RY_PLACEMENT_ASSIGN_LOADS_H

#include "placement/assign_problem.h"

/* An amount added to up to two loads. */
typedef struct ry_charge {
    double amount;
    size_t load[2];
    int count;
} ry_charge;

size_t ry_assign_load_count(const ry_assign_problem *problem);
size_t ry_assign_link(const ry_assign_problem *problem, size_t a, size_t b); /* its load; a != b */
double ry_assign_transfer(const ry_assign_problem *problem, double bytes, size_t a, size_t b);

ry_charge ry_charge_segment(const ry_assign_problem *problem, size_t chain, size_t first,
                            size_t last, size_t device);
/* Transfer a -> b in front of `part` (parts: behind the last); nothing if a == b. */
ry_charge ry_charge_transfer(const ry_assign_problem *problem, size_t chain, size_t part, size_t a,
                             size_t b);

static inline void ry_charge_add(const ry_charge *charge, double *loads)
{
    for (int i = 0; i < charge->count; i++) {
        loads[charge->load[i]] += charge->amount;
    }
}

#endif
