/* SPDX-License-Identifier: Apache-2.0 */
/* The short form of convolutions. Parsing fills a `brief` and makes the problem of it; printing
 * takes a brief from the problem and prints it if making the problem again gives the same one. */
#include "problem/problem_conv.h"

#include "base/number.h"
#include "problem/window.h"

#include <stddef.h>
#include <string.h>

enum { SPATIAL = 3, PADS = 2 * SPATIAL };

/* Spatial lists are w-aligned: index 0 is d, 1 h, 2 w, whatever the number of dims. */
typedef struct brief {
    ry_op op;
    int spatial;
    int64_t n, c, k, groups, residual;
    int64_t image[SPATIAL], window[SPATIAL];
    bool image_given[SPATIAL], window_given[SPATIAL];
    ry_ints pad, stride, dilation, opad; /* as given: 1, rank or (pad) 2 * rank numbers */
    int bias, activation, dtype, layout, dir;
    double alpha, beta;
    ry_accuracy accuracy;
} brief;

/* phases: each phase of a transposed convolution has one, [k][stride]... */
typedef enum bias_kind { BIAS_NONE, BIAS_CHANNELS, BIAS_PHASES, BIAS_KINDS } bias_kind;

static const char *const bias_words[BIAS_KINDS] = {"0", "1", "phases"};
static const char *const layouts[] = {"nchw", "nhwc"};
static const char *const image_keys[] = {"d", "h", "w"}, *const window_keys[] = {"t", "r", "s"};

typedef struct number_key {
    const char *key;
    size_t offset;
    int64_t least, most;
} number_key;

static const number_key number_keys[] = {
    {"n", offsetof(brief, n), 0, INT32_MAX},
    {"c", offsetof(brief, c), 0, INT32_MAX},
    {"k", offsetof(brief, k), 0, INT32_MAX},
    {"groups", offsetof(brief, groups), 1, INT32_MAX},
    {"residual", offsetof(brief, residual), 0, 1},
};

typedef struct list_key {
    const char *key;
    size_t offset;
    int64_t least;
} list_key;

static const list_key list_keys[] = {
    {"pad", offsetof(brief, pad), 0},
    {"stride", offsetof(brief, stride), 1},
    {"dilation", offsetof(brief, dilation), 1},
    {"opad", offsetof(brief, opad), 0},
};

/* Words of an enum attribute of conv, by the attribute's name. */
static const ry_field *enum_field(const char *name)
{
    int count = 0;
    const ry_field *field = ry_op_fields(RY_OP_conv, &count);
    while (strcmp(field->name, name) != 0) {
        field++;
    }
    return field;
}

static rynd_status parse_integer(const ry_word *word, int64_t least, int64_t most, int64_t *number,
                                 ry_error *error)
{
    if (ry_word_integers(word, number, 1) != 1 || *number < least || *number > most) {
        return ry_word_fail(word, error, "expected a number from %lld to %lld", (long long)least,
                            (long long)most);
    }
    return RYND_OK;
}

static rynd_status parse_list(const ry_word *word, int64_t least, ry_ints *list, ry_error *error)
{
    list->count = ry_word_integers(word, list->at, PADS);
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] < least || list->at[i] > INT32_MAX) {
            list->count = 0;
        }
    }
    return list->count
               ? RYND_OK
               : ry_word_fail(word, error,
                              "expected 1 to %d numbers of at least %lld, separated by commas",
                              PADS, (long long)least);
}

static rynd_status parse_choice(const ry_word *word, const char *const *words, int count,
                                int *choice, ry_error *error)
{
    *choice = ry_word_choice(word, words, count, error);
    return *choice < 0 ? RYND_ERROR_FORMAT : RYND_OK;
}

static rynd_status parse_named(const ry_word *word, brief *b, ry_error *error)
{
    const ry_field *activation = enum_field("activation"), *dir = enum_field("dir");
    if (ry_word_is(word, "act")) {
        return parse_choice(word, activation->words, activation->word_count, &b->activation, error);
    }
    if (ry_word_is(word, "dir")) {
        return parse_choice(word, dir->words, dir->word_count, &b->dir, error);
    }
    if (ry_word_is(word, "bias")) {
        return parse_choice(word, bias_words, BIAS_KINDS, &b->bias, error);
    }
    if (ry_word_is(word, "layout")) {
        return parse_choice(word, layouts, 2, &b->layout, error);
    }
    if (ry_word_is(word, "accuracy")) {
        return ry_word_accuracy(word, &b->accuracy, error);
    }
    if (ry_word_is(word, "alpha") || ry_word_is(word, "beta")) {
        bool parsed = ry_number_parse(word->value, word->value_length,
                                      word->key[0] == 'a' ? &b->alpha : &b->beta);
        return parsed ? RYND_OK : ry_word_fail(word, error, "expected a number");
    }
    if (ry_word_is(word, "dtype")) {
        b->dtype = (int)ry_dtype_parse(word->value, word->value_length);
        return b->dtype != RY_NONE
                   ? RYND_OK
                   : ry_word_fail(word, error,
                                  "expected an element type: f32, f16, bf16, f64, i8, ...");
    }
    return ry_word_fail(word, error,
                        "unknown word; expected n, c, d, h, w, k, t, r, s, pad, stride, dilation, "
                        "groups, opad (convt), bias, residual, act, "
                        "alpha, beta, dtype, layout, dir (conv) or accuracy");
}

static rynd_status parse_word(const ry_word *word, brief *b, ry_error *error)
{
    for (int i = 0; i < SPATIAL; i++) {
        if (ry_word_is(word, image_keys[i])) {
            b->image_given[i] = true;
            return parse_integer(word, 0, INT32_MAX, &b->image[i], error);
        }
        if (ry_word_is(word, window_keys[i])) {
            b->window_given[i] = true;
            return parse_integer(word, 1, INT32_MAX, &b->window[i], error);
        }
    }
    for (size_t i = 0; i < sizeof number_keys / sizeof *number_keys; i++) {
        if (ry_word_is(word, number_keys[i].key)) {
            int64_t *number = (int64_t *)(void *)((char *)b + number_keys[i].offset);
            return parse_integer(word, number_keys[i].least, number_keys[i].most, number, error);
        }
    }
    for (size_t i = 0; i < sizeof list_keys / sizeof *list_keys; i++) {
        if (ry_word_is(word, list_keys[i].key)) {
            return parse_list(word, list_keys[i].least,
                              (ry_ints *)(void *)((char *)b + list_keys[i].offset), error);
        }
    }
    return parse_named(word, b, error);
}

static brief brief_default(ry_op op)
{
    return (brief){.op = op,
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

static rynd_status check_brief(brief *b, ry_error *error)
{
    b->spatial = b->image_given[0] || b->window_given[0]   ? 3
                 : b->image_given[1] || b->window_given[1] ? 2
                                                           : 1;
    for (int i = SPATIAL - b->spatial; i < SPATIAL; i++) {
        if (!b->image_given[i]) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "problem text: %s= is missing (a %d-D convolution has %s)",
                           image_keys[i], b->spatial,
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
    if (b->op == RY_OP_conv && b->bias == BIAS_PHASES) {
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

static void make_attrs(const brief *b, geometry *g)
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

static rynd_status output_size(const brief *b, const ry_window *w, int i, int64_t *size,
                               ry_error *error)
{
    const ry_window_axis *axis = &w->axis[i];
    *size = ry_window_extent(w, i);
    if (*size < 0) {
        const int at = SPATIAL - b->spatial + i;
        return ry_fail(
            error, RYND_ERROR_FORMAT,
            "problem text: %s=%lld with %lld of padding is too small for a window that covers %lld",
            image_keys[at], (long long)b->image[at], (long long)(axis->pad + axis->pad_end),
            (long long)ry_window_reach(axis));
    }
    return RYND_OK;
}

static rynd_status make_geometry(const brief *b, geometry *g, ry_error *error)
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
        g->x.dim[2 + i] = b->image[SPATIAL - b->spatial + i];
        g->weights.dim[2 + i] = b->window[SPATIAL - b->spatial + i];
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

static ry_tensor image_tensor(const brief *b, const ry_shape *shape)
{
    return b->layout ? ry_tensor_channels_last((ry_dtype)b->dtype, shape, NULL)
                     : ry_tensor_row_major((ry_dtype)b->dtype, shape, NULL);
}

static rynd_status make_problem(const brief *b, ry_arena *arena, ry_problem *problem,
                                ry_error *error)
{
    geometry g;
    RY_TRY(make_geometry(b, &g, error));
    ry_tensor *in = RY_TAKE(arena, ry_tensor, 4), *out = RY_TAKE(arena, ry_tensor, 2);
    if (!in || !out) {
        return ry_fail_memory(error);
    }
    ry_shape bias_shape = {.rank = 1, .dim = {b->k}};
    for (int i = 0; b->bias == BIAS_PHASES && i < b->spatial; i++) {
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
    brief b = brief_default(op);
    ry_word word;
    int found;
    while ((found = ry_word_next(text, &words, &word)) > 0) {
        RY_TRY(parse_word(&word, &b, error));
    }
    if (found < 0) {
        return ry_word_fail(&word, error, "expected key=value");
    }
    RY_TRY(check_brief(&b, error));
    return make_problem(&b, arena, problem, error);
}

/* What the short form would say of the problem, as far as it can. */
static bool brief_of(const ry_problem *p, brief *b)
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
    if (x->rank < 3 || x->rank > 2 + SPATIAL || weights->rank != x->rank) {
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
        b->image[SPATIAL - b->spatial + i] = x->dim[2 + i];
        b->window[SPATIAL - b->spatial + i] = weights->dim[2 + i];
        b->image_given[SPATIAL - b->spatial + i] = true;
    }
    const bool has_bias = to_weights ? ry_problem_has_output(p, 1) : ry_problem_has_input(p, 2);
    b->bias = !has_bias ? BIAS_NONE : turned && p->in[2].rank > 1 ? BIAS_PHASES : BIAS_CHANNELS;
    b->residual = ry_problem_has_input(p, 3);
    b->dtype = (int)x->dtype;
    b->layout = !ry_tensor_is_row_major(x) ||
                (to_weights ? !ry_tensor_is_row_major(&p->in[1])
                            : !ry_tensor_is_row_major(to_data ? &p->in[0] : &p->out[0]));
    b->accuracy = p->accuracy;
    return true;
}

static bool in_range(const brief *b)
{
    for (size_t i = 0; i < sizeof number_keys / sizeof *number_keys; i++) {
        int64_t number = *(const int64_t *)(const void *)((const char *)b + number_keys[i].offset);
        if (number < number_keys[i].least || number > number_keys[i].most) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof list_keys / sizeof *list_keys; i++) {
        const ry_ints *list =
            (const ry_ints *)(const void *)((const char *)b + list_keys[i].offset);
        for (int k = 0; k < list->count; k++) {
            if (list->at[k] < list_keys[i].least || list->at[k] > INT32_MAX) {
                return false;
            }
        }
    }
    for (int i = SPATIAL - b->spatial; i < SPATIAL; i++) {
        if (b->image[i] < 0 || b->image[i] > INT32_MAX || b->window[i] < 1 ||
            b->window[i] > INT32_MAX) {
            return false;
        }
    }
    return true;
}

static bool all_are(const ry_ints *list, int64_t number)
{
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] != number) {
            return false;
        }
    }
    return true;
}

/* One number where all are equal; for pads, one a dim where ends are begins. (1-D: "1,2" is a begin
 * and an end.) */
static void print_list(ry_text *text, const char *key, const ry_ints *list, int spatial,
                       int64_t preset)
{
    if (all_are(list, preset)) {
        return;
    }
    bool even = list->count == 2 * spatial &&
                memcmp(list->at, list->at + spatial, (size_t)spatial * sizeof *list->at) == 0;
    ry_text_add(text, " %s=", key);
    ry_text_numbers(text, all_are(list, list->at[0]) ? 1 : even ? spatial : list->count, list->at);
}

static void print_brief(const brief *b, ry_text *text)
{
    char number[RY_NUMBER_SIZE];
    ry_text_add(text, "%s n=%lld c=%lld", ry_op_name(b->op), (long long)b->n, (long long)b->c);
    for (int i = SPATIAL - b->spatial; i < SPATIAL; i++) {
        ry_text_add(text, " %s=%lld", image_keys[i], (long long)b->image[i]);
    }
    ry_text_add(text, " k=%lld", (long long)b->k);
    for (int i = SPATIAL - b->spatial; i < SPATIAL; i++) {
        ry_text_add(text, " %s=%lld", window_keys[i], (long long)b->window[i]);
    }
    print_list(text, "pad", &b->pad, b->spatial, 0);
    print_list(text, "stride", &b->stride, b->spatial, 1);
    print_list(text, "dilation", &b->dilation, b->spatial, 1);
    if (b->groups != 1) {
        ry_text_add(text, " groups=%lld", (long long)b->groups);
    }
    print_list(text, "opad", &b->opad, b->spatial, 0);
    if (b->bias) {
        ry_text_add(text, " bias=%s", bias_words[b->bias]);
    }
    ry_text_add(text, "%s", b->residual ? " residual=1" : "");
    if (b->activation) {
        ry_text_add(text, " act=%s", enum_field("activation")->words[b->activation]);
    }
    const double *numbers[] = {&b->alpha, &b->beta};
    for (int i = 0; i < 2; i++) {
        if (*numbers[i] != 0 || signbit(*numbers[i])) {
            ry_number_print(*numbers[i], number);
            ry_text_add(text, " %s=%s", i ? "beta" : "alpha", number);
        }
    }
    if (b->dtype != RY_f32) {
        ry_text_add(text, " dtype=%s", ry_dtype_name((ry_dtype)b->dtype));
    }
    ry_text_add(text, "%s", b->layout ? " layout=nhwc" : "");
    if (b->dir) {
        ry_text_add(text, " dir=%s", enum_field("dir")->words[b->dir]);
    }
    if (b->accuracy != RY_ACCURACY_near32) {
        ry_text_add(text, " accuracy=%s", ry_accuracy_word(b->accuracy));
    }
}

bool ry_problem_print_short(const ry_problem *problem, ry_text *text)
{
    brief b;
    ry_problem again;
    if (!brief_of(problem, &b) || !in_range(&b) || check_brief(&b, NULL) != RYND_OK ||
        make_problem(&b, text->arena, &again, NULL) != RYND_OK ||
        !ry_problem_equal(problem, &again)) {
        return false;
    }
    print_brief(&b, text);
    return true;
}
