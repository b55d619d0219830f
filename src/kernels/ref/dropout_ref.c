/* SPDX-License-Identifier: Apache-2.0 */
/* Reference dropout (Srivastava et al., JMLR 15, 2014), inverted: what stays is scaled, so that
 * inference need not be. And fills with random numbers. */
#include "kernels/common/dropout.h"
#include "kernels/ref/ref_common.h"

/* The row-major number of a position. */
static uint64_t number_of(const ry_tensor *t, const int64_t *index)
{
    uint64_t number = 0;
    for (int d = 0; d < t->rank; d++) {
        number = number * (uint64_t)t->dim[d] + (uint64_t)index[d];
    }
    return number;
}

static uint32_t word_of(const ry_random *random, uint64_t offset, uint64_t number)
{
    return ry_random_block(random, offset + number / 4).word[number % 4];
}

static void drop(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    const ry_dropout drop = ry_dropout_of(p, launch->in);
    const bool stays = word_of(&drop.random, drop.offset, number_of(x, index)) >= drop.least;
    const double value =
        stays ? ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, index)) * drop.scale
              : 0;
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), value);
    if (ry_problem_has_output(p, 1)) {
        ry_set_i64(ry_ref_dtype(&p->out[1]), launch->out[1], ry_index_offset(&p->out[1], index),
                   stays);
    }
}

static bool takes_dropout(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           ry_dtype_is_float(ry_ref_dtype(&problem->in[0])) &&
           ry_dtype_is_float(ry_ref_dtype(&problem->out[0])) && problem->attrs.dropout.ratio >= 0 &&
           problem->attrs.dropout.ratio < 1;
}

static void run_dropout(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, drop);
}

RY_REF_KERNEL(dropout, takes_dropout, ry_ref_prepare_elements, .run = run_dropout);

static void fill(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_tensor *y = &launch->problem->out[0];
    const ry_fill how = ry_fill_of(launch->problem, launch->in);
    const uint32_t word = word_of(&how.random, how.offset, number_of(y, index));
    const float value = ry_fill_element(&how, word);
    if (ry_dtype_is_float(ry_ref_dtype(y))) {
        ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), (double)value);
    } else {
        ry_set_i64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), value != 0);
    }
}

static bool takes_fill(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].dtype == RYND_DTYPE_U64 &&
           problem->in[1].dtype == RYND_DTYPE_U64 &&
           (problem->attrs.random.kind == RY_random_kind_bernoulli ||
            ry_dtype_is_float(ry_ref_dtype(&problem->out[0])));
}

static void run_fill(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, fill);
}

RY_REF_KERNEL(random, takes_fill, ry_ref_prepare_elements, .run = run_fill);
