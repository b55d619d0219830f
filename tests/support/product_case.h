/* SPDX-License-Identifier: Apache-2.0 */
/* One problem with random data, for kernels with sums of products: runs a kernel and compares it
 * with the reference.
 *
 * Every tensor ends right before a page that nobody may touch, so reading or writing beyond its end
 * crashes; gaps between an output's elements and the bytes before it hold a pattern that must
 * survive. Scratch, workspace and packed memory start as NaN. */
#ifndef PRODUCT_CASE_H
#define PRODUCT_CASE_H

#include "every_kernel.h"

#define CASE_INPUTS 5

typedef struct product_case {
    ry_problem problem;
    ry_tensor in[CASE_INPUTS], out[1];
    void *mapping[CASE_INPUTS + 1];
    size_t mapped[CASE_INPUTS + 1];
    void *data[CASE_INPUTS + 1]; /* inputs, then the output */
    double terms;                /* in one sum */
} product_case;

typedef enum case_layout {
    CASE_ROW_MAJOR,
    CASE_CHANNELS_LAST,
    CASE_STRIDED,
    CASE_LAYOUTS
} case_layout;

uint32_t case_random(uint32_t below);
int64_t case_between(int64_t low, int64_t high); /* both may come */

/* A description of a tensor in a layout; strided: gaps everywhere. */
ry_tensor case_tensor(ry_dtype dtype, int rank, const int64_t *dim, case_layout layout);

/* Fills data for problem.in and out, which are set. */
void case_fill(product_case *c);
void case_free(product_case *c);

/* Runs `kernel` with its tasks in a few orders on a few workers, and compares with `reference`,
 * another one; fails the test with the problem's text. Kernels of the classes bf16 and tf32 are
 * held to the reference of operands rounded to those. */
void case_check(product_case *c, const ry_kernel *kernel, const ry_kernel *reference);

/* The two halves of it, for kernels that something else runs: forgets the output, and compares
 * what was written since. */
void case_forget(product_case *c);
void case_compare(product_case *c, const ry_kernel *kernel, const ry_kernel *reference);
/* Bytes of input i (CASE_INPUTS: of the output), gaps included. */
size_t case_bytes(const product_case *c, int i);

/* case_check for every CPU kernel of the problem's operator that this machine can run and that
 * applies, but the reference and those less accurate than near32 (or than the problem asks, where
 * that is looser); returns how many did. Those that emulate AMX run in one order. */
int case_check_all(product_case *c, const char *reference);
/* The same of those kernels whose names have `name` in them (NULL: all). */
int case_check_some(product_case *c, const char *reference, const char *name);

#endif
