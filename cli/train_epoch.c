/* SPDX-License-Identifier: Apache-2.0 */
/* Compares epochs, keeps the best one's weights, and reports. */
#include "train_epoch.h"

#include "output_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of CLI_KEEPS. */
enum { KEEP_BEST = 1, KEEP_LAST, KEEP_BOTH };

/* Seconds between lines inside an epoch. */
static const double SILENCE = 30;

static bool name_best(cli_epochs *epochs, const char *output, cli_failure *failure)
{
    static const char end[] = "-best.onnx";
    const char *dot = strrchr(output, '.');
    const size_t length = dot ? (size_t)(dot - output) : strlen(output);
    epochs->best_path = malloc(length + sizeof end);
    if (!epochs->best_path) {
        return cli_fail_memory(failure);
    }
    memcpy(epochs->best_path, output, length);
    memcpy(epochs->best_path + length, end, sizeof end);
    return true;
}

bool cli_epochs_open(cli_epochs *e, cli_failure *failure)
{
    const cli_train_settings *s = e->settings;
    e->last_too = s->keep != KEEP_BEST;
    if (!s->validate && (s->patience || s->keep == KEEP_BEST || s->keep == KEEP_BOTH)) {
        return cli_fail_usage(failure, "--%s needs --validate DIR|FILE, which tells the best epoch",
                              s->patience ? "patience" : "keep");
    }
    if (!s->validate || !s->output || s->keep == KEEP_LAST || cli_file_is_special(s->output)) {
        e->last_too = true;
        return true;
    }
    if (s->keep == KEEP_BEST) {
        e->best_path = strdup(s->output);
        return e->best_path || cli_fail_memory(failure);
    }
    return name_best(e, s->output, failure) &&
           (!e->first_rank || s->dry_run || cli_file_check_writable(e->best_path, failure));
}

void cli_epochs_close(cli_epochs *epochs)
{
    free(epochs->best_path);
    epochs->best_path = NULL;
}

/* By accuracy, and by loss where samples have no class or accuracies are equal. */
static bool is_better(const cli_log_validation *a, const cli_log_validation *b)
{
    return b->samples == 0 || a->accuracy > b->accuracy ||
           (a->accuracy >= b->accuracy && a->loss < b->loss);
}

bool cli_epochs_judge(cli_epochs *e, const cli_log_validation *validation, cli_failure *failure)
{
    const int64_t patience = e->settings->patience;
    e->last = *validation;
    if (!is_better(validation, &e->best)) {
        e->since++;
        e->stopped = patience && e->since >= (uint64_t)patience;
        return true;
    }
    e->best = *validation;
    e->since = 0;
    return !e->best_path || !e->first_rank || cli_trainee_save(e->trainee, e->best_path, failure);
}

void cli_epochs_add(cli_epochs *epochs, double loss)
{
    epochs->loss += loss;
    epochs->steps++;
}

void cli_epochs_right(const cli_log_validation *row, char text[CLI_RIGHT_TEXT])
{
    text[0] = 0;
    if (row->boxes) {
        snprintf(text, CLI_RIGHT_TEXT, ", mAP50 %.2f%%, mAP %.2f%%", 100 * row->map50,
                 100 * row->accuracy);
    } else if (row->accuracy >= 0) {
        snprintf(text, CLI_RIGHT_TEXT, ", %.2f%% right", 100 * row->accuracy);
    }
}

/* ", validation loss 0.1, 90.00% right, the best so far" */
static void describe_validation(const cli_epochs *e, char *text, size_t size)
{
    char right[CLI_RIGHT_TEXT];
    cli_epochs_right(&e->last, right);
    snprintf(text, size, ", validation loss %.4g%s%s", e->last.loss, right,
             e->since == 0 ? ", the best so far" : "");
}

static void print_line(cli_epochs *e, const cli_epoch_place *place)
{
    char step[64] = "", validation[128] = "";
    if (!place->end) {
        snprintf(step, sizeof step, ", step %" PRIu64 "/%" PRIu64, place->step, place->steps);
    }
    if (place->validated) {
        describe_validation(e, validation, sizeof validation);
    }
    cli_progress_end(e->progress);
    fprintf(stderr, "epoch %" PRIu64 "/%" PRIu64 "%s: loss %.4g%s, %.0f samples/s\n",
            (place->step - 1) / place->per_epoch + 1,
            (place->steps + place->per_epoch - 1) / place->per_epoch, step,
            e->loss / (double)e->steps, validation, place->speed);
    e->said = place->now;
}

void cli_epochs_say(cli_epochs *e, const cli_epoch_place *place)
{
    const bool due = place->end || (!e->progress->shown && place->now - e->said > SILENCE);
    if (due && e->first_rank && !e->settings->common.quiet && e->steps > 0) {
        print_line(e, place);
    }
    if (place->end) {
        e->loss = 0;
        e->steps = 0;
    }
}

void cli_epochs_write(const cli_epochs *epochs, char text[CLI_EPOCHS_WORDS])
{
    const cli_log_validation *b = &epochs->best;
    text[0] = 0;
    if (b->samples) {
        snprintf(text, CLI_EPOCHS_WORDS,
                 " best-step=%" PRIu64 " best-epoch=%" PRIu64 " best-samples=%" PRIu64
                 " best-loss=%.17g best-accuracy=%.17g since-best=%" PRIu64 " best-map50=%.17g",
                 b->step, b->epoch, b->samples, b->loss, b->accuracy, epochs->since,
                 b->boxes ? b->map50 : -1);
    }
}

void cli_epochs_read(cli_epochs *epochs, const char *text)
{
    const char *words = strstr(text, " best-step=");
    cli_log_validation b = {.map50 = -1};
    uint64_t since;
    if (words &&
        sscanf(words,
               " best-step=%" SCNu64 " best-epoch=%" SCNu64 " best-samples=%" SCNu64
               " best-loss=%lf best-accuracy=%lf since-best=%" SCNu64 " best-map50=%lf",
               &b.step, &b.epoch, &b.samples, &b.loss, &b.accuracy, &since, &b.map50) >= 6) {
        b.boxes = b.map50 >= 0;
        epochs->best = b;
        epochs->since = since;
    }
}
