/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a training set made other ones, at random: parts, places, mirrored, other colours.
 * What is done to a picture is a function of seed, epoch and sample alone. */
#ifndef CLI_TRAIN_AUGMENT_H
#define CLI_TRAIN_AUGMENT_H

#include "options.h"
#include "rand_augment.h"
#include "train_data.h"

typedef struct cli_augment {
    double area; /* the smallest part of a picture's area; 0: not given */
    int64_t pad; /* pixels of zeros around the picture before the crop; -1: not given */
    bool flip;   /* flip horizontally with probability 1/2 */
    bool turn;   /* turn by 0 to 3 quarters; pictures must be square */
    double
        jitter; /* random factors of brightness, contrast and saturation: 1 - jitter to 1 + jitter */
    int64_t changes, magnitude; /* RandAugment: operations a picture, and how much each does */
    double erase;               /* probability that a part is erased */
    double mixup;               /* the parameter of Beta; 0: pictures are not mixed */
} cli_augment;

enum { CLI_MOST_CHANGES = 4 };

#define CLI_AUGMENT_DEFAULTS      \
    {                             \
        .pad = -1, .magnitude = 9 \
    }

/* The rows of an option table; `at` is the offset of the cli_augment in the settings. */
/* clang-format off */
#define CLI_AUGMENT_OPTIONS(at)                                                                  \
    {"random-area", 0, CLI_NUMBER, "A", NULL, 0.01, 1, (at) + offsetof(cli_augment, area),       \
     "augmentation: crop a random part of A to 1 of a picture's area, with sides of ratio 3/4 to "\
     "4/3, and resize it; instead of --size and --crop"},                                        \
    {"random-crop", 0, CLI_INTEGER, "PAD", NULL, 0, 1024, (at) + offsetof(cli_augment, pad),     \
     "augmentation: pad each side by PAD zeros, then crop at a random position"},                \
    {"flip", 0, CLI_FLAG, NULL, NULL, 0, 0, (at) + offsetof(cli_augment, flip),                  \
     "augmentation: flip horizontally at random (probability 1/2)"},                             \
    {"turn", 0, CLI_FLAG, NULL, NULL, 0, 0, (at) + offsetof(cli_augment, turn),                  \
     "augmentation: turn by 0, 90, 180 or 270 degrees at random; pictures must be square"},      \
    {"jitter", 0, CLI_NUMBER, "J", NULL, 0, 1, (at) + offsetof(cli_augment, jitter),             \
     "augmentation: multiply brightness, contrast and saturation by random factors of 1-J to 1+J"},\
    {"rand-augment", 0, CLI_INTEGER, "N", NULL, 1, CLI_MOST_CHANGES,                             \
     (at) + offsetof(cli_augment, changes),                                                      \
     "augmentation: apply N random operations of RandAugment to each picture (usually 2)"},      \
    {"magnitude", 0, CLI_INTEGER, "M", NULL, 0, CLI_RAND_AUGMENT_MAGNITUDES,                     \
     (at) + offsetof(cli_augment, magnitude),                                                    \
     "how much each operation of --rand-augment changes: 0 to 30 (default 9)"},                  \
    {"erase", 0, CLI_NUMBER, "P", NULL, 0, 1, (at) + offsetof(cli_augment, erase),               \
     "augmentation: erase a random part of 2% to 33% of a picture with probability P"},          \
    {"mixup", 0, CLI_NUMBER, "A", NULL, 0.01, 1, (at) + offsetof(cli_augment, mixup),            \
     "augmentation: mix each picture and its class with another of the batch, in shares drawn "  \
     "from Beta(A, A) for each batch (often 0.2)"}
/* clang-format on */

/* Whose numbers. */
typedef struct cli_draw {
    uint64_t seed;
    uint32_t epoch;
    size_t sample;
} cli_draw;

/* Streams of random numbers (rynd/random.h) that training takes for itself; those of
 * dropouts begin at 0x64726f70 (rynd/train.h). */
enum { CLI_STREAM_ORDER = 0x7f000000, CLI_STREAM_AUGMENT, CLI_STREAM_PLACES, CLI_STREAM_MIXUP };

/* Augments a picture to the size `to`: random area or padded crop, then flip, turn, colours,
 * RandAugment, and the erased part.
 * Without area and pad the picture must have this size already. */
bool cli_augment_picture(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                         cli_image *image, const char *name, cli_failure *failure);

/* Gives a map of classes the place, flip and turn of its picture; colours stay. */
bool cli_augment_mask(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                      cli_image *mask, const char *name, cli_failure *failure);

/* Random area, flip, colours and erased part of a picture with boxes, which move with it. A box of
 * which less than a quarter of the area stays is dropped. */
void cli_augment_boxes(const cli_augment *augment, const cli_draw *draw, cli_sample *sample);

/* Crops a pair: a part of the small picture of this size at a random position (draw NULL: the
 * centre), and the same part of the large one. Flips and turns both alike. */
bool cli_augment_pair(const cli_augment *augment, const cli_draw *draw, cli_extent to,
                      cli_sample *sample, const char *name, cli_failure *failure);

#endif
