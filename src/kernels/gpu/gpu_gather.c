/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements and gather_nd on a GPU, of any strides in memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/expr_spell.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

enum { WIDEST = 16 }; /* bytes of an access */

/* A dim of the output: its stride there, in the data and in the indices, and that of the indices in
 * row-major order; 0 where a tensor does not go along it. */
typedef struct gather_dim {
    int64_t dim, y, x, index, order;
} gather_dim;

typedef struct gather_plan {
    int rank;
    gather_dim dim[RY_MAX_RANK]; /* in the order of the output's memory */
    int depth, axis;             /* components choose from the data's dims axis, axis + 1, ... */
    int64_t component_stride;
    int64_t extent[RY_MAX_RANK], stride[RY_MAX_RANK]; /* the data's dims from `axis` on */
    int64_t unit;                                     /* elements that are moved at once */
} gather_plan;

/* Where the indices are dims first to end - 1 of the output, dim i of the output is this of the
 * data; -1: an index chooses. */
typedef struct gather_shape {
    int first, end, axis, depth;
} gather_shape;

static gather_shape shape_of(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *index = &problem->in[1];
    int axis;
    switch (problem->op) {
    case RY_OP_gather:
        axis = ry_axis(problem->attrs.gather.axis, x->rank);
        return (gather_shape){axis, axis + index->rank, axis, 1};
    case RY_OP_gather_elements:
        axis = ry_axis(problem->attrs.gather_elements.axis, x->rank);
        return (gather_shape){0, index->rank, axis, 1};
    default:
        return (gather_shape){0, index->rank - 1, (int)problem->attrs.gather_nd.batch_dims,
                              (int)index->dim[index->rank - 1]};
    }
}

/* The data's stride along dim d of the output. */
static int64_t data_stride(const ry_problem *problem, const gather_shape *s, int d)
{
    const ry_tensor *x = &problem->in[0];
    if (problem->op == RY_OP_gather_elements) {
        return d == s->axis ? 0 : x->stride[d];
    }
    return d < s->axis ? x->stride[d] : d < s->end ? 0 : x->stride[d - s->end + s->axis + s->depth];
}

/* The innermost dim of the output last. */
static void add_dim(gather_plan *p, gather_dim dim)
{
    int at = p->rank++;
    for (; at > 0 && p->dim[at - 1].y < dim.y; at--) {
        p->dim[at] = p->dim[at - 1];
    }
    p->dim[at] = dim;
}

/* A power of two that divides all that it must for units to be as wide; dims that no index goes
 * along alone are cut. */
static int64_t unit_of(const gather_plan *p, const ry_tensor *x)
{
    const gather_dim *last = p->rank > 0 ? &p->dim[p->rank - 1] : NULL;
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype);
    if (!last || last->y != 1 || last->x != 1 || last->index != 0) {
        return 1;
    }
    int64_t bits = WIDEST / size | last->dim;
    for (int d = 0; d < p->rank - 1; d++) {
        bits |= p->dim[d].y | p->dim[d].x;
    }
    for (int k = 0; k < p->depth; k++) {
        bits |= p->stride[k];
    }
    return bits & -bits;
}

static gather_plan plan_of(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *index = &problem->in[1], *y = &problem->out[0];
    const gather_shape s = shape_of(problem);
    const bool tuples = problem->op == RY_OP_gather_nd;
    gather_plan p = {.depth = s.depth,
                     .axis = s.axis,
                     .component_stride = tuples ? index->stride[index->rank - 1] : 0};
    int64_t order[RY_MAX_RANK + 1] = {0};
    order[index->rank] = 1;
    for (int i = index->rank - 1; i >= 0; i--) {
        order[i] = order[i + 1] * index->dim[i];
    }
    for (int d = 0; d < y->rank; d++) {
        const bool of_index = d >= s.first && d < s.end;
        if (y->dim[d] > 1) {
            add_dim(&p, (gather_dim){y->dim[d], y->stride[d], data_stride(problem, &s, d),
                                     of_index ? index->stride[d - s.first] : 0,
                                     of_index ? order[d - s.first + 1] : 0});
        }
    }
    for (int k = 0; k < s.depth; k++) {
        p.extent[k] = x->dim[s.axis + k];
        p.stride[k] = x->stride[s.axis + k];
    }
    p.unit = unit_of(&p, x);
    return p;
}

/* Data without elements is the CPU's: it says what is wrong with that. A fault's number is one of
 * 32 bits. */
static bool applicable(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 1) ||
        !ry_problem_has_output(problem, 0)) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_dtype_kind kind = ry_dtype_get_kind((ry_dtype)problem->in[1].dtype);
    return x->dtype == y->dtype && (kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED) &&
           ry_tensor_count(x) > 0 && ry_tensor_count(y) > 0 &&
           ry_tensor_count(&problem->in[1]) < UINT32_MAX;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    enum { OPERATIONS = 40 }; /* per unit, mostly to find its places */
    const ry_problem *problem = query->problem;
    const int64_t group = ry_gpu_group_size(query, 256);
    const gather_plan p = plan_of(problem);
    const int64_t units = ry_tensor_count(&problem->out[0]) / p.unit;
    (void)error;
    ry_gpu_group_prepare(group, ry_ceil_div(units, group), prepared);
    ry_count_work((double)units * OPERATIONS,
                  2 * (double)ry_tensor_bytes(&problem->out[0]) +
                      (double)ry_tensor_bytes(&problem->in[1]),
                  prepared);
    return RYND_OK;
}

static void define_offsets(const gather_plan *p, ry_text *text)
{
    ry_gpu_dims y = {0}, x = {0}, index = {0}, order = {0};
    for (int d = 0; d < p->rank; d++) {
        const gather_dim *dim = &p->dim[d];
        const bool cut = d == p->rank - 1; /* units are elements of that size */
        const int64_t units = cut ? dim->dim / p->unit : dim->dim, by = cut ? 1 : p->unit;
        ry_gpu_dims_add(&y, units, dim->y / by);
        ry_gpu_dims_add(&x, units, dim->x / by);
        ry_gpu_dims_add(&index, units, dim->index);
        ry_gpu_dims_add(&order, units, dim->order);
    }
    ry_gpu_define_offset(text, "y_at", &y);
    ry_gpu_define_offset(text, "x_at", &x);
    ry_gpu_define_offset(text, "index_at", &index);
    ry_gpu_define_offset(text, "order_at", &order);
}

/* Component k of an index: its legal range, as far as the type of its comparisons holds it. */
static void add_choice(ry_text *text, const gather_plan *p, ry_dtype index, int k)
{
    const bool back = ry_dtype_get_kind(index) == RY_KIND_SIGNED,
               wide = ry_dtype_size(index) == sizeof(int64_t);
    const int64_t extent = p->extent[k],
                  most = wide              ? INT64_MAX
                         : index == RY_u32 ? UINT32_MAX
                                           : INT32_MAX,
                  first = !back  ? 0
                          : wide ? -extent
                                 : ry_max(-extent, INT32_MIN);
    ry_text_add(text, " CHOOSE(%d, %lld, %lld, %lld, %lld)", k, (long long)first,
                (long long)ry_min(extent - 1, most), (long long)extent,
                (long long)(p->stride[k] / p->unit));
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    static const char *const units[] = {
        [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4"};
    const ry_problem *problem = query->problem;
    const ry_dtype index = (ry_dtype)problem->in[1].dtype;
    const gather_plan p = plan_of(problem);
    const size_t bytes = ry_dtype_size((ry_dtype)problem->out[0].dtype) * (size_t)p.unit;
    ry_text_add(text,
                "#define INDEX %s\n#define UNIT %s\n#define INDEX_TYPE %s\n"
                "#define COMPARED_TYPE %s\n#define GROUP_ITEMS %d\n%s",
                ry_gpu_is_wide(problem) ? "int64_t" : "int", units[bytes],
                ry_gpu_memory_type(index), ry_gpu_compared_type(index),
                (int)prepared->form.value[RY_GPU_GROUP_KNOB], ry_gpu_text_fault);
    ry_gpu_define(text, "UNITS", ry_tensor_count(&problem->out[0]) / p.unit);
    ry_gpu_define(text, "COUNTS_BACK", ry_dtype_get_kind(index) == RY_KIND_SIGNED);
    ry_gpu_define(text, "AXIS", p.axis);
    ry_gpu_define(text, "COMPONENT_STRIDE", p.component_stride);
    ry_text_add(text, "#define COMPONENTS");
    for (int k = 0; k < p.depth; k++) {
        add_choice(text, &p, index, k);
    }
    ry_text_add(text, "\n");
    define_offsets(&p, text);
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_gather, entries, 1, define};

#define GATHER(op_name)                                                     \
    RY_GPU_KERNEL(op_name##_gpu, op_name, strict, RY_GPU_GROUP_KNOB_FIELDS, \
                  .applicable = applicable, .prepare = prepare, .gpu = &gpu);
GATHER(gather)
GATHER(gather_elements)
GATHER(gather_nd)
