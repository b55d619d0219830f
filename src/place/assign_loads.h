/* SPDX-License-Identifier: Apache-2.0 */
/* What parts and transfers add to which load: the largest load is what is minimised.
 *
 *   loads: | devices | links, by pairs | chains |     energy: load 0 alone is used */
#ifndef RY_PLACE_ASSIGN_LOADS_H
#define RY_PLACE_ASSIGN_LOADS_H

#include "place/assign.h"

/* An amount that goes to one or two loads. */
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
/* Of what crosses in front of a part (parts: behind the last); nothing where a is b. */
ry_charge ry_charge_transfer(const ry_assign_problem *problem, size_t chain, size_t part, size_t a,
                             size_t b);

static inline void ry_charge_add(const ry_charge *charge, double *loads)
{
    for (int i = 0; i < charge->count; i++) {
        loads[charge->load[i]] += charge->amount;
    }
}

/* A whole assignment: `value` is the objective's, `total` all seconds on devices and links, which
 * decides between equal ones. INFINITY: it exceeds a memory, or a part cannot be where it is. */
typedef struct ry_assign_score {
    double value, total;
} ry_assign_score;

/* What scoring needs: loads, bytes held, the schedule. */
typedef struct ry_assign_scratch {
    double *loads, *held;
    struct ry_assign_schedule *schedule;
} ry_assign_scratch;

bool ry_assign_scratch_make(const ry_assign_problem *problem, ry_arena *arena,
                            ry_assign_scratch *scratch);
ry_assign_score ry_assign_score_of(const ry_assign_problem *problem, const unsigned char *device,
                                   const ry_assign_scratch *scratch);

static inline bool ry_assign_better(ry_assign_score a, ry_assign_score b)
{
    return a.value < b.value || (a.value == b.value && a.total < b.total);
}

#endif
