/* SPDX-License-Identifier: Apache-2.0 */
/* Reference Einstein summation: any equation of ONNX Einsum (letters, repeated letters, ellipses,
 * implicit output). */
#include "kernels/ref/ref_common.h"

/* Labels: a letter each, then the dims of the ellipsis counted from its right end. */
enum { LETTERS = 52, LABELS = LETTERS + RY_MAX_RANK };

/* The equation's subscripts as labels. state: a plan, then for each input LABELS strides (0 where
 * the label is absent or broadcast). */
typedef struct plan {
    int inner_count, outer_count;
    int64_t dim[LABELS];
    uint8_t inner[LABELS];      /* summed labels */
    uint8_t outer[RY_MAX_RANK]; /* the output's labels */
} plan;

static int letter_label(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

/* Reads one term up to ',' or "->" or the end, with `ellipsis_rank` dims for an ellipsis, into
 * labels[*count]. NULL: a bad character or too many dims. */
static const char *read_term(const char *text, int ellipsis_rank, uint8_t *labels, int *count)
{
    bool ellipsis = false;
    *count = 0;
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == ' ') {
            continue;
        }
        if (text[0] == '.' && text[1] == '.' && text[2] == '.' && !ellipsis) {
            ellipsis = true;
            text += 2;
            if (ellipsis_rank < 0 || *count + ellipsis_rank > RY_MAX_RANK) {
                return NULL;
            }
            for (int j = ellipsis_rank - 1; j >= 0; j--) {
                labels[(*count)++] = (uint8_t)(LETTERS + j);
            }
            continue;
        }
        int label = letter_label(*text);
        if (label < 0 || *count >= RY_MAX_RANK) {
            return NULL;
        }
        labels[(*count)++] = (uint8_t)label;
    }
    return text;
}

/* Dims covered by a term's ellipsis, in an operand of this rank. */
static int ellipsis_rank_of(const char *term, int rank)
{
    for (; *term && *term != ',' && *term != '-'; term++) {
        rank -= letter_label(*term) >= 0;
    }
    return rank;
}

static bool has_ellipsis(const char *term)
{
    size_t length = strcspn(term, ",-");
    const char *dot = memchr(term, '.', length);
    return dot != NULL;
}

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

/* The implicit output: the ellipsis, then every letter that occurs once, in alphabetical order. */
static bool implicit_output(plan *q, const int *uses, int ellipsis_rank)
{
    for (int j = ellipsis_rank - 1; j >= 0; j--) {
        q->outer[q->outer_count++] = (uint8_t)(LETTERS + j);
    }
    for (int label = 0; label < LETTERS; label++) {
        if (uses[label] == 1) {
            if (q->outer_count == RY_MAX_RANK) {
                return false;
            }
            q->outer[q->outer_count++] = (uint8_t)label;
        }
    }
    return true;
}

/* Every output label once and known, with the output's dims; the other labels are summed. */
static bool split_labels(plan *q, const ry_tensor *y)
{
    bool is_outer[LABELS] = {0};
    if (q->outer_count != y->rank) {
        return false;
    }
    for (int i = 0; i < q->outer_count; i++) {
        int label = q->outer[i];
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

/* One operand's term: its dims join the plan; strides (may be NULL) get its stride of each label.
 */
static bool read_operand(plan *q, const ry_tensor *t, const char **text, int *uses, int *widest,
                         int64_t *strides)
{
    uint8_t labels[RY_MAX_RANK];
    int count, ellipsis_rank = ellipsis_rank_of(*text, t->rank);
    bool ellipsis = has_ellipsis(*text);
    const char *end = read_term(*text, ellipsis ? ellipsis_rank : 0, labels, &count);
    if (!end || count != t->rank) {
        return false;
    }
    *widest = ellipsis && ellipsis_rank > *widest ? ellipsis_rank : *widest;
    for (int d = 0; d < count; d++) {
        if (!merge_dim(q, labels[d], t->dim[d])) {
            return false;
        }
        uses[labels[d]]++;
        if (strides && t->dim[d] != 1) {
            strides[labels[d]] += t->stride[d];
        }
    }
    *text = end;
    return true;
}

static rynd_status make_plan(const ry_problem *p, plan *q, int64_t *strides, ry_error *error)
{
    int uses[LABELS] = {0}, widest = 0;
    const char *text = p->attrs.einsum.equation;
    *q = (plan){0};
    for (int label = 0; label < LABELS; label++) {
        q->dim[label] = -1;
    }
    if (!text) {
        return refuse(p, error, "is absent");
    }
    for (int i = 0; i < p->inputs; i++) {
        if (i > 0 && *text++ != ',') {
            return refuse(p, error, "has fewer terms than the node has inputs");
        }
        if (!read_operand(q, &p->in[i], &text, uses, &widest,
                          strides ? strides + (size_t)i * LABELS : NULL)) {
            return refuse(p, error, "a term and its operand's shape disagree");
        }
    }
    bool made;
    if (*text == '-') {
        const char *end =
            text[1] == '>' ? read_term(text + 2, widest, q->outer, &q->outer_count) : NULL;
        made = end && *end == 0;
    } else {
        made = *text == 0 && implicit_output(q, uses, widest);
    }
    if (!made) {
        return refuse(p, error, "cannot be read after its last operand");
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
        for (int j = 0; j < q->outer_count; j++) {
            offset += at[q->outer[j]] * strides[q->outer[j]];
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
    for (int i = 0; i < q->outer_count; i++) {
        at[q->outer[i]] = index[i];
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
