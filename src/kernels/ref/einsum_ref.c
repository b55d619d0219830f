/* SPDX-License-Identifier: Apache-2.0 */
/* Reference Einstein summation: any equation of ONNX Einsum (letters, repeated letters, ellipses,
 * implicit output). */
#include "kernels/ref/ref_common.h"
#include "problem/einsum.h"

enum { LABELS = RY_EINSUM_LABELS };

/* The equation's subscripts as labels. state: a plan, then for each input LABELS strides (0 where
 * the label is absent or broadcast). */
typedef struct plan {
    int inner_count;
    int64_t dim[LABELS];
    uint8_t inner[LABELS]; /* summed labels */
    ry_einsum_term outer;
} plan;

static rynd_status refuse(const ry_problem *p, ry_error *error, const char *why)
{
    return ry_fail(error, RYND_ERROR_SHAPE, "einsum equation '%s': %s",
                   p->attrs.einsum.equation ? p->attrs.einsum.equation : "", why);
}

/* Adds a label of extent `dim` to the plan; false when it disagrees with what the label has
 * elsewhere. */
static bool merge_dim(plan *q, int label, int64_t dim)
{
    if (q->dim[label] < 0 || q->dim[label] == 1) {
        q->dim[label] = dim;
        return true;
    }
    return dim == 1 || dim == q->dim[label];
}

/* Every output label once and known, with the output's dims; the other labels are summed. */
static bool split_labels(plan *q, const ry_tensor *y)
{
    bool is_outer[LABELS] = {0};
    if (q->outer.count != y->rank) {
        return false;
    }
    for (int i = 0; i < q->outer.count; i++) {
        int label = q->outer.label[i];
        if (is_outer[label] || q->dim[label] != y->dim[i]) {
            return false;
        }
        is_outer[label] = true;
    }
    for (int label = 0; label < LABELS; label++) {
        if (q->dim[label] >= 0 && !is_outer[label]) {
            q->inner[q->inner_count++] = (uint8_t)label;
        }
    }
    return true;
}

/* An operand's dims join the plan; strides (may be NULL) get its stride of each label. */
static bool add_operand(plan *q, const ry_tensor *t, const ry_einsum_term *term, int64_t *strides)
{
    for (int d = 0; d < term->count; d++) {
        if (!merge_dim(q, term->label[d], t->dim[d])) {
            return false;
        }
        if (strides && t->dim[d] != 1) {
            strides[term->label[d]] += t->stride[d];
        }
    }
    return true;
}

static rynd_status make_plan(const ry_problem *p, plan *q, int64_t *strides, ry_error *error)
{
    *q = (plan){0};
    for (int label = 0; label < LABELS; label++) {
        q->dim[label] = -1;
    }
    if (!p->attrs.einsum.equation) {
        return refuse(p, error, "is absent");
    }
    ry_einsum_reader reader = ry_einsum_begin(p->attrs.einsum.equation);
    for (int i = 0; i < p->inputs; i++) {
        ry_einsum_term term;
        if (!ry_einsum_operand(&reader, p->in[i].rank, &term)) {
            return refuse(p, error, reader.error);
        }
        if (!add_operand(q, &p->in[i], &term, strides ? strides + (size_t)i * LABELS : NULL)) {
            return refuse(p, error, "the extents of a label disagree");
        }
    }
    if (!ry_einsum_output(&reader, &q->outer)) {
        return refuse(p, error, reader.error);
    }
    return split_labels(q, &p->out[0])
               ? RYND_OK
               : refuse(p, error, "its result and the output's shape disagree");
}

static size_t state_size(const ry_problem *problem)
{
    return sizeof(plan) + (size_t)problem->inputs * LABELS * sizeof(int64_t);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    plan q;
    RY_TRY(make_plan(problem, &q, NULL, error));
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    prepared->state_size = state_size(problem);
    return RYND_OK;
}

static void initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    memset(state, 0, state_size(problem));
    /* prepare has made the same plan: it cannot fail. */
    (void)make_plan(problem, state, (int64_t *)((plan *)state + 1), NULL);
}

/* The product of one element of each operand. */
static void add_product(const ry_cpu_launch *launch, const plan *q, const int64_t *at,
                        ry_ref_sum *sum)
{
    const ry_problem *p = launch->problem;
    const int64_t *strides = (const int64_t *)(q + 1);
    ry_ref_sum product = {.integer = sum->integer, .f = 1, .i = 1};
    for (int i = 0; i < p->inputs; i++, strides += LABELS) {
        int64_t offset = 0;
        for (int j = 0; j < q->outer.count; j++) {
            offset += at[q->outer.label[j]] * strides[q->outer.label[j]];
        }
        for (int j = 0; j < q->inner_count; j++) {
            offset += at[q->inner[j]] * strides[q->inner[j]];
        }
        if (sum->integer) {
            product.i *= (uint64_t)ry_get_i64(ry_ref_dtype(&p->in[i]), launch->in[i], offset);
        } else {
            product.f *= ry_ref_get(ry_ref_dtype(&p->in[i]), launch->in[i], offset);
        }
    }
    sum->f += product.f;
    sum->i += product.i;
}

/* Steps the summed labels; false after the last position. */
static bool next_inner(const plan *q, int64_t *at)
{
    for (int j = q->inner_count - 1; j >= 0; j--) {
        int label = q->inner[j];
        if (++at[label] < q->dim[label]) {
            return true;
        }
        at[label] = 0;
    }
    return false;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const plan *q = launch->state;
    int64_t at[LABELS] = {0};
    for (int i = 0; i < q->outer.count; i++) {
        at[q->outer.label[i]] = index[i];
    }
    bool empty = false;
    for (int j = 0; j < q->inner_count; j++) {
        empty |= q->dim[q->inner[j]] == 0;
    }
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    for (bool more = !empty; more; more = next_inner(q, at)) {
        add_product(launch, q, at, &sum);
    }
    ry_ref_store(&sum, ry_ref_dtype(&p->out[0]), launch->out[0],
                 ry_index_offset(&p->out[0], index));
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, element);
}

RY_REF_KERNEL(einsum, ry_ref_numeric, prepare, .run = run, .initialise = initialise);
