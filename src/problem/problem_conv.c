/* SPDX-License-Identifier: Apache-2.0 */
/* The short form of convolutions. Parsing fills a `brief` and makes the problem of it; printing
 * takes a brief from the problem and prints it if making the problem again gives the same one. */
#include "problem/problem_conv.h"

#include "problem/conv_brief.h"
#include "problem/window.h"

#include <string.h>

static ry_conv_brief brief_default(ry_op op)
{
    return (ry_conv_brief){.op = op,
                           .n = 1,
                           .c = -1,
                           .k = -1,
                           .groups = 1,
                           .image = {1, 1, -1},
                           .window = {1, 1, 1},
                           .dtype = RY_f32,
                           .accuracy = RY_ACCURACY_near32};
}

/* A list of one number, one a dim, or (pads) two a dim, as one or two a dim. */
static bool spread(const ry_ints *given, int spatial, bool pads, int64_t preset, ry_ints *list)
{
    int wanted = pads ? 2 * spatial : spatial;
    if (given->count != 0 && given->count != 1 && given->count != spatial &&
        given->count != wanted) {
        return false;
    }
    list->count = wanted;
    for (int i = 0; i < wanted; i++) {
        list->at[i] = given->count == 0 ? preset
                                        : given->at[given->count == 1        ? 0
                                                    : given->count == wanted ? i
                                                                             : i % spatial];
    }
    return true;
}

static rynd_status fail_brief(ry_error *error, const char *what)
{
    return ry_fail(error, RYND_ERROR_FORMAT, "problem text: %s", what);
}

static rynd_status check_brief(ry_conv_brief *b, ry_error *error)
{
    b->spatial = b->image_given[0] || b->window_given[0]   ? 3
                 : b->image_given[1] || b->window_given[1] ? 2
                                                           : 1;
    for (int i = RY_BRIEF_DIMS - b->spatial; i < RY_BRIEF_DIMS; i++) {
        if (!b->image_given[i]) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "problem text: %s= is missing (a %d-D convolution has %s)",
                           ry_brief_image_keys[i], b->spatial,
                           b->spatial == 3   ? "d, h and w"
                           : b->spatial == 2 ? "h and w"
                                             : "w");
        }
    }
    if (b->c < 0 || b->k < 0) {
        return fail_brief(error, b->c < 0 ? "c= (input channels) is missing"
                                          : "k= (output channels) is missing");
    }
    if (b->c % b->groups != 0 || b->k % b->groups != 0) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "problem text: groups=%lld does not divide c=%lld and k=%lld",
                       (long long)b->groups, (long long)b->c, (long long)b->k);
    }
    if (b->op == RY_OP_convt ? b->dir != RY_direction_fwd : b->opad.count != 0) {
        return fail_brief(error, b->op == RY_OP_convt ? "convt has no dir=" : "conv has no opad=");
    }
    if (b->op == RY_OP_conv && b->bias == RY_BIAS_PHASES) {
        return fail_brief(error, "conv has no bias=phases");
    }
    bool backward = b->dir != RY_direction_fwd;
    if (backward &&
        (b->residual || b->activation || (b->bias && b->dir == RY_direction_bwd_data))) {
        return fail_brief(error, "residual=, act= (and bias=, for bwd_data) belong to dir=fwd");
    }
    return RYND_OK;
}

typedef struct geometry {
    ry_ints pads, stride, dilation, opad;
    ry_attrs attrs;
    ry_shape x, weights, y;
} geometry;

static void make_attrs(const ry_conv_brief *b, geometry *g)
{
    g->attrs = ry_attrs_default(b->op);
    if (b->op == RY_OP_convt) {
        g->attrs.convt = (ry_convt_attrs){.stride = g->stride,
                                          .dilation = g->dilation,
                                          .pads = g->pads,
                                          .output_padding = g->opad,
                                          .groups = b->groups};
        g->attrs.convt.activation = (ry_activation)b->activation;
        g->attrs.convt.act_alpha = b->alpha;
        g->attrs.convt.act_beta = b->beta;
        return;
    }
    g->attrs.conv = (ry_conv_attrs){.dir = (ry_direction)b->dir,
                                    .stride = g->stride,
                                    .dilation = g->dilation,
                                    .pads = g->pads,
                                    .groups = b->groups};
    g->attrs.conv.activation = (ry_activation)b->activation;
    g->attrs.conv.act_alpha = b->alpha;
    g->attrs.conv.act_beta = b->beta;
}

static rynd_status output_size(const ry_conv_brief *b, const ry_window *w, int i, int64_t *size,
                               ry_error *error)
{
    const ry_window_axis *axis = &w->axis[i];
    *size = ry_window_extent(w, i);
    if (*size < 0) {
        const int at = RY_BRIEF_DIMS - b->spatial + i;
        return ry_fail(
            error, RYND_ERROR_FORMAT,
            "problem text: %s=%lld with %lld of padding is too small for a window that covers %lld",
            ry_brief_image_keys[at], (long long)b->image[at],
            (long long)(axis->pad + axis->pad_end), (long long)ry_window_field(axis));
    }
    return RYND_OK;
}

static rynd_status make_geometry(const ry_conv_brief *b, geometry *g, ry_error *error)
{
    int rank = 2 + b->spatial;
    const char *wrong = !spread(&b->pad, b->spatial, true, 0, &g->pads)             ? "pad"
                        : !spread(&b->stride, b->spatial, false, 1, &g->stride)     ? "stride"
                        : !spread(&b->dilation, b->spatial, false, 1, &g->dilation) ? "dilation"
                        : !spread(&b->opad, b->spatial, false, 0, &g->opad)         ? "opad"
                                                                                    : NULL;
    if (wrong) {
        return ry_fail(error, RYND_ERROR_FORMAT, "problem text: %s= needs 1 or %d numbers%s", wrong,
                       b->spatial, wrong[0] == 'p' ? ", or begins and then ends" : "");
    }
    bool turned = b->op == RY_OP_convt;
    g->x = (ry_shape){.rank = rank, .dim = {b->n, b->c}};
    g->y = (ry_shape){.rank = rank, .dim = {b->n, b->k}};
    g->weights =
        (ry_shape){.rank = rank, .dim = {turned ? b->c : b->k, (turned ? b->k : b->c) / b->groups}};
    for (int i = 0; i < b->spatial; i++) {
        g->x.dim[2 + i] = b->image[RY_BRIEF_DIMS - b->spatial + i];
        g->weights.dim[2 + i] = b->window[RY_BRIEF_DIMS - b->spatial + i];
    }
    make_attrs(b, g);
    ry_window w = ry_window_of_attrs(b->op, &g->attrs, b->spatial, g->x.dim + 2, g->x.dim + 2,
                                     g->weights.dim + 2);
    /* whichever is asked for, y has the extents of the one forward */
    w.direction = turned ? RY_direction_bwd_data : RY_direction_fwd;
    for (int i = 0; i < b->spatial; i++) {
        RY_TRY(output_size(b, &w, i, &g->y.dim[2 + i], error));
    }
    const ry_shape *shapes[] = {&g->x, &g->y, &g->weights};
    for (int i = 0; i < 3; i++) {
        int64_t bytes = ry_shape_bytes(shapes[i], (ry_dtype)b->dtype);
        if (bytes < 0 || bytes >> 62) {
            return fail_brief(error, "a tensor would have more than 2^62 bytes");
        }
    }
    return RYND_OK;
}

static ry_tensor image_tensor(const ry_conv_brief *b, const ry_shape *shape)
{
    return b->layout ? ry_tensor_channels_last((ry_dtype)b->dtype, shape, NULL)
                     : ry_tensor_row_major((ry_dtype)b->dtype, shape, NULL);
}

static rynd_status make_problem(const ry_conv_brief *b, ry_arena *arena, ry_problem *problem,
                                ry_error *error)
{
    geometry g;
    RY_TRY(make_geometry(b, &g, error));
    ry_tensor *in = RY_TAKE(arena, ry_tensor, 4), *out = RY_TAKE(arena, ry_tensor, 2);
    if (!in || !out) {
        return ry_fail_memory(error);
    }
    ry_shape bias_shape = {.rank = 1, .dim = {b->k}};
    for (int i = 0; b->bias == RY_BIAS_PHASES && i < b->spatial; i++) {
        bias_shape.dim[bias_shape.rank++] = g.stride.at[i];
    }
    ry_tensor x = image_tensor(b, &g.x), y = image_tensor(b, &g.y);
    ry_tensor weights = ry_tensor_row_major((ry_dtype)b->dtype, &g.weights, NULL),
              bias = ry_tensor_row_major((ry_dtype)b->dtype, &bias_shape, NULL);
    *problem = (ry_problem){.op = b->op,
                            .accuracy = b->accuracy,
                            .attrs = g.attrs,
                            .inputs = 2,
                            .outputs = 1,
                            .in = in,
                            .out = out};
    switch (b->dir) {
    case RY_direction_bwd_data:
        in[0] = y;
        in[1] = weights;
        out[0] = x;
        return RYND_OK;
    case RY_direction_bwd_weights:
        in[0] = x;
        in[1] = y;
        out[0] = weights;
        out[1] = b->bias ? bias : out[1];
        problem->outputs = b->bias ? 2 : 1;
        return RYND_OK;
    default:
        in[0] = x;
        in[1] = weights;
        in[2] = b->bias ? bias : in[2];
        in[3] = b->residual ? y : in[3];
        out[0] = y;
        problem->inputs = b->residual ? 4 : b->bias ? 3 : 2;
        return RYND_OK;
    }
}

rynd_status ry_problem_parse_short(ry_op op, const char *words, const char *text, ry_arena *arena,
                                   ry_problem *problem, ry_error *error)
{
    ry_conv_brief b = brief_default(op);
    ry_word word;
    int found;
    while ((found = ry_word_next(text, &words, &word)) > 0) {
        RY_TRY(ry_brief_parse_word(&word, &b, error));
    }
    if (found < 0) {
        return ry_word_fail(&word, error, "expected key=value");
    }
    RY_TRY(check_brief(&b, error));
    return make_problem(&b, arena, problem, error);
}

/* What the short form would say of the problem, as far as it can. */
static bool brief_of(const ry_problem *p, ry_conv_brief *b)
{
    *b = brief_default(p->op);
    const ry_conv_attrs *a = &p->attrs.conv;
    const ry_convt_attrs *t = &p->attrs.convt;
    bool turned = p->op == RY_OP_convt;
    b->dir = turned ? RY_direction_fwd : (int)a->dir;
    bool to_weights = b->dir == RY_direction_bwd_weights, to_data = b->dir == RY_direction_bwd_data;
    if (p->inputs < 2 || p->outputs < 1) {
        return false;
    }
    const ry_tensor *x = to_data ? &p->out[0] : &p->in[0],
                    *weights = to_weights ? &p->out[0] : &p->in[1];
    if (x->rank < 3 || x->rank > 2 + RY_BRIEF_DIMS || weights->rank != x->rank) {
        return false;
    }
    b->spatial = x->rank - 2;
    ry_attrs filled = ry_attrs_filled(p->op, &p->attrs, b->spatial);
    b->groups = turned ? t->groups : a->groups;
    b->activation = turned ? (int)t->activation : (int)a->activation;
    b->alpha = turned ? t->act_alpha : a->act_alpha;
    b->beta = turned ? t->act_beta : a->act_beta;
    b->pad = turned ? filled.convt.pads : filled.conv.pads;
    b->stride = turned ? filled.convt.stride : filled.conv.stride;
    b->dilation = turned ? filled.convt.dilation : filled.conv.dilation;
    b->opad = turned ? filled.convt.output_padding : b->opad;
    b->n = x->dim[0];
    b->c = x->dim[1];
    if (b->groups < 1 || b->c < 0 || (turned && weights->dim[1] > INT32_MAX / b->groups)) {
        return false;
    }
    b->k = turned ? weights->dim[1] * b->groups : weights->dim[0];
    for (int i = 0; i < b->spatial; i++) {
        b->image[RY_BRIEF_DIMS - b->spatial + i] = x->dim[2 + i];
        b->window[RY_BRIEF_DIMS - b->spatial + i] = weights->dim[2 + i];
        b->image_given[RY_BRIEF_DIMS - b->spatial + i] = true;
    }
    const bool has_bias = to_weights ? ry_problem_has_output(p, 1) : ry_problem_has_input(p, 2);
    b->bias = !has_bias                     ? RY_BIAS_NONE
              : turned && p->in[2].rank > 1 ? RY_BIAS_PHASES
                                            : RY_BIAS_CHANNELS;
    b->residual = ry_problem_has_input(p, 3);
    b->dtype = (int)x->dtype;
    b->layout = !ry_tensor_is_row_major(x) ||
                (to_weights ? !ry_tensor_is_row_major(&p->in[1])
                            : !ry_tensor_is_row_major(to_data ? &p->in[0] : &p->out[0]));
    b->accuracy = p->accuracy;
    return true;
}

bool ry_problem_print_short(const ry_problem *problem, ry_text *text)
{
    ry_conv_brief b;
    ry_problem again;
    if (!brief_of(problem, &b) || !ry_brief_in_range(&b) || check_brief(&b, NULL) != RYND_OK ||
        make_problem(&b, text->arena, &again, NULL) != RYND_OK ||
        !ry_problem_equal(problem, &again)) {
        return false;
    }
    ry_brief_print(&b, text);
    return true;
}
