/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a node: those that a recipe did not set get values by their names; a mistake is
 * made here and there. */
#include "grammar.h"

#include <string.h>

/* What an attribute's values are where no recipe says more. */
typedef enum hint_kind {
    HINT_FLAG,
    HINT_COUNT,
    HINT_AXIS,
    HINT_AXES,
    HINT_OFFSET,
    HINT_TYPE,
    HINT_WORDS,
    HINT_NUMBER,
    HINT_NUMBERS,
    HINT_SKIP
} hint_kind;

typedef struct hint {
    const char *name;
    hint_kind kind;
    const char *words[8];
} hint;

static const hint hints[] = {
    {"axis", HINT_AXIS, {NULL}},
    {"axes", HINT_AXES, {NULL}},
    {"perm", HINT_SKIP, {NULL}},
    {"keepdims", HINT_FLAG, {NULL}},
    {"dtype", HINT_TYPE, {NULL}},
    {"output_dtype", HINT_TYPE, {NULL}},
    {"k", HINT_OFFSET, {NULL}},
    {"start", HINT_AXIS, {NULL}},
    {"end", HINT_AXIS, {NULL}},
    {"p", HINT_COUNT, {NULL}},
    {"size", HINT_COUNT, {NULL}},
    {"block_size", HINT_SKIP, {NULL}},
    {"seed", HINT_COUNT, {NULL}},
    {"consumed_inputs", HINT_AXES, {NULL}},
    {"output_height", HINT_COUNT, {NULL}},
    {"output_width", HINT_COUNT, {NULL}},
    {"sampling_ratio", HINT_COUNT, {NULL}},
    {"auto_pad", HINT_WORDS, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}},
    {"approximate", HINT_WORDS, {"none", "tanh"}},
    {"direction", HINT_WORDS, {"LEFT", "RIGHT"}},
    {"reduction", HINT_WORDS, {"none", "add", "mul", "max", "min"}},
    {"padding_mode", HINT_WORDS, {"zeros", "border", "reflection"}},
    {"nearest_mode", HINT_WORDS, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
    {"keep_aspect_ratio_policy", HINT_WORDS, {"stretch", "not_larger", "not_smaller"}},
    {"round_mode", HINT_WORDS, {"up", "down", "nearest"}},
    {"coordinate_transformation_mode",
     HINT_WORDS,
     {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
      "tf_half_pixel_for_nn", "tf_crop_and_resize"}},
};

/* `mode` means another thing in each operator. */
static const hint modes[] = {
    {"Pad", HINT_WORDS, {"constant", "reflect", "edge", "wrap"}},
    {"Resize", HINT_WORDS, {"nearest", "linear", "cubic"}},
    {"Upsample", HINT_WORDS, {"nearest", "linear", "bilinear"}},
    {"GridSample", HINT_WORDS, {"linear", "nearest", "cubic", "bilinear", "bicubic"}},
    {"RoiAlign", HINT_WORDS, {"avg", "max"}},
    {"DepthToSpace", HINT_WORDS, {"DCR", "CRD"}},
};

static const hint *find(const hint *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

bool grammar_row_has(const grammar_node *node, const char *attribute)
{
    for (const ry_attribute_spec *spec = node->row->attributes; spec->name; spec++) {
        if (strcmp(spec->name, attribute) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_set(const grammar_node *node, const char *name)
{
    for (int i = 0; i < node->attributes; i++) {
        if (strcmp(node->attribute[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static grammar_attribute *append(grammar_node *node, const char *name, ry_attribute_type type)
{
    grammar_attribute *a = &node->attribute[node->attributes++];
    *a = (grammar_attribute){.name = name, .type = type, .text = ""};
    return a;
}

grammar_attribute *grammar_add_attribute(grammar_node *node, const char *name)
{
    for (const ry_attribute_spec *spec = node->row->attributes; spec->name; spec++) {
        if (strcmp(spec->name, name) == 0) {
            return is_set(node, name) || node->attributes == GRAMMAR_ATTRIBUTES
                       ? NULL
                       : append(node, spec->name, spec->type);
        }
    }
    return NULL;
}

void grammar_set_int(grammar_node *node, const char *name, int64_t number)
{
    grammar_attribute *a = grammar_add_attribute(node, name);
    if (a) {
        a->i = number;
        a->f = (float)number;
    }
}

void grammar_set_ints(grammar_node *node, const char *name, int count, const int64_t *numbers)
{
    grammar_attribute *a = grammar_add_attribute(node, name);
    if (a) {
        a->count = count;
        memcpy(a->ints, numbers, (size_t)(count > 0 ? count : 0) * sizeof *numbers);
    }
}

void grammar_set_text(grammar_node *node, const char *name, const char *text)
{
    grammar_attribute *a = grammar_add_attribute(node, name);
    if (a) {
        a->text = text;
    }
}

void grammar_leave_out(grammar_node *node, const char *name)
{
    grammar_attribute *a = grammar_add_attribute(node, name);
    if (a) {
        a->type = RY_ATTRIBUTE_none;
    }
}

static int rank_of_first(const grammar *g, const grammar_node *node)
{
    const int x = node->inputs ? node->in[0] : -1;
    return x >= 0 && g->values[x].rank >= 0 ? g->values[x].rank : 2;
}

static void fill_axes(grammar *g, const grammar_node *node, grammar_attribute *a)
{
    const int rank = rank_of_first(g, node);
    const int64_t step = chance(&g->c, 128) ? -1 : 1;
    for (int i = 0; i < rank && a->count < GRAMMAR_NUMBERS; i++) {
        if (chance(&g->c, 128)) {
            a->ints[a->count++] = step > 0 ? i : i - rank;
        }
    }
}

static void fill_by_hint(grammar *g, const grammar_node *node, grammar_attribute *a, const hint *h)
{
    unsigned words = 0;
    switch (h->kind) {
    case HINT_FLAG: a->i = choose(&g->c, 2); break;
    case HINT_COUNT: a->i = 1 + choose(&g->c, 4); break;
    case HINT_OFFSET: a->i = choose_between(&g->c, -3, 3); break;
    case HINT_AXIS: a->i = grammar_axis(g, rank_of_first(g, node)); break;
    case HINT_AXES: fill_axes(g, node, a); break;
    case HINT_TYPE: a->i = ry_dtype_to_onnx((ry_dtype)(1 + choose(&g->c, RY_DTYPES - 1))); break;
    case HINT_WORDS:
        while (words < 8 && h->words[words]) {
            words++;
        }
        a->text = h->words[choose(&g->c, words)];
        break;
    default: break;
    }
}

/* What nothing is known of but its type: most ints of ONNX are flags. */
static void fill_by_type(grammar *g, grammar_attribute *a)
{
    static const float numbers[] = {0.5F, 1, 0.1F, 2, -1, 0, 1e-5F, 3};
    a->i = choose(&g->c, 2);
    a->f = numbers[choose(&g->c, 8)];
    a->text = "none";
    const bool list = a->type == RY_ATTRIBUTE_ints || a->type == RY_ATTRIBUTE_floats;
    a->count = list ? (int)choose(&g->c, 4) : 0;
    for (int i = 0; i < a->count; i++) {
        a->ints[i] = 1 + choose(&g->c, 3);
        a->floats[i] = numbers[choose(&g->c, 8)];
    }
}

static void fill_spec(grammar *g, grammar_node *node, const ry_attribute_spec *spec)
{
    const bool mode = strcmp(spec->name, "mode") == 0;
    const hint *h = mode ? find(modes, sizeof modes / sizeof *modes, node->row->name)
                         : find(hints, sizeof hints / sizeof *hints, spec->name);
    const bool skip = (h && h->kind == HINT_SKIP) || spec->type == RY_ATTRIBUTE_tensor;
    if (skip || is_set(node, spec->name) || node->attributes == GRAMMAR_ATTRIBUTES ||
        (!spec->required && !chance(&g->c, 100))) {
        return;
    }
    grammar_attribute *a = append(node, spec->name, spec->type);
    if (h) {
        fill_by_hint(g, node, a, h);
    } else {
        fill_by_type(g, a);
    }
}

static void spoil(grammar *g, grammar_attribute *a)
{
    switch (choose(&g->c, 6)) {
    case 0: a->type = (ry_attribute_type)(1 + choose(&g->c, 8)); break;
    case 1: a->name = "no_such_attribute"; break;
    case 2: a->text = "no_such_word"; break;
    case 3: a->count = a->count ? a->count - 1 : 1; break;
    case 4: a->count = a->count ? GRAMMAR_NUMBERS : 0; break;
    default: break;
    }
    a->i = choose_edge(&g->c);
    a->f = (float)choose_edge(&g->c);
    if (a->count > 0) {
        a->ints[choose(&g->c, (unsigned)a->count)] = choose_edge(&g->c);
        a->floats[choose(&g->c, (unsigned)a->count)] = (float)choose_edge(&g->c);
    }
}

void grammar_fill_attributes(grammar *g, grammar_node *node)
{
    for (const ry_attribute_spec *spec = node->row->attributes; spec->name; spec++) {
        if (*spec->name) {
            fill_spec(g, node, spec);
        }
    }
    for (int i = 0; i < node->attributes; i++) {
        if (slip(&g->c)) {
            spoil(g, &node->attribute[i]);
        }
    }
    if (node->attributes && slip(&g->c)) {
        node->attributes--; /* one is missing */
    }
}
