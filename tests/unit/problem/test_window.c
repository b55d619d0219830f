/* SPDX-License-Identifier: Apache-2.0 */
/* The description of windows against counting: taps, readers, extents, pads; and the gradients that
 * it states as forward and transposed convolutions against the definition. */
#include "kernel_case.h"
#include "problem/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static bool meets_inside(const ry_window_axis *w, int64_t o, int64_t r)
{
    const int64_t at = o * w->stride + r * w->dilation - w->pad;
    return at >= 0 && at < w->in;
}

static void check_taps(const ry_window_axis *w)
{
    for (int64_t o = 0; o < w->out; o++) {
        const ry_window_range inside = ry_window_taps(w, o), padded = ry_window_padded_taps(w, o);
        for (int64_t r = 0; r < w->taps; r++) {
            assert_int_equal(meets_inside(w, o, r), r >= inside.begin && r < inside.end);
            assert_int_equal(ry_window_at(w, o, r) < w->in + w->pad_end,
                             r >= padded.begin && r < padded.end);
        }
    }
}

/* Each pair of position and tap that meets an element is one of its readers, once; its phase has
 * the same without bounds. */
static void check_readers(const ry_window_axis *w)
{
    for (int64_t in = 0; in < w->in; in++) {
        const ry_window_readers readers = ry_window_readers_of(w, in),
                                phase = ry_window_phase(w, in);
        int64_t count = 0, unbounded = 0;
        for (int64_t r = 0; r < w->taps; r++) {
            const int64_t distance = in + w->pad - r * w->dilation, o = distance / w->stride;
            const bool met = distance % w->stride == 0;
            if (met) {
                assert_int_equal(r, phase.tap + unbounded * phase.tap_step);
                assert_int_equal(o, phase.out + unbounded++ * phase.out_step);
            }
            if (met && distance >= 0 && o < w->out) {
                assert_int_equal(r, readers.tap + count * readers.tap_step);
                assert_int_equal(o, readers.out + count++ * readers.out_step);
            }
        }
        assert_int_equal(count, readers.count);
        assert_int_equal(unbounded, phase.count);
    }
}

/* Counts positions one by one. Windows of the backward directions have the extents of the computed
 * gradient. */
static void check_extents(const ry_window_axis *w)
{
    int64_t fit = 0;
    while (fit * w->stride + ry_window_field(w) <= w->pad + w->in + w->pad_end) {
        fit++;
    }
    ry_window window = {.rank = 1, .axis = {*w}};
    assert_int_equal(ry_window_extent(&window, 0), fit > 0 ? fit : -1);
    if (fit == 0) {
        return;
    }
    const ry_window gradient = ry_window_data_gradient(&window);
    assert_int_equal(gradient.direction, RY_direction_bwd_data);
    assert_int_equal(ry_window_extent(&gradient, 0), w->in);
    assert_in_range(gradient.axis[0].output_padding, 0, w->stride - 1);
    window.direction = RY_direction_bwd_weights;
    assert_int_equal(ry_window_extent(&window, 0), w->taps);
    const ry_window_axis exchanged = ry_window_exchange(w);
    assert_int_equal(ry_window_positions(&exchanged, false), exchanged.out);
    for (int64_t o = 0; o < w->out; o++) {
        for (int64_t r = 0; r < w->taps; r++) {
            assert_int_equal(ry_window_at(&exchanged, r, o), ry_window_at(w, o, r));
        }
    }
}

/* Output o of the mirrored window takes by tap r what position o of the transposed convolution gets
 * by the last tap but r. */
static void check_mirror(const ry_window_axis *w)
{
    const ry_window window = {.rank = 1, .axis = {*w}};
    const ry_window_axis gradient = ry_window_data_gradient(&window).axis[0],
                         mirror = ry_window_mirror(&gradient);
    assert_int_equal(ry_window_positions(&mirror, false), w->in);
    for (int64_t in = 0; in < w->in; in++) {
        const ry_window_range taps = ry_window_taps(&mirror, in);
        const ry_window_readers readers = ry_window_readers_of(&gradient, in);
        assert_int_equal(taps.end - taps.begin, readers.count);
        for (int64_t j = 0; j < readers.count; j++) {
            assert_int_equal(
                ry_window_at(&mirror, in, w->taps - 1 - readers.tap - j * readers.tap_step),
                readers.out + j * readers.out_step);
        }
    }
}

static void formulas(void **state)
{
    (void)state;
    for (int n = 0; n < 4 * 4 * 4 * 3 * 4 * 5; n++) {
        ry_window_axis w = {.in = 1 + n % 4 * 3,
                            .taps = 1 + n / 4 % 4,
                            .stride = 1 + n / 16 % 4,
                            .dilation = 1 + n / 64 % 3};
        w.pad = n / 192 % 4 - 1;
        w.pad_end = n / 768 % 5 - 1;
        w.out = ry_max(ry_window_positions(&w, false), 0);
        check_taps(&w);
        check_readers(&w);
        check_extents(&w);
        if (w.stride == 1 && w.out > 0) {
            check_mirror(&w);
        }
    }
}

/* The specification of MaxPool, as ONNX's shape inference has it: ceil((in + pads - reach) /
 * stride) + 1, less a last one in the end's pads. */
static void ceil_mode(void **state)
{
    (void)state;
    for (int n = 0; n < 8 * 4 * 4 * 3 * 3; n++) {
        ry_window_axis w = {
            .in = 4 + n % 8, .taps = 1 + n / 8 % 4, .stride = 1 + n / 32 % 4, .dilation = 1};
        w.pad = ry_min(n / 128 % 3, w.taps - 1);
        w.pad_end = ry_min(n / 384, w.taps - 1);
        int64_t positions = 1;
        while ((positions - 1) * w.stride + w.taps < w.in + w.pad + w.pad_end) {
            positions++;
        }
        positions -= positions > 1 && (positions - 1) * w.stride >= w.in + w.pad;
        assert_int_equal(ry_window_positions(&w, true), positions);
    }
}

static void automatic_pads(void **state)
{
    (void)state;
    for (int n = 0; n < 12 * 5 * 4 * 3; n++) {
        const ry_window_axis w = {.in = n % 12,
                                  .taps = 1 + n / 12 % 5,
                                  .stride = 1 + n / 60 % 4,
                                  .dilation = 1 + n / 240};
        ry_window upper = {.rank = 1, .axis = {w}}, lower = upper;
        ry_window_pad(&upper.axis[0], RY_auto_pad_same_upper);
        ry_window_pad(&lower.axis[0], RY_auto_pad_same_lower);
        assert_int_equal(ry_window_extent(&upper, 0), ry_ceil_div(w.in, w.stride));
        assert_int_equal(ry_window_extent(&lower, 0), ry_ceil_div(w.in, w.stride));
        assert_int_equal(upper.axis[0].pad, lower.axis[0].pad_end);
        assert_in_range(upper.axis[0].pad_end - upper.axis[0].pad, 0, 1);
        ry_window_pad(&lower.axis[0], RY_auto_pad_valid);
        assert_int_equal(lower.axis[0].pad + lower.axis[0].pad_end, 0);
    }
}

/* A forward convolution of two spatial dims, of `groups` groups. */
typedef struct forward_conv {
    ry_window window;
    int64_t batch, in_channels, out_channels, groups; /* channels: of a group */
} forward_conv;

enum { RANDOM_WINDOWS = 60, MAX_ELEMENTS = 4096 };

static int64_t below(uint64_t *seed, int64_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*seed >> 33) % most;
}

static forward_conv random_conv(uint64_t *seed)
{
    forward_conv c = {.window = {.rank = 2},
                      1 + below(seed, 2),
                      1 + below(seed, 2),
                      1 + below(seed, 3),
                      1 + below(seed, 2)};
    for (int i = 0; i < 2; i++) {
        ry_window_axis *w = &c.window.axis[i];
        do {
            *w = (ry_window_axis){
                .in = 1 + below(seed, 9), .taps = 1 + below(seed, 4), .stride = 1 + below(seed, 4)};
            w->dilation = 1 + below(seed, 3);
            w->pad = below(seed, 4);
            w->pad_end = below(seed, 4);
            w->out = ry_window_positions(w, false);
        } while (w->out < 1);
    }
    return c;
}

static void shape_text(char *text, int64_t n, int64_t c, int64_t h, int64_t w)
{
    snprintf(text, 64, "%lldx%lldx%lldx%lld", (long long)n, (long long)c, (long long)h,
             (long long)w);
}

static void set_lists(const ry_window *w, ry_ints *stride, ry_ints *dilation, ry_ints *pads,
                      ry_ints *output_padding)
{
    const ry_window_axis *a = w->axis;
    *stride = (ry_ints){2, {a[0].stride, a[1].stride}};
    *dilation = (ry_ints){2, {a[0].dilation, a[1].dilation}};
    *pads = (ry_ints){4, {a[0].pad, a[1].pad, a[0].pad_end, a[1].pad_end}};
    if (output_padding) {
        *output_padding = (ry_ints){2, {a[0].output_padding, a[1].output_padding}};
    }
}

/* Every product of the forward convolution, once: where its factors are in x, weights and y, all
 * row-major. */
typedef struct product {
    int64_t x, weight, y;
} product;

static int64_t products_of(const forward_conv *c, product *list)
{
    const ry_window_axis *h = &c->window.axis[0], *w = &c->window.axis[1];
    const int64_t channels = c->groups * c->in_channels, outputs = c->groups * c->out_channels;
    const int64_t dim[8] = {c->batch, c->groups, c->out_channels, c->in_channels,
                            h->out,   w->out,    h->taps,         w->taps};
    int64_t at[8] = {0}, count = 0;
    do {
        const int64_t row = at[4] * h->stride + at[6] * h->dilation - h->pad,
                      column = at[5] * w->stride + at[7] * w->dilation - w->pad;
        if (row >= 0 && row < h->in && column >= 0 && column < w->in) {
            const int64_t k = at[1] * c->out_channels + at[2],
                          channel = at[1] * c->in_channels + at[3];
            list[count++] =
                (product){((at[0] * channels + channel) * h->in + row) * w->in + column,
                          ((k * c->in_channels + at[3]) * h->taps + at[6]) * w->taps + at[7],
                          ((at[0] * outputs + k) * h->out + at[4]) * w->out + at[5]};
        }
    } while (ry_index_next(8, dim, at));
    return count;
}

static double element(const ry_tensor *t, int64_t i)
{
    return ry_get_f64(RY_f64, t->data, i);
}

/* The transposed convolution of y's gradient by the same weights has the shape of x, and is the
 * gradient of x by its definition. */
static void check_data_gradient(const forward_conv *c, const product *list, int64_t count,
                                uint64_t seed)
{
    const ry_window gradient = ry_window_data_gradient(&c->window);
    const ry_window_axis *h = &gradient.axis[0], *w = &gradient.axis[1];
    char dy[64], weights[64], dx[64];
    shape_text(dy, c->batch, c->groups * c->out_channels, h->out, w->out);
    shape_text(weights, c->groups * c->out_channels, c->in_channels, h->taps, w->taps);
    shape_text(dx, c->batch, c->groups * c->in_channels, ry_window_extent(&gradient, 0),
               ry_window_extent(&gradient, 1));
    assert_int_equal(ry_window_extent(&gradient, 0), c->window.axis[0].in);
    assert_int_equal(ry_window_extent(&gradient, 1), c->window.axis[1].in);
    kernel_case run;
    kernel_case_begin(&run, RY_OP_convt);
    run.attrs.convt.groups = c->groups;
    set_lists(&gradient, &run.attrs.convt.stride, &run.attrs.convt.dilation, &run.attrs.convt.pads,
              &run.attrs.convt.output_padding);
    kernel_case_random(&run, RY_f64, dy, seed);
    kernel_case_random(&run, RY_f64, weights, seed + 1);
    kernel_case_output(&run, RY_f64, dx);
    double expected[MAX_ELEMENTS] = {0};
    for (int64_t i = 0; i < count; i++) {
        expected[list[i].x] += element(&run.in[0], list[i].y) * element(&run.in[1], list[i].weight);
    }
    kernel_case_run(&run, ry_kernel_find("convt_ref"), CASE_NCHW);
    kernel_case_expect(&run, 0, expected, ry_tensor_count(&run.out[0]), 1e-13);
    kernel_case_end(&run);
}

/* dw of one channel and output channel: the forward convolution of x by y's gradient, whose window
 * is the exchanged one. */
static void check_weight_gradient(const forward_conv *c, const product *list, int64_t count,
                                  uint64_t seed)
{
    ry_window gradient = {
        .rank = 2,
        .axis = {ry_window_exchange(&c->window.axis[0]), ry_window_exchange(&c->window.axis[1])}};
    const ry_window_axis *h = &gradient.axis[0], *w = &gradient.axis[1];
    char x[64], dy[64], dw[64];
    shape_text(x, 1, 1, h->in, w->in);
    shape_text(dy, 1, 1, h->taps, w->taps);
    shape_text(dw, 1, 1, ry_window_extent(&gradient, 0), ry_window_extent(&gradient, 1));
    kernel_case run;
    kernel_case_begin(&run, RY_OP_conv);
    set_lists(&gradient, &run.attrs.conv.stride, &run.attrs.conv.dilation, &run.attrs.conv.pads,
              NULL);
    kernel_case_random(&run, RY_f64, x, seed);
    kernel_case_random(&run, RY_f64, dy, seed + 1);
    kernel_case_output(&run, RY_f64, dw);
    double expected[MAX_ELEMENTS] = {0};
    for (int64_t i = 0; i < count; i++) {
        expected[list[i].weight] += element(&run.in[0], list[i].x) * element(&run.in[1], list[i].y);
    }
    kernel_case_run(&run, ry_kernel_find("conv_ref"), CASE_NCHW);
    kernel_case_expect(&run, 0, expected, ry_tensor_count(&run.out[0]), 1e-13);
    kernel_case_end(&run);
}

static void gradients_of_random_windows(void **state)
{
    (void)state;
    static product list[1 << 17];
    uint64_t seed = 20;
    for (int n = 0; n < RANDOM_WINDOWS; n++) {
        forward_conv c = random_conv(&seed);
        check_data_gradient(&c, list, products_of(&c, list), seed);
        c.batch = c.groups = c.in_channels = c.out_channels = 1;
        check_weight_gradient(&c, list, products_of(&c, list), seed);
    }
}

/* The window of a problem's text, in each direction: `in` is what x is, whichever operand that may
 * be. */
static void windows_of_problems(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_direction direction;
        int64_t in, out, taps, output_padding;
    } cases[] = {
        {"conv c=3 h=9 w=8 k=4 r=3 s=2 pad=1,0 stride=2", RY_direction_fwd, 8, 4, 2, 0},
        {"conv c=3 h=9 w=8 k=4 r=3 s=2 pad=1,0 stride=2 dir=bwd_data", RY_direction_bwd_data, 8, 4,
         2, 0},
        {"conv c=3 h=9 w=8 k=4 r=3 s=2 pad=1,0 stride=2 dir=bwd_weights", RY_direction_bwd_weights,
         8, 4, 2, 0},
        {"convt c=3 h=9 w=8 k=4 r=3 s=2 stride=3 opad=1", RY_direction_bwd_data, 24, 8, 2, 1},
        {"pool x0=1x2x9x8:f32 y0=1x2x4x3:f32 kernel=2,3 stride=2,2", RY_direction_fwd, 8, 3, 3, 0},
        {"max_unpool x0=1x2x4x3:f32 x1=1x2x4x3:i64 y0=1x2x8x6:f32 kernel=2,2 stride=2,2",
         RY_direction_bwd_data, 6, 3, 2, 0},
        {"col2im x0=1x4x6:f32 x1=2:i64 x2=2:i64 y0=1x1x3x4:f32 image=3,4 block=2,2",
         RY_direction_bwd_data, 4, 3, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ry_arena arena;
        ry_problem problem;
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_problem_parse(cases[i].text, &arena, &problem, NULL), RYND_OK);
        const ry_window w = ry_window_of(&problem);
        const ry_window_axis *axis = &w.axis[1];
        assert_int_equal(w.rank, 2);
        assert_int_equal(w.direction, cases[i].direction);
        assert_int_equal(axis->in, cases[i].in);
        assert_int_equal(axis->out, cases[i].out);
        assert_int_equal(axis->taps, cases[i].taps);
        assert_int_equal(axis->output_padding, cases[i].output_padding);
        ry_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas), cmocka_unit_test(ceil_mode), cmocka_unit_test(automatic_pads),
        cmocka_unit_test(gradients_of_random_windows), cmocka_unit_test(windows_of_problems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
