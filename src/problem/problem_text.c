/* SPDX-License-Identifier: Apache-2.0 */
/* Problems as text and back: the generic form over tensors and attributes. */
#include "problem/problem_conv.h"

#include "base/number.h"
#include "expr/expr.h"
#include "problem/window.h"

#include <string.h>

/* Inputs and outputs of one problem: more than any operator has in practice, few enough to refuse a
 * text that asks for millions. */
enum { MAX_TENSORS = 256 };

static bool is_conv(ry_op op)
{
    return op == RY_OP_conv || op == RY_OP_convt;
}

static void print_tensor(ry_text *text, char side, int index, const ry_tensor *tensor)
{
    if (!ry_tensor_present(tensor)) {
        return;
    }
    ry_text_add(text, " %c%d=%s", side, index, tensor->rank ? "" : "scalar");
    for (int i = 0; i < tensor->rank; i++) {
        ry_text_add(text, "%s%lld", i ? "x" : "", (long long)tensor->dim[i]);
    }
    ry_text_add(text, ":%s", ry_dtype_name((ry_dtype)tensor->dtype));
    if (ry_tensor_is_row_major(tensor)) {
        return;
    }
    if (ry_tensor_is_channels_last(tensor)) {
        ry_text_add(text, ":nhwc");
        return;
    }
    int64_t stride[RY_MAX_RANK];
    for (int i = 0; i < tensor->rank; i++) {
        /* the stride of a single element does not matter */
        stride[i] = tensor->dim[i] > 1 ? tensor->stride[i] : 0;
    }
    ry_text_add(text, ":");
    ry_text_numbers(text, tensor->rank, stride);
}

static bool is_default(ry_op op, const ry_field *field, const ry_attrs *attrs,
                       const ry_attrs *preset, int spatial)
{
    const void *at = (const char *)attrs + field->offset,
               *was = (const char *)preset + field->offset;
    switch (field->kind) {
    case RY_FIELD_INT: return *(const int64_t *)at == *(const int64_t *)was;
    case RY_FIELD_FLOAT: return memcmp(at, was, sizeof(double)) == 0;
    case RY_FIELD_ENUM: return *(const int *)at == *(const int *)was;
    case RY_FIELD_TEXT: return *(const char *const *)at == NULL;
    case RY_FIELD_EXPR: return *(const ry_expr *const *)at == NULL;
    case RY_FIELD_FLOATS: return ((const ry_floats *)at)->count == 0;
    case RY_FIELD_INTS: {
        const ry_ints *list = at;
        int count;
        int64_t number;
        if (!ry_field_fill(op, field, spatial, &count, &number)) {
            return list->count == 0;
        }
        for (int i = 0; i < list->count; i++) {
            if (list->at[i] != number) {
                return false;
            }
        }
        return list->count == 0 || list->count == count;
    }
    }
    return true;
}

static void print_field(ry_text *text, const ry_field *field, const ry_attrs *attrs)
{
    const void *at = (const char *)attrs + field->offset;
    char number[RY_NUMBER_SIZE];
    ry_text_add(text, " %s=", field->name);
    switch (field->kind) {
    case RY_FIELD_INT: ry_text_add(text, "%lld", (long long)*(const int64_t *)at); break;
    case RY_FIELD_FLOAT:
        ry_number_print(*(const double *)at, number);
        ry_text_add(text, "%s", number);
        break;
    case RY_FIELD_ENUM: ry_text_add(text, "%s", field->words[*(const int *)at]); break;
    case RY_FIELD_TEXT: ry_text_quoted(text, *(const char *const *)at); break;
    case RY_FIELD_INTS:
        ry_text_numbers(text, ((const ry_ints *)at)->count, ((const ry_ints *)at)->at);
        break;
    case RY_FIELD_EXPR: {
        const char *program = ry_expr_print(*(const ry_expr *const *)at, text->arena);
        text->failed = text->failed || !program;
        ry_text_quoted(text, program ? program : "");
        break;
    }
    case RY_FIELD_FLOATS:
        for (int i = 0; i < ((const ry_floats *)at)->count; i++) {
            ry_number_print(((const ry_floats *)at)->at[i], number);
            ry_text_add(text, "%s%s", i ? "," : "", number);
        }
        break;
    }
}

const char *ry_problem_print(const ry_problem *problem, ry_arena *arena)
{
    ry_text text = {.arena = arena};
    if (is_conv(problem->op) && ry_problem_print_short(problem, &text)) {
        return text.failed ? NULL : text.at;
    }
    int spatial = ry_problem_spatial(problem), fields = 0;
    ry_attrs attrs = ry_attrs_filled(problem->op, &problem->attrs, spatial),
             preset = ry_attrs_default(problem->op);
    ry_text_add(&text, "%s", ry_op_name(problem->op));
    for (int i = 0; i < problem->inputs; i++) {
        print_tensor(&text, 'x', i, &problem->in[i]);
    }
    for (int i = 0; i < problem->outputs; i++) {
        print_tensor(&text, 'y', i, &problem->out[i]);
    }
    const ry_field *field = ry_op_fields(problem->op, &fields);
    for (int i = 0; i < fields; i++) {
        if (!is_default(problem->op, &field[i], &attrs, &preset, spatial)) {
            print_field(&text, &field[i], &attrs);
        }
    }
    if (problem->accuracy != RY_ACCURACY_near32) {
        ry_text_add(&text, " accuracy=%s", ry_accuracy_word(problem->accuracy));
    }
    return text.failed ? NULL : text.at;
}

/* x12 or y0: the index; -1 when the key is no tensor's. */
static int64_t tensor_index(const ry_word *word, char side)
{
    int64_t index;
    bool fits = word->key_length > 1 && word->key_length < 10 && word->key[0] == side &&
                word->key[1] != '-';
    return fits && ry_integer_parse(word->key + 1, word->key_length - 1, &index) ? index : -1;
}

static bool parse_dims(const char *at, size_t length, ry_shape *shape)
{
    const char *end = at + length;
    *shape = (ry_shape){.rank = 0};
    if (length == strlen("scalar") && memcmp(at, "scalar", length) == 0) {
        return true;
    }
    while (shape->rank < RY_MAX_RANK) {
        const char *cross = memchr(at, 'x', (size_t)(end - at)), *stop = cross ? cross : end;
        int64_t *dim = &shape->dim[shape->rank++];
        if (!ry_integer_parse(at, (size_t)(stop - at), dim) || *dim < 0) {
            return false;
        }
        if (!cross) {
            return true;
        }
        at = cross + 1;
    }
    return false;
}

/* Strides reach at most 2^62 bytes either way, so that no address computation overflows. */
static bool parse_strides(const ry_word *word, const char *at, ry_tensor *tensor)
{
    ry_word list = {.value = at, .value_length = (size_t)(word->value + word->value_length - at)};
    if (tensor->rank == 0 ||
        ry_word_integers(&list, tensor->stride, tensor->rank) != tensor->rank) {
        return false;
    }
    int64_t reach = (int64_t)ry_dtype_size((ry_dtype)tensor->dtype);
    for (int i = 0; i < tensor->rank; i++) {
        int64_t steps = tensor->dim[i] > 0 ? tensor->dim[i] - 1 : 0, far,
                stride = tensor->stride[i];
        if (stride == INT64_MIN ||
            __builtin_mul_overflow(stride < 0 ? -stride : stride, steps, &far) ||
            __builtin_mul_overflow(far, (int64_t)ry_dtype_size((ry_dtype)tensor->dtype), &far) ||
            __builtin_add_overflow(reach, far, &reach) || reach >> 62) {
            return false;
        }
    }
    return true;
}

static rynd_status parse_tensor(const ry_word *word, ry_tensor *tensor, ry_error *error)
{
    const char *end = word->value + word->value_length;
    const char *colon = memchr(word->value, ':', word->value_length);
    const char *second = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL,
               *type_end = second ? second : end;
    ry_shape shape;
    if (!colon || !parse_dims(word->value, (size_t)(colon - word->value), &shape)) {
        return ry_word_fail(word, error,
                            "expected dims, a type and perhaps a layout: 1x64x56x56:f32, "
                            "scalar:i64, 1x64x56x56:f32:nhwc");
    }
    ry_dtype dtype = ry_dtype_parse(colon + 1, (size_t)(type_end - colon - 1));
    if (dtype == RY_NONE) {
        return ry_word_fail(
            word, error, "expected an element type after the dims: f32, f16, bf16, f64, i8, ...");
    }
    ry_shape full = shape; /* an empty tensor's other dims are bounded too, for the strides' sake */
    for (int i = 0; i < shape.rank; i++) {
        full.dim[i] = full.dim[i] ? full.dim[i] : 1;
    }
    int64_t bytes = ry_shape_bytes(&full, dtype);
    if (bytes < 0 || bytes >> 62) {
        return ry_word_fail(word, error, "the tensor would have more than 2^62 bytes");
    }
    *tensor = ry_tensor_row_major(dtype, &shape, NULL);
    if (second && end - second == 5 && memcmp(second, ":nhwc", 5) == 0) {
        *tensor = ry_tensor_channels_last(dtype, &shape, NULL);
    } else if (second && !(end - second == 5 && memcmp(second, ":nchw", 5) == 0) &&
               !parse_strides(word, second + 1, tensor)) {
        return ry_word_fail(word, error,
                            "expected a layout after the type: nchw, nhwc, or a stride for each "
                            "dim, reaching less than 2^62 bytes");
    }
    return RYND_OK;
}

static char *unquote(const ry_word *word, ry_arena *arena)
{
    char *copy = ry_arena_string(arena, word->value, word->value_length);
    char *to = copy;
    for (size_t i = 0; copy && i < word->value_length; i++) {
        i += word->quoted && word->value[i] == '\\' && i + 1 < word->value_length;
        *to++ = word->value[i];
    }
    if (copy) {
        *to = 0;
    }
    return copy;
}

static rynd_status parse_floats(const ry_word *word, ry_floats *list, ry_error *error)
{
    const char *at = word->value, *end = word->value + word->value_length;
    for (list->count = 0; list->count < RY_MAX_INTS;) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (!ry_number_parse(at, (size_t)(stop - at), &list->at[list->count++])) {
            break;
        }
        if (!comma) {
            return RYND_OK;
        }
        at = comma + 1;
    }
    return ry_word_fail(word, error, "expected at most %d numbers, separated by commas",
                        RY_MAX_INTS);
}

static rynd_status parse_program(const ry_word *word, const ry_expr **program, ry_arena *arena,
                                 ry_error *error)
{
    const char *text = unquote(word, arena);
    if (!text) {
        return ry_fail_memory(error);
    }
    rynd_status status = ry_expr_parse(text, NULL, 0, arena, program, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "problem text, column %zu: ", word->column);
    }
    return status;
}

static rynd_status parse_field(const ry_word *word, const ry_field *field, ry_attrs *attrs,
                               ry_arena *arena, ry_error *error)
{
    void *at = (char *)attrs + field->offset;
    switch (field->kind) {
    case RY_FIELD_INT:
        return ry_word_integers(word, at, 1) == 1
                   ? RYND_OK
                   : ry_word_fail(word, error, "expected an integer");
    case RY_FIELD_FLOAT:
        return ry_number_parse(word->value, word->value_length, at)
                   ? RYND_OK
                   : ry_word_fail(word, error, "expected a number");
    case RY_FIELD_INTS: {
        ry_ints *list = at;
        list->count = ry_word_integers(word, list->at, RY_MAX_INTS);
        return list->count
                   ? RYND_OK
                   : ry_word_fail(word, error, "expected at most %d integers, separated by commas",
                                  RY_MAX_INTS);
    }
    case RY_FIELD_FLOATS: return parse_floats(word, at, error);
    case RY_FIELD_ENUM: {
        int choice = ry_word_choice(word, field->words, field->word_count, error);
        *(int *)at = choice < 0 ? 0 : choice;
        return choice < 0 ? RYND_ERROR_FORMAT : RYND_OK;
    }
    case RY_FIELD_TEXT: {
        const char *text = unquote(word, arena);
        *(const char **)at = text;
        return text ? RYND_OK : ry_fail_memory(error);
    }
    case RY_FIELD_EXPR: return parse_program(word, at, arena, error);
    }
    return RYND_ERROR_FORMAT;
}

static rynd_status fail_key(const ry_word *word, ry_op op, ry_error *error)
{
    char list[400];
    size_t used = 0;
    int count = 0;
    const ry_field *field = ry_op_fields(op, &count);
    list[0] = 0;
    for (int i = 0; i < count && used < sizeof list; i++) {
        size_t length = strlen(field[i].name);
        if (used + length + 3 > sizeof list) {
            break;
        }
        memcpy(list + used, ", ", 2);
        memcpy(list + used + 2, field[i].name, length + 1);
        used += length + 2;
    }
    return ry_word_fail(word, error,
                        "unknown word; expected x0.. (inputs), y0.. (outputs)%s or accuracy", list);
}

typedef struct generic {
    ry_op op;
    ry_tensor *in, *out;
    int inputs, outputs;
    ry_attrs attrs;
    ry_accuracy accuracy;
} generic;

static rynd_status parse_generic_word(const ry_word *word, generic *g, ry_arena *arena,
                                      ry_error *error)
{
    int64_t in = tensor_index(word, 'x'), out = tensor_index(word, 'y');
    if (in >= 0 || out >= 0) {
        ry_tensor *tensor = in >= 0 ? &g->in[in] : &g->out[out];
        return ry_tensor_present(tensor) ? ry_word_fail(word, error, "given twice")
                                         : parse_tensor(word, tensor, error);
    }
    if (ry_word_is(word, "accuracy")) {
        return ry_word_accuracy(word, &g->accuracy, error);
    }
    int fields = 0;
    const ry_field *field = ry_op_fields(g->op, &fields);
    for (int i = 0; i < fields; i++) {
        if (ry_word_is(word, field[i].name)) {
            return parse_field(word, &field[i], &g->attrs, arena, error);
        }
    }
    return fail_key(word, g->op, error);
}

/* How many inputs and outputs the words name. */
static rynd_status count_tensors(generic *g, const char *words, const char *text, ry_error *error)
{
    ry_word word;
    while (ry_word_next(text, &words, &word) > 0) {
        int64_t in = tensor_index(&word, 'x'), out = tensor_index(&word, 'y');
        if (in >= MAX_TENSORS || out >= MAX_TENSORS) {
            return ry_word_fail(&word, error, "expected an index below %d", MAX_TENSORS);
        }
        g->inputs = in >= g->inputs ? (int)in + 1 : g->inputs;
        g->outputs = out >= g->outputs ? (int)out + 1 : g->outputs;
    }
    return RYND_OK;
}

static rynd_status parse_generic(ry_op op, const char *words, const char *text, ry_arena *arena,
                                 ry_problem *problem, ry_error *error)
{
    generic g = {.op = op, .attrs = ry_attrs_default(op), .accuracy = RY_ACCURACY_near32};
    RY_TRY(count_tensors(&g, words, text, error));
    g.in = RY_TAKE(arena, ry_tensor, g.inputs);
    g.out = RY_TAKE(arena, ry_tensor, g.outputs);
    if (!g.in || !g.out) {
        return ry_fail_memory(error);
    }
    ry_word word;
    int found;
    while ((found = ry_word_next(text, &words, &word)) > 0) {
        RY_TRY(parse_generic_word(&word, &g, arena, error));
    }
    if (found < 0) {
        return ry_word_fail(&word, error, "expected key=value%s",
                            word.value_length ? "" : " (and a closing quote)");
    }
    if (g.outputs == 0) {
        return ry_fail(error, RYND_ERROR_FORMAT, "problem text: y0= (the output) is missing");
    }
    *problem = (ry_problem){.op = op,
                            .accuracy = g.accuracy,
                            .inputs = g.inputs,
                            .outputs = g.outputs,
                            .in = g.in,
                            .out = g.out};
    problem->attrs = g.attrs;
    problem->attrs = ry_attrs_filled(op, &g.attrs, ry_problem_spatial(problem));
    return RYND_OK;
}

/* A word of the generic form: x or y with an index. */
static bool is_generic(const char *words)
{
    for (words += strspn(words, " \t\r\n"); *words; words += strspn(words, " \t\r\n")) {
        if ((words[0] == 'x' || words[0] == 'y') && words[1] >= '0' && words[1] <= '9') {
            return true;
        }
        words += strcspn(words, " \t\r\n");
    }
    return false;
}

static rynd_status fail_operator(const char *name, size_t length, ry_error *error)
{
    return ry_fail(error, RYND_ERROR_FORMAT,
                   "problem text, column 1, '%.*s': expected an operator: conv, convt, pool, "
                   "matmul, ... (docs/problems.md)",
                   length > 60 ? 60 : (int)length, name);
}

/* A data gradient whose shapes fit together is the transposed convolution that it is, of the same
 * operands; others are refused as they are (ry_problem_check). */
static void make_transposed(ry_problem *problem)
{
    const ry_tensor *dy = problem->in, *w = dy + 1, *dx = problem->out;
    if (problem->op != RY_OP_conv || problem->attrs.conv.dir != RY_direction_bwd_data ||
        problem->inputs < 2 || problem->outputs < 1 || dx->rank < 3 || dy->rank != dx->rank ||
        w->rank != dx->rank) {
        return;
    }
    ry_window forward = ry_window_of(problem);
    forward.direction = RY_direction_fwd;
    for (int i = 0; i < forward.rank; i++) {
        if (ry_window_extent(&forward, i) != dy->dim[2 + i]) {
            return;
        }
    }
    problem->attrs = ry_window_data_gradient_attrs(&problem->attrs, forward.rank, dx->dim + 2,
                                                   dy->dim + 2, w->dim + 2);
    problem->op = RY_OP_convt;
}

rynd_status ry_problem_parse(const char *text, ry_arena *arena, ry_problem *problem,
                             ry_error *error)
{
    const char *name = text + strspn(text, " \t\r\n");
    size_t length = strcspn(name, " \t\r\n");
    for (int op = 0; op < RY_OPS; op++) {
        const char *known = ry_op_name((ry_op)op);
        if (strlen(known) != length || memcmp(known, name, length) != 0) {
            continue;
        }
        const char *words = name + length;
        RY_TRY(is_conv((ry_op)op) && !is_generic(words)
                   ? ry_problem_parse_short((ry_op)op, words, text, arena, problem, error)
                   : parse_generic((ry_op)op, words, text, arena, problem, error));
        make_transposed(problem);
        return RYND_OK;
    }
    return fail_operator(name, length, error);
}
