/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints the words of a convolution's short form. */
#include "problem/conv_brief.h"

#include "base/number.h"

#include <stddef.h>
#include <string.h>

static const char *const bias_words[RY_BIAS_KINDS] = {"0", "1", "phases"};
static const char *const layouts[] = {"nchw", "nhwc"};
const char *const ry_brief_image_keys[RY_BRIEF_DIMS] = {"d", "h", "w"};
static const char *const window_keys[] = {"t", "r", "s"};

typedef struct number_key {
    const char *key;
    size_t offset;
    int64_t least, most;
} number_key;

static const number_key number_keys[] = {
    {"n", offsetof(ry_conv_brief, n), 0, INT32_MAX},
    {"c", offsetof(ry_conv_brief, c), 0, INT32_MAX},
    {"k", offsetof(ry_conv_brief, k), 0, INT32_MAX},
    {"groups", offsetof(ry_conv_brief, groups), 1, INT32_MAX},
    {"residual", offsetof(ry_conv_brief, residual), 0, 1},
};

typedef struct list_key {
    const char *key;
    size_t offset;
    int64_t least;
} list_key;

static const list_key list_keys[] = {
    {"pad", offsetof(ry_conv_brief, pad), 0},
    {"stride", offsetof(ry_conv_brief, stride), 1},
    {"dilation", offsetof(ry_conv_brief, dilation), 1},
    {"opad", offsetof(ry_conv_brief, opad), 0},
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
    list->count = ry_word_integers(word, list->at, RY_BRIEF_PADS);
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] < least || list->at[i] > INT32_MAX) {
            list->count = 0;
        }
    }
    return list->count
               ? RYND_OK
               : ry_word_fail(word, error,
                              "expected 1 to %d numbers of at least %lld, separated by commas",
                              RY_BRIEF_PADS, (long long)least);
}

static rynd_status parse_choice(const ry_word *word, const char *const *words, int count,
                                int *choice, ry_error *error)
{
    *choice = ry_word_choice(word, words, count, error);
    return *choice < 0 ? RYND_ERROR_FORMAT : RYND_OK;
}

static rynd_status parse_named(const ry_word *word, ry_conv_brief *b, ry_error *error)
{
    const ry_field *activation = enum_field("activation"), *dir = enum_field("dir");
    if (ry_word_is(word, "act")) {
        return parse_choice(word, activation->words, activation->word_count, &b->activation, error);
    }
    if (ry_word_is(word, "dir")) {
        return parse_choice(word, dir->words, dir->word_count, &b->dir, error);
    }
    if (ry_word_is(word, "bias")) {
        return parse_choice(word, bias_words, RY_BIAS_KINDS, &b->bias, error);
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

rynd_status ry_brief_parse_word(const ry_word *word, ry_conv_brief *b, ry_error *error)
{
    for (int i = 0; i < RY_BRIEF_DIMS; i++) {
        if (ry_word_is(word, ry_brief_image_keys[i])) {
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

bool ry_brief_in_range(const ry_conv_brief *b)
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
    for (int i = RY_BRIEF_DIMS - b->spatial; i < RY_BRIEF_DIMS; i++) {
        if (b->image[i] < 0 || b->image[i] > INT32_MAX || b->window[i] < 1 ||
            b->window[i] > INT32_MAX) {
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
    if (ry_ints_are(list, preset)) {
        return;
    }
    bool even = list->count == 2 * spatial &&
                memcmp(list->at, list->at + spatial, (size_t)spatial * sizeof *list->at) == 0;
    ry_text_add(text, " %s=", key);
    ry_text_numbers(text,
                    ry_ints_are(list, list->at[0]) ? 1
                    : even                         ? spatial
                                                   : list->count,
                    list->at);
}

void ry_brief_print(const ry_conv_brief *b, ry_text *text)
{
    char number[RY_NUMBER_SIZE];
    ry_text_add(text, "%s n=%lld c=%lld", ry_op_name(b->op), (long long)b->n, (long long)b->c);
    for (int i = RY_BRIEF_DIMS - b->spatial; i < RY_BRIEF_DIMS; i++) {
        ry_text_add(text, " %s=%lld", ry_brief_image_keys[i], (long long)b->image[i]);
    }
    ry_text_add(text, " k=%lld", (long long)b->k);
    for (int i = RY_BRIEF_DIMS - b->spatial; i < RY_BRIEF_DIMS; i++) {
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
