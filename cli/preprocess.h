/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a picture before it is a model's input: size, crop, channels, order, scale, mean,
 * standard deviation, in this order. */
#ifndef CLI_PREPROCESS_H
#define CLI_PREPROCESS_H

#include "image.h"
#include "options.h"

typedef struct cli_preprocess {
    int preset;      /* 1 + index into the presets; 0: none */
    cli_extent size; /* height 0: the width is that of the shorter side; width 0: not given */
    cli_extent crop; /* height 0: a square; width 0: not given */
    int order;       /* 0 not given, 1 rgb, 2 bgr */
    double scale;    /* 0: not given */
    cli_channels mean, std;
} cli_preprocess;

#define CLI_ORDER_BGR 2

/* The rows of an option table; `at` is the offset of the cli_preprocess in the settings. */
/* clang-format off */
#define CLI_PREPROCESS_OPTIONS(at)                                                               \
    CLI_TITLE("pictures"), \
    {"preset", 0, CLI_CHOICE, "NAME", "imagenet", 0, 0, (at) + offsetof(cli_preprocess, preset), \
     "usual preparation of pictures; single options override its parts"},                        \
    {"size", 0, CLI_EXTENT, "HxW|N", NULL, 0, 0, (at) + offsetof(cli_preprocess, size),          \
     "resize pictures to height x width, or the shorter side to N pixels"},                      \
    {"crop", 0, CLI_EXTENT, "HxW|N", NULL, 0, 0, (at) + offsetof(cli_preprocess, crop),          \
     "then crop the centre: height x width, or a square of N pixels"},                           \
    {"channels", 0, CLI_CHOICE, "ORDER", "rgb|bgr", 0, 0, (at) + offsetof(cli_preprocess, order),\
     "order of colours in tensors (default rgb)"},                                               \
    {"scale", 0, CLI_NUMBER, "S", NULL, 1e-9, 1e9, (at) + offsetof(cli_preprocess, scale),       \
     "then multiply pixels, which are 0 to 255, by S (default 1; often 1/255)"},                 \
    {"mean", 0, CLI_CHANNELS, "M[,M,M]", NULL, -1e9, 1e9, (at) + offsetof(cli_preprocess, mean), \
     "then subtract M: one number, or one per channel in the tensor's order"},                   \
    {"std", 0, CLI_CHANNELS, "D[,D,D]", NULL, 1e-9, 1e9, (at) + offsetof(cli_preprocess, std),   \
     "then divide by D: one number, or one per channel"}
/* clang-format on */

/* Is nothing given? */
bool cli_preprocess_is_empty(const cli_preprocess *preprocess);
/* Does an option say something about values? */
bool cli_preprocess_has_values(const cli_preprocess *preprocess);
/* Fills what is not given from the preset, then with defaults. */
void cli_preprocess_settle(cli_preprocess *preprocess);
/* channels: 1 or 3, what the input takes. What was done is added to `did` as text ("resized to
 * 256x341, ..."). */
bool cli_preprocess_apply(const cli_preprocess *preprocess, cli_image *image, int channels,
                          const char *file, char *did, size_t did_size, cli_failure *failure);
/* Its two halves: size and crop; channels, scale, mean and deviation. */
bool cli_preprocess_place(const cli_preprocess *preprocess, cli_image *image, const char *file,
                          char *did, size_t did_size, cli_failure *failure);
bool cli_preprocess_values(const cli_preprocess *preprocess, cli_image *image, int channels,
                           char *did, size_t did_size, cli_failure *failure);

#endif
