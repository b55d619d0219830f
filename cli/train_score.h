/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and accuracy of single samples, by a model's outputs: what validation adds up. */
#ifndef CLI_TRAIN_SCORE_H
#define CLI_TRAIN_SCORE_H

#include "failure.h"

#include <rynd/rynd.h>
#include <stdbool.h>

#define CLI_LOSSES "cross_entropy|mse|l1|charbonnier|bce|detection"
enum {
    CLI_LOSS_CROSS_ENTROPY,
    CLI_LOSS_MSE,
    CLI_LOSS_L1,
    CLI_LOSS_CHARBONNIER,
    CLI_LOSS_BCE,
    CLI_LOSS_DETECTION
};

/* The name by its index in CLI_LOSSES. */
const char *cli_loss_name(int loss);

typedef struct cli_score_rule {
    int loss;
    double label_smoothing, epsilon;
    int64_t ignored; /* class whose positions do not count; -1: none */
} cli_score_rule;

typedef struct cli_score {
    double loss;  /* sum over samples of each one's mean */
    double right; /* sum over samples of the part whose largest output is its class */
    size_t samples;
    bool classes; /* `right` is counted */
    bool boxes;   /* `right` is samples * mAP instead */
    double map50; /* mAP of boxes at an overlap of 0.5 */
} cli_score;

/* Adds the samples i of a batch where own[i] (own NULL: all); output [N, ...] of f32, row-major.
 * The target is i64 classes [N, d...] of an output [N, C, d...], or f32 of the output's shape: for
 * cross-entropy shares of classes [N, C], of which the largest is the right one. */
void cli_score_add(cli_score *score, const cli_score_rule *rule, const rynd_tensor *output,
                   const rynd_tensor *target, const unsigned char *own);

#endif
