/* SPDX-License-Identifier: Apache-2.0 */
/* The losses as the trainer has them (docs/training.md), in double precision and a fixed order. */
#include "train_score.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static double squared(double output, double target, double epsilon)
{
    (void)epsilon;
    return (output - target) * (output - target);
}

static double absolute(double output, double target, double epsilon)
{
    (void)epsilon;
    return fabs(output - target);
}

static double charbonnier(double output, double target, double epsilon)
{
    return sqrt((output - target) * (output - target) + epsilon * epsilon);
}

/* Binary cross-entropy of a logit: log(1 + exp(x)) - x * target, without overflow. */
static double binary(double output, double target, double epsilon)
{
    (void)epsilon;
    return fmax(output, 0) + log1p(exp(-fabs(output))) - output * target;
}

/* In the order of CLI_LOSSES. */
static const struct {
    const char *name;
    double (*of)(double output, double target,
                 double epsilon); /* loss of an element; NULL: of classes */
} losses[] = {
    {"cross_entropy", NULL},      {"mse", squared}, {"l1", absolute},
    {"charbonnier", charbonnier}, {"bce", binary},  {"detection", NULL}, /* train_boxes.c */
};

const char *cli_loss_name(int loss)
{
    return losses[loss].name;
}

/* One position: C outputs with a stride, and the right class. */
typedef struct place {
    const float *outputs;
    size_t classes, distance;
    int64_t label;
} place;

static double cross_entropy(const place *p, double smoothing, bool *right)
{
    double largest = -INFINITY, sum = 0, all = 0;
    size_t best = 0;
    for (size_t c = 0; c < p->classes; c++) {
        const double value = (double)p->outputs[c * p->distance];
        all += value;
        if (value > largest) {
            largest = value;
            best = c;
        }
    }
    for (size_t c = 0; c < p->classes; c++) {
        sum += exp((double)p->outputs[c * p->distance] - largest);
    }
    const double norm = largest + log(sum);
    const bool known = p->label >= 0 && (size_t)p->label < p->classes;
    *right = known && best == (size_t)p->label;
    return known ? (1 - smoothing) * (norm - (double)p->outputs[(size_t)p->label * p->distance]) +
                       smoothing * (norm - all / (double)p->classes)
                 : NAN;
}

/* False: no position of the sample counts. */
static bool add_classes(cli_score *score, const cli_score_rule *rule, const rynd_tensor *output,
                        const rynd_tensor *target, int64_t sample)
{
    const size_t places = (size_t)(rynd_tensor_elements(target) / target->dim[0]);
    const size_t classes = (size_t)output->dim[1];
    const float *outputs = (const float *)output->data + (size_t)sample * classes * places;
    const int64_t *labels = (const int64_t *)target->data + (size_t)sample * places;
    double loss = 0, right = 0;
    size_t counted = 0;
    for (size_t i = 0; i < places; i++) {
        const place p = {outputs + i, classes, places, labels[i]};
        bool is;
        if (labels[i] == rule->ignored) {
            continue;
        }
        loss += cross_entropy(&p, rule->label_smoothing, &is);
        right += is;
        counted++;
    }
    score->classes = true;
    if (counted > 0) {
        score->loss += loss / (double)counted;
        score->right += right / (double)counted;
    }
    return counted > 0;
}

static size_t largest_of(const float *values, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

/* The cross-entropy of shares: the sum of their classes' by the shares. */
static void add_shares(cli_score *score, const cli_score_rule *rule, const rynd_tensor *output,
                       const rynd_tensor *target, int64_t sample)
{
    const size_t classes = (size_t)output->dim[1];
    const float *outputs = (const float *)output->data + (size_t)sample * classes,
                *shares = (const float *)target->data + (size_t)sample * classes;
    for (size_t c = 0; c < classes; c++) {
        const place p = {outputs, classes, 1, (int64_t)c};
        bool is;
        if (shares[c] > 0) {
            score->loss += (double)shares[c] * cross_entropy(&p, rule->label_smoothing, &is);
        }
    }
    score->right += largest_of(outputs, classes) == largest_of(shares, classes);
    score->classes = true;
}

static void add_values(cli_score *score, const cli_score_rule *rule, const rynd_tensor *output,
                       const rynd_tensor *target, int64_t sample)
{
    const size_t count = (size_t)(rynd_tensor_elements(target) / target->dim[0]);
    const float *outputs = (const float *)output->data + (size_t)sample * count,
                *targets = (const float *)target->data + (size_t)sample * count;
    double loss = 0;
    for (size_t i = 0; i < count; i++) {
        loss += losses[rule->loss].of((double)outputs[i], (double)targets[i], rule->epsilon);
    }
    score->loss += loss / (double)count;
}

void cli_score_add(cli_score *score, const cli_score_rule *rule, const rynd_tensor *output,
                   const rynd_tensor *target, const unsigned char *own)
{
    for (int64_t sample = 0; sample < target->dim[0]; sample++) {
        if (own && !own[sample]) {
            continue;
        }
        bool counts = true;
        if (losses[rule->loss].of) {
            add_values(score, rule, output, target, sample);
        } else if (target->dtype == RYND_DTYPE_F32) {
            add_shares(score, rule, output, target, sample);
        } else {
            counts = add_classes(score, rule, output, target, sample);
        }
        score->samples += counts;
    }
}
