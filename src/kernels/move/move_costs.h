/* SPDX-License-Identifier: Apache-2.0 */
/* What moves cost: operations at a core's peak, as measured on Zen 4 (EPYC, one thread, 115.2 Gflop/s)
 * with bench/forms and rynd bench, tensors of 32-bit elements, 50 KiB to 6 MiB in the caches. */
#ifndef RY_KERNELS_MOVE_MOVE_COSTS_H
#define RY_KERNELS_MOVE_MOVE_COSTS_H

static const struct {
    double row; /* of a row that lies together on both sides, or is filled, beside moving it */
    /* times as long as moving as many bytes in order */
    double reversed, interleaved, stepped, transposed, any;
    double edge_row;  /* padding by a table: of a row, beside moving it */
    double position;  /* gathering and scattering: of an index, beside moving its slice */
    double converted; /* of an element between types that differ in more than the mantissa's end */
    double rounded;   /* to float16 */
} move_costs = {173, 2.2, 3.5, 6.5, 1.85, 10, 2300, 2600, 438, 126};

#endif
