/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout and random fills on a GPU, of any strides in memory. */
#include "base/integer.h"
#include "kernels/common/dropout.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

enum { WORDS = 4 }; /* a work-item makes one block */

static bool takes_dropout(const ry_problem *problem)
{
    const double ratio = problem->attrs.dropout.ratio;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           ry_gpu_is_float(&problem->in[0]) && ry_gpu_is_float(&problem->out[0]) && ratio >= 0 &&
           ratio < 1;
}

static bool takes_fill(const ry_problem *problem)
{
    const bool bernoulli = problem->attrs.random.kind == RY_random_kind_bernoulli;
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) &&
           (ry_gpu_is_float(&problem->out[0]) ||
            (bernoulli && problem->out[0].dtype == RYND_DTYPE_BOOL));
}

/* The quantile of the normal distribution needs doubles. */
static bool runs_on(const ry_problem *problem, const ry_machine *machine)
{
    return machine->fp64 || problem->attrs.random.kind != RY_random_kind_normal;
}

static int64_t blocks_of(const ry_problem *problem)
{
    return ry_ceil_div(ry_tensor_count(&problem->out[0]), WORDS);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    enum { BLOCK = 120, ELEMENT = 20, QUANTILE = 200 }; /* operations */
    const ry_problem *problem = query->problem;
    const int64_t group = ry_gpu_group_size(query, 128), blocks = blocks_of(problem);
    const bool normal =
        problem->op == RY_OP_random && problem->attrs.random.kind == RY_random_kind_normal;
    (void)error;
    ry_gpu_group_prepare(group, ry_ceil_div(blocks, group), prepared);
    ry_count_work((double)ry_round_up(blocks, group) *
                      (BLOCK + WORDS * (ELEMENT + (normal ? QUANTILE : 0))),
                  ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

/* Offsets by row-major number. */
static void define_offset(ry_text *text, const char *name, const ry_tensor *tensor)
{
    ry_gpu_dims dims = {0};
    for (int d = 0; d < tensor->rank; d++) {
        ry_gpu_dims_add(&dims, tensor->dim[d], tensor->stride[d]);
    }
    ry_gpu_define_offset(text, name, &dims);
}

static void define_dropout(const ry_problem *problem, ry_text *text)
{
    const void *none[WORDS] = {NULL};
    ry_problem plain = *problem;
    plain.inputs = 1; /* the numbers of the attributes alone */
    const ry_dropout drop = ry_dropout_of(&plain, none);
    ry_gpu_define(text, "HAS_MASK", ry_problem_has_output(problem, 1));
    ry_text_add(text, "#define SEED (%lluul)\n#define LEAST (%uu)\n#define STREAM (%uu)\n",
                (unsigned long long)drop.random.seed, drop.least, drop.random.stream);
    ry_gpu_define_float(text, "SCALE", drop.scale);
    define_offset(text, "x_at", &problem->in[0]);
    if (ry_problem_has_output(problem, 1)) {
        define_offset(text, "mask_at", &problem->out[1]);
    }
}

static void define_fill(const ry_problem *problem, ry_text *text)
{
    const uint64_t nothing = 0;
    const ry_fill fill = ry_fill_of(problem, (const void *[]){&nothing, &nothing});
    ry_gpu_define(text, "NORMAL", fill.kind == RY_random_kind_normal);
    ry_gpu_define(text, "BERNOULLI", fill.kind == RY_random_kind_bernoulli);
    ry_gpu_define(text, "BYTES", problem->out[0].dtype == RYND_DTYPE_BOOL);
    ry_text_add(text, "#define LEAST (%lluul)\n#define STREAM (%uu)\n",
                (unsigned long long)fill.least, fill.random.stream);
    ry_gpu_define_float(text, "BASE", (double)fill.base);
    ry_gpu_define_float(text, "FACTOR", (double)fill.factor);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_problem *problem = query->problem;
    const bool dropout = problem->op == RY_OP_dropout;
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_group_define(prepared, text);
    ry_gpu_define(text, "DROPOUT", dropout);
    ry_gpu_define(text, "COUNT", ry_tensor_count(&problem->out[0]));
    ry_gpu_define(text, "BLOCKS", blocks_of(problem));
    define_offset(text, "y_at", &problem->out[0]);
    if (dropout) {
        define_dropout(problem, text);
    } else {
        define_fill(problem, text);
    }
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_random, entries, 1, define};

RY_GPU_KERNEL(dropout_gpu, dropout, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = takes_dropout,
              .prepare = prepare, .gpu = &gpu);
RY_GPU_KERNEL(random_gpu, random, strict, RY_GPU_GROUP_KNOB_FIELDS, .applicable = takes_fill,
              .runs_on = runs_on, .prepare = prepare, .gpu = &gpu);
