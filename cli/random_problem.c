/* SPDX-License-Identifier: Apache-2.0 */
/* Draws convolutions. */
#include "random_problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 10000 };

static const struct {
    const char *name;
    double least, most, preset_least, preset_most;
} numbers[CLI_RANDOM_NUMBERS] = {
    [CLI_RANDOM_N] = {"n", 1, 4096, 1, 4},           [CLI_RANDOM_C] = {"c", 1, 65536, 1, 512},
    [CLI_RANDOM_K] = {"k", 1, 65536, 1, 512},        [CLI_RANDOM_SIZE] = {"size", 1, 65536, 7, 224},
    [CLI_RANDOM_FLOP] = {"flop", 0, 1e15, 1e5, 1e9},
};

static bool read_range(const char *text, cli_random_ranges *ranges)
{
    const size_t name = strcspn(text, "=");
    const char *from = text + name + 1, *dots = text[name] ? strstr(from, "..") : NULL;
    const size_t first = text[name] ? (dots ? (size_t)(dots - from) : strlen(from)) : 0;
    for (int i = 0; i < CLI_RANDOM_NUMBERS && text[name]; i++) {
        if (strlen(numbers[i].name) != name || memcmp(numbers[i].name, text, name) != 0) {
            continue;
        }
        double least, most;
        if (!cli_parse_number(from, first, &least)) {
            return false;
        }
        most = least;
        if (dots && !cli_parse_number(dots + 2, strlen(dots + 2), &most)) {
            return false;
        }
        ranges->least[i] = least;
        ranges->most[i] = most;
        return least >= numbers[i].least && most <= numbers[i].most && least <= most;
    }
    return false;
}

bool cli_random_ranges_read(const cli_list *given, cli_random_ranges *ranges, cli_failure *failure)
{
    for (int i = 0; i < CLI_RANDOM_NUMBERS; i++) {
        ranges->least[i] = numbers[i].preset_least;
        ranges->most[i] = numbers[i].preset_most;
    }
    for (size_t i = 0; i < given->count; i++) {
        if (!read_range(given->items[i], ranges)) {
            return cli_fail_usage(failure,
                                  "--range does not take '%s'; give NAME=LEAST..MOST, NAME being "
                                  "n, c, k, size or flop",
                                  given->items[i]);
        }
    }
    return true;
}

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static double unit(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static int64_t pick(uint64_t *state, const int64_t *of, size_t count)
{
    return of[(size_t)(unit(state) * (double)count)];
}
#define PICK(state, ...) \
    pick((state), (int64_t[]){__VA_ARGS__}, sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))

/* Small numbers as often as large ones. */
static int64_t draw(const cli_random_ranges *ranges, cli_random_number number, uint64_t *state)
{
    const double low = log(ranges->least[number]), high = log(ranges->most[number] + 1);
    const int64_t value = (int64_t)exp(low + (high - low) * unit(state));
    return value > (int64_t)ranges->most[number] ? (int64_t)ranges->most[number] : value;
}

/* Mostly multiples of 8, as in networks. */
static int64_t draw_channels(const cli_random_ranges *ranges, cli_random_number number,
                             uint64_t *state)
{
    const int64_t value = draw(ranges, number, state), even = value / 8 * 8;
    const bool odd = unit(state) < 0.3;
    return odd || (double)even < ranges->least[number] || even == 0 ? value : even;
}

typedef struct layer {
    bool transposed;
    int64_t n, c, k, h, w, window, pad, stride, dilation, groups;
} layer;

typedef enum kind { DENSE, POINTWISE, WIDE, DEPTHWISE, GROUPED, DILATED, TRANSPOSED } kind;

static void shape(layer *l, kind what, uint64_t *state)
{
    l->window = 3;
    l->stride = PICK(state, 1, 1, 1, 2);
    if (what == POINTWISE) {
        l->window = 1;
    } else if (what == WIDE) {
        l->window = PICK(state, 5, 7, 9);
    } else if (what == DEPTHWISE) {
        l->window = PICK(state, 3, 3, 5, 7);
        l->groups = l->k = l->c;
    } else if (what == GROUPED) {
        l->groups = PICK(state, 2, 4, 8, 32);
    } else if (what == DILATED) {
        l->dilation = PICK(state, 2, 3, 4);
        l->stride = 1;
    } else if (what == TRANSPOSED) {
        l->transposed = true;
        l->window = PICK(state, 2, 3, 4);
        l->stride = 2;
    }
    l->pad = unit(state) < 0.8 ? l->dilation * (l->window - 1) / 2 : 0;
}

static int64_t extent(const layer *l, int64_t in)
{
    const int64_t reach = l->dilation * (l->window - 1) + 1;
    return l->transposed ? (in - 1) * l->stride - 2 * l->pad + reach
                         : (in + 2 * l->pad - reach) / l->stride + 1;
}

/* Operations per output of a convolution, or per input of a transposed one. */
static double flop_of(const layer *l)
{
    const double places = l->transposed ? (double)l->h * (double)l->w
                                        : (double)extent(l, l->h) * (double)extent(l, l->w);
    const int64_t group = l->c / l->groups;
    return 2.0 * (double)l->n * places * (double)l->k * (double)group *
           (double)(l->window * l->window);
}

static layer draw_layer(const cli_random_ranges *ranges, uint64_t *state)
{
    layer l = {.dilation = 1, .groups = 1};
    l.n = draw(ranges, CLI_RANDOM_N, state);
    l.c = draw_channels(ranges, CLI_RANDOM_C, state);
    l.k = draw_channels(ranges, CLI_RANDOM_K, state);
    l.h = draw(ranges, CLI_RANDOM_SIZE, state);
    l.w = unit(state) < 0.7 ? l.h : draw(ranges, CLI_RANDOM_SIZE, state);
    shape(&l,
          (kind)PICK(state, DENSE, DENSE, DENSE, DENSE, POINTWISE, POINTWISE, WIDE, DEPTHWISE,
                     DEPTHWISE, GROUPED, DILATED, TRANSPOSED),
          state);
    return l;
}

static bool is_wanted(const layer *l, const cli_random_ranges *ranges)
{
    const double flop = flop_of(l);
    const int64_t reach = l->dilation * (l->window - 1) + 1;
    return l->c % l->groups == 0 && l->k % l->groups == 0 &&
           (l->transposed || (l->h + 2 * l->pad >= reach && l->w + 2 * l->pad >= reach)) &&
           extent(l, l->h) >= 1 && extent(l, l->w) >= 1 &&
           (double)l->k >= ranges->least[CLI_RANDOM_K] &&
           (double)l->k <= ranges->most[CLI_RANDOM_K] && flop >= ranges->least[CLI_RANDOM_FLOP] &&
           flop <= ranges->most[CLI_RANDOM_FLOP];
}

bool cli_random_problem(const cli_random_ranges *ranges, uint64_t *state, char text[CLI_PROBLEM],
                        cli_failure *failure)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        const layer l = draw_layer(ranges, state);
        const bool last = unit(state) < 0.5, act = unit(state) < 0.5;
        if (is_wanted(&l, ranges)) {
            snprintf(text, CLI_PROBLEM,
                     "%s n=%" PRId64 " c=%" PRId64 " h=%" PRId64 " w=%" PRId64 " k=%" PRId64
                     " r=%" PRId64 " s=%" PRId64 " pad=%" PRId64 " stride=%" PRId64
                     " dilation=%" PRId64 " groups=%" PRId64 " layout=%s bias=1%s",
                     l.transposed ? "convt" : "conv", l.n, l.c, l.h, l.w, l.k, l.window, l.window,
                     l.pad, l.stride, l.dilation, l.groups, last ? "nhwc" : "nchw",
                     act ? " act=relu" : "");
            return true;
        }
    }
    return cli_fail_usage(failure, "--range: no convolution was found in these ranges");
}
