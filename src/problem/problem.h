/* SPDX-License-Identifier: Apache-2.0 */
/* A problem: one operator instance, complete. Its canonical text parses back to itself and is the
 * key everywhere (selection, wisdom, benchmarks, tests).
 *
 * Convolution by direction: fwd         in: x w bias? residual?   out: y
 *                           bwd_data    in: dy w                  out: dx
 *                           bwd_weights in: x dy                  out: dw db?
 *
 * A problem borrows its descriptions and whatever its attributes point to. */
#ifndef RY_PROBLEM_PROBLEM_H
#define RY_PROBLEM_PROBLEM_H

#include "base/memory.h"
#include "base/status.h"
#include "problem/accuracy.h"
#include "problem/attrs.h"

typedef struct ry_problem {
    ry_op op;
    ry_accuracy accuracy; /* the loosest that is admitted */
    ry_attrs attrs;       /* canonical */
    int inputs, outputs;
    const ry_tensor *in; /* descriptions, data is NULL; an absent input has dtype none */
    const ry_tensor *out;
} ry_problem;

static inline bool ry_problem_has_input(const ry_problem *problem, int i)
{
    return i < problem->inputs && ry_tensor_present(&problem->in[i]);
}

static inline bool ry_problem_has_output(const ry_problem *problem, int i)
{
    return i < problem->outputs && ry_tensor_present(&problem->out[i]);
}

/* `conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1`: defaults are left out. Convolutions (conv, convt)
 * have this short form:
 *
 *   n c k                  batch, input and output channels (n: 1)
 *   d h w, t r s           the image and the window: w s (1-D), h w r s (2-D), d h w t r s (3-D); a
 *                          window's size is 1 by default
 *   pad                    one number, one a spatial dim, or begins then ends
 *                          (top,left,bottom,right); stride, dilation: one, or one a spatial dim
 *   groups, opad           opad: output padding of convt
 *   bias residual          0 or 1;  act alpha beta   the activation and its numbers
 *   dtype layout dir       f32; nchw or nhwc (x, y and residual); fwd, bwd_data or bwd_weights
 *                          (with bias=1: db too)
 *   accuracy               strict, near32 (the default), tf32, bf16, int8
 *
 * A parsed data gradient is the transposed convolution of dy that it is: dir=bwd_data is read, and
 * convt is written.
 *
 * Every other operator, and a convolution that does not fit the short form (mixed layouts or
 * types), is `name x0=1x64x112x112:f32[:nhwc] ... y0=... attribute=value ... accuracy=...`: absent
 * inputs are left out, a scalar is `scalar:f32`, other layouts give their strides (`:12,1,4`),
 * texts and expressions stand in quotes ('y0 = max(x0, 0)').
 *
 * A parsed problem is whole and its sizes are bounded (bytes below 2^62); that a generic one's
 * shapes fit together is checked by ry_problem_check (graph/infer.h). */
/* NULL when out of memory */
const char *ry_problem_print(const ry_problem *problem, ry_arena *arena);
rynd_status ry_problem_parse(const char *text, ry_arena *arena, ry_problem *problem,
                             ry_error *error);
/* The same problem: empty window lists are all ones (pads: zeros), strides of dims of size 1 and
 * absent tensors at the end do not matter. */
bool ry_problem_equal(const ry_problem *a, const ry_problem *b);
uint64_t ry_problem_hash(const ry_problem *problem); /* equal problems, equal hashes */

/* Multiply-adds times two, of the definition (not of an algorithm): 0 for operators without a sum
 * of products. */
double ry_problem_flop(const ry_problem *problem);
/* Each tensor moved once. */
double ry_problem_bytes(const ry_problem *problem);

/* Attributes with the window lists that were left empty filled in: strides and dilations of 1, pads
 * of 0. What is compared, printed and hashed. */
ry_attrs ry_attrs_filled(ry_op op, const ry_attrs *attrs, int spatial);
int ry_problem_spatial(const ry_problem *problem); /* spatial dims of a window operator */
/* The number that an empty list of this field stands for, and how many of it; false when the field
 * is no window list. */
bool ry_field_fill(ry_op op, const ry_field *field, int spatial, int *count, int64_t *number);

#endif
