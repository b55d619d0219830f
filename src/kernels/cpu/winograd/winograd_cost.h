/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution in Winograd's form costs, by a count of cycles, in units of one vector's
 * multiply-add. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_COST_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_COST_H

#include "kernels/cpu/winograd/winograd_plan.h"

/* Cycles that many forms have in common. */
typedef struct winograd_price {
    double input_vector, output_vector; /* transforms of a tile's vector */
    /* a block's: from x to V; multiply-adds of the products; the ends of its rows in y */
    double input, multiplies, pieces_written;
} winograd_price;

/* Fill the price: from the points, and from the tiles of a block. */
void ry_winograd_price_points(const winograd_plan *plan, winograd_price *price);
void ry_winograd_price_tiles(const winograd_plan *plan, winograd_price *price);

/* Counts the work of each phase, from the plan's points, block, oc blocks and sharing. */
void ry_winograd_count(const winograd_plan *plan, ry_work work[2]);

/* Cost summed over all cores, idle cores included. */
double ry_winograd_cost(const winograd_plan *plan, const winograd_price *price);

/* The least cost of any oc blocks and sharing. */
double ry_winograd_cost_bound(const winograd_plan *plan, const winograd_price *price);

/* Cost of packing the plan's weights. */
double ry_winograd_pack_cost(const winograd_plan *plan);

/* Operations on numbers that the plan does. */
double ry_winograd_flop(const winograd_plan *plan);

#endif
