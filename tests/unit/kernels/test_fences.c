/* SPDX-License-Identifier: Apache-2.0 */
/* No cliff at a limit of problem/limits.inc: a problem at either side of each is planned without a
 * reference, and its predicted time for a unit of work is within EXCESS of the other's. A limit that
 * says "the reference" is a fence: its far side is planned with one. Predictions are for one built-in
 * machine, so that the bounds below do not depend on the machine that runs the test: they are Zen 5's.
 * FENCES_MACHINE names another one ("Zen 4"), FENCES_PRINT prints all rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rynd/rynd.h>

#include "machine/machine_file.h"
#include "problem/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2 };

static const double EXCESS = 1.5;

typedef struct fence {
    const char *limit;
    const char *at, *beyond; /* problems: the limit is reached, and exceeded by little */
    unsigned constants;
    double known; /* a larger excess that is known; 0: EXCESS holds */
} fence;

#define TINY_ROIS "x1=2x4:f32 x2=2:i64"

static const fence fences[] = {
    {"STRIDED_PHASES", "convt c=64 h=14 w=14 k=64 r=8 s=8 stride=8",
     "convt c=64 h=14 w=14 k=64 r=9 s=8 stride=9,8", 6, 0},
    {"STRIDED_PHASES", "convt c=64 w=196 k=64 s=64 stride=64",
     "convt c=64 w=196 k=64 s=65 stride=65", 6, 0},
    {"STRIDED_PHASES", "conv n=8 c=3 h=224 w=224 k=96 r=8 s=8 stride=8 dir=bwd_weights",
     "conv n=8 c=3 h=225 w=224 k=96 r=9 s=8 stride=9,8 dir=bwd_weights", 0,
     /* the copy into blocks */ 2.5},
    {"STRIDED_ELEMENTS", "convt c=4 w=3 k=4 s=20000 stride=20000 pad=29000",
     "convt c=4 w=3 k=4 s=30000 stride=30000 pad=44000", 6, /* sums of two taps in tiles */ 4},
    {"STRIDED_SPREAD", "convt c=4 w=3 k=4 s=30000 stride=30000 pad=42000",
     "convt c=4 w=3 k=4 s=30000 stride=30000 pad=44000", 6, /* the same */ 4},
    {"CONV_TAPS", "conv c=1 w=1048576 k=1 s=524288", "conv c=1 w=1048576 k=1 s=524289", 6,
     /* one channel fills no tile */ 4},
    {"STAGED_OUT", "conv c=3 h=56 w=56 k=64 r=3 s=3 pad=1", "conv c=3 h=56 w=56 k=65 r=3 s=3 pad=1",
     6, 0},
    {"STAGED_TRANSPOSED_OUT", "convt c=4 h=56 w=56 k=16 r=4 s=4 stride=2 pad=1",
     "convt c=4 h=56 w=56 k=17 r=4 s=4 stride=2 pad=1", 6, 0},
    {"STAGED_IN", "conv c=8 h=56 w=56 k=32 r=3 s=3 pad=1", "conv c=9 h=56 w=56 k=32 r=3 s=3 pad=1",
     6, 0},
    {"STAGED_GROUP_IN", "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 groups=4",
     "conv c=68 h=56 w=56 k=64 r=3 s=3 pad=1 groups=4", 6, 0},
    {"STAGED_DEPTH", "conv c=8 h=56 w=56 k=16 r=8 s=16", "conv c=8 h=56 w=56 k=16 r=8 s=17", 6, 0},
    {"STAGED_STRIDE", "conv c=3 h=224 w=224 k=32 r=7 s=7 stride=4",
     "conv c=3 h=224 w=280 k=32 r=7 s=7 stride=4,5", 6, 0},
    {"STAGED_PHASES", "convt c=8 h=28 w=28 k=3 r=8 s=8 stride=4",
     "convt c=8 h=28 w=28 k=3 r=8 s=10 stride=4,5", 6, /* a table of phases */ 2.6},
    {"STAGED_DEPTHS", "conv c=2 d=32 h=16 w=16 k=8 t=16 r=3 s=3",
     "conv c=2 d=33 h=16 w=16 k=8 t=17 r=3 s=3", 6, /* a table of slices */ 1.8},
    {"IMAGES_ELEMENTS", "conv n=256 c=8 h=32 w=32 k=8 r=3 s=3 pad=1",
     "conv n=256 c=8 h=33 w=32 k=8 r=3 s=3 pad=1", 6, 0},
    {"IMAGES_STEPS", "conv n=256 c=1 h=32 w=32 k=2 r=8 s=8 pad=4,4,3,3",
     "conv n=256 c=1 h=32 w=32 k=2 r=8 s=9 pad=4,4,3,4", 6, 0},
    {"KN2ROW_OUT", "conv c=64 h=28 w=28 k=64 r=5 s=5 pad=2",
     "conv c=64 h=28 w=28 k=65 r=5 s=5 pad=2", 6, 0},
    {"KN2ROW_PRODUCTS", "conv c=16 h=256 w=256 k=10 r=5 s=5 pad=2",
     "conv c=16 h=256 w=264 k=10 r=5 s=5 pad=2", 6, 0},
    {"DEPTHWISE_REACH", "conv c=32 h=8 w=640 k=32 r=1 s=4 dilation=1,64 groups=32",
     "conv c=32 h=8 w=640 k=32 r=1 s=4 dilation=1,65 groups=32", 6, /* masks beside x */ 2},
    {"DEPTHWISE_SLICES", "conv c=4 d=4096 h=8 w=8 k=4 t=1 r=3 s=3 pad=0,1,1 groups=4",
     "conv c=4 d=4097 h=8 w=8 k=4 t=1 r=3 s=3 pad=0,1,1 groups=4", 6,
     /* planning walks slices */ 3.2},
    {"DEPTHWISE_BESIDE", "conv c=16 w=8192 k=16 s=3 pad=4096 groups=16",
     "conv c=16 w=8192 k=16 s=3 pad=4097 groups=16", 6, 0},
    {"DEPTHWISE_TAPS", "conv c=32 h=64 w=64 k=32 r=32 s=32 groups=32 layout=nhwc",
     "conv c=32 h=64 w=64 k=32 r=32 s=33 groups=32 layout=nhwc", 6, 0},
    {"WGRAD_PAIRS", "conv n=4 c=8 h=56 w=56 k=8 r=3 s=3 pad=1 dir=bwd_weights",
     "conv n=4 c=8 h=56 w=56 k=9 r=3 s=3 pad=1 dir=bwd_weights", 0, 0},
    {"WGRAD_RESIDUES", "conv n=4 c=1 h=128 w=128 k=8 r=8 s=8 stride=8 dir=bwd_weights",
     "conv n=4 c=1 h=144 w=128 k=8 r=9 s=8 stride=9,8 dir=bwd_weights", 0,
     /* without vectors the direct form is slow */ 2.2},
    {"WGRAD_FRAME", "conv n=1 c=1 w=2090000 k=1 s=3 dir=bwd_weights",
     "conv n=1 c=1 w=2100000 k=1 s=3 dir=bwd_weights", 0, /* a frame is in memory at once */ 25},
    {"POOL_WIDTH", "pool x0=1x1x8400001:u8 y0=1x1x8400000:u8 kernel=2",
     "pool x0=1x1x16777217:u8 y0=1x1x16777216:u8 kernel=2", 0, 0},
    {"GEMV_ROWS", "matmul x0=32x512:f32 x1=512x512:f32 y0=32x512:f32",
     "matmul x0=33x512:f32 x1=512x512:f32 y0=33x512:f32", 0, 0},
    {"RESIZE_WEIGHTS", "resize x0=1x1x262144:f32 y0=1x1x524288:f32 mode=linear scales=1,1,2",
     "resize x0=1x1x524289:f32 y0=1x1x1048578:f32 mode=linear scales=1,1,2", 0,
     /* each run finds positions and weights: 84 measured */ 100},
    {"RECURRENT_TURNS",
     "recurrent x0=8192x1x32:f32 x1=1x1280x32:f32 x2=1x1280x1280:f32 y0=8192x1x1x1280:f32 kind=rnn",
     "recurrent x0=8193x1x32:f32 x1=1x1280x32:f32 x2=1x1280x1280:f32 y0=8193x1x1x1280:f32 kind=rnn",
     6, /* starts of a step a turn */ 2.6},
    {"RECURRENT_STATE",
     "recurrent x0=8x1x512:f32 x1=1x2048x512:f32 x2=1x2048x512:f32 y0=8x1x1x512:f32",
     "recurrent x0=8x1x513:f32 x1=1x2052x513:f32 x2=1x2052x513:f32 y0=8x1x1x513:f32", 6,
     /* the weights of each turn are predicted to come from memory again */ 2.6},
    {"RESIZE_LENGTH",
     "resize x0=1x1x2147483647:u8 y0=1x1x1024:u8 mode=nearest scales=1,1,4.7683716e-07",
     "resize x0=1x1x2147483648:u8 y0=1x1x1024:u8 mode=nearest scales=1,1,4.7683716e-07", 0, 0},
    {"SAMPLE_PIXELS", "grid_sample x0=1x1x46340x46340:f32 x1=1x4x4x2:f32 y0=1x1x4x4:f32",
     "grid_sample x0=1x1x46341x46341:f32 x1=1x4x4x2:f32 y0=1x1x4x4:f32", 0, 0},
    {"ROI_ALIGN_BINS",
     "roi_align x0=1x2x8x8:f32 " TINY_ROIS " y0=2x2x1x1024:f32 output_width=1024 sampling_ratio=1",
     "roi_align x0=1x2x8x8:f32 " TINY_ROIS " y0=2x2x1x1025:f32 output_width=1025 sampling_ratio=1",
     0, 0},
};

static const ry_limit *find_limit(const char *name)
{
    for (size_t i = 0; i < ry_limit_count; i++) {
        if (strcmp(ry_limits[i].name, name) == 0) {
            return &ry_limits[i];
        }
    }
    fail_msg("no limit %s", name);
    return NULL;
}

typedef struct side {
    double seconds, work;
    bool reference;
    char kernel[256];
} side;

static side look(rynd_context *context, const char *problem, unsigned constants)
{
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .constants = constants);
    rynd_op *op = NULL;
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    rynd_prediction time = RYND_SIZED(rynd_prediction);
    if (rynd_op_create(context, problem, &options, &op) != RYND_OK) {
        fail_msg("%s: %s", problem, rynd_last_error());
    }
    assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
    assert_int_equal(rynd_op_predict(op, &time), RYND_OK);
    side s = {time.median, info.flop > 0 ? info.flop : info.bytes, info.reference != 0, ""};
    snprintf(s.kernel, sizeof s.kernel, "%s", info.kernel);
    rynd_op_destroy(op);
    return s;
}

/* As `rynd sweep` counts it. */
static double excess(const side *a, const side *b)
{
    const double time = b->seconds / a->seconds, work = b->work / a->work;
    return fmax(time, 1 / time) / fmax(1, time > 1 ? work : 1 / work);
}

static bool check(rynd_context *context, const fence *f)
{
    const ry_limit *limit = find_limit(f->limit);
    const bool fenced = strncmp(limit->beyond, "the reference", 13) == 0;
    const side at = look(context, f->at, f->constants),
               beyond = look(context, f->beyond, f->constants);
    const double e = excess(&at, &beyond);
    const bool good =
        !at.reference && beyond.reference == fenced && (fenced || e <= fmax(EXCESS, f->known));
    if (!good || getenv("FENCES_PRINT")) {
        print_error("%s %s (%lld): E %.2f\n  %s: %s, %.3g us\n  %s: %s, %.3g us\n",
                    good ? "good" : "FENCE", f->limit, (long long)limit->value, e, f->at, at.kernel,
                    at.seconds * 1e6, f->beyond, beyond.kernel, beyond.seconds * 1e6);
    }
    return good;
}

/* Writes a built-in machine to a file, and reads it from there, as a user would. */
static rynd_context *create_context(const char *architecture, ry_isa isa)
{
    char file[] = "/tmp/rynd_fences_XXXXXX";
    ry_machine machine;
    ry_error error;
    rynd_context *context = NULL;
    const int handle = mkstemp(file);
    assert_true(handle >= 0);
    close(handle);
    ry_machine_reference(architecture, isa, &machine);
    memset(machine.kind, 0, sizeof machine.kind); /* as in every built-in machine */
    machine.cores = THREADS;
    if (ry_machine_write(&machine, file, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = THREADS, .wisdom = "off", .machine = file);
    if (rynd_context_create(&options, &context) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    remove(file);
    return context;
}

static void no_limit_is_a_cliff(void **state)
{
    (void)state;
    const char *other = getenv("FENCES_MACHINE");
    rynd_context *context = create_context(other ? other : "Zen 5", RY_ISA_avx512);
    int wrong = 0;
    for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
        wrong += !check(context, &fences[i]);
    }
    rynd_context_destroy(context);
    assert_int_equal(wrong, 0);
}

static void each_limit_has_a_problem(void **state)
{
    (void)state;
    for (size_t l = 0; l < ry_limit_count; l++) {
        bool found = false;
        for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
            found = found || strcmp(fences[i].limit, ry_limits[l].name) == 0;
        }
        if (!found) {
            fail_msg("limit %s has no problem at either side", ry_limits[l].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limit_is_a_cliff),
        cmocka_unit_test(each_limit_has_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
