/* SPDX-License-Identifier: Apache-2.0 */
/* Compares epochs, keeps the best one's weights, and reports. */
#include "train_epoch.h"

#include "notes.h"
#include "output_file.h"
#include "statistics.h"
#include "train_run.h"

#include <inttypes.h>
#include <math.h>
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

bool cli_epochs_open(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    cli_epochs *e = &run->epochs;
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
           (run->ranks.rank != 0 || s->dry_run || cli_file_check_writable(e->best_path, failure));
}

void cli_epochs_close(cli_train_run *run)
{
    free(run->epochs.best_path);
    run->epochs.best_path = NULL;
}

/* By accuracy, and by loss where samples have no class or accuracies are equal. */
static bool is_better(const cli_log_validation *a, const cli_log_validation *b)
{
    return b->samples == 0 || a->accuracy > b->accuracy ||
           (a->accuracy >= b->accuracy && a->loss < b->loss);
}

bool cli_epochs_judge(cli_train_run *run, const cli_log_validation *validation,
                      cli_failure *failure)
{
    cli_epochs *e = &run->epochs;
    const int64_t patience = run->settings->patience;
    if (!is_better(validation, &e->best)) {
        e->since++;
        run->stopped = patience && e->since >= (uint64_t)patience;
        return true;
    }
    e->best = *validation;
    e->since = 0;
    return !e->best_path || run->ranks.rank != 0 ||
           cli_trainee_save(&run->trainee, e->best_path, failure);
}

void cli_epochs_say(cli_train_run *run, bool epoch)
{
    cli_epochs *e = &run->epochs;
    const double now = cli_now();
    const cli_common *common = &run->settings->common;
    if (run->ranks.rank != 0 || common->quiet || e->steps == 0 ||
        (!epoch && (run->progress.shown || now - e->said < SILENCE))) {
        return;
    }
    char step[48] = "", validation[96] = "";
    const uint64_t number = (run->step - 1) / run->per_epoch + 1;
    const double spent = now - run->begin, done = (double)(run->step - run->begin_step);
    if (!epoch) {
        snprintf(step, sizeof step, ", step %" PRIu64 "/%" PRIu64, run->step, run->steps);
    } else if (run->last.samples) {
        const double samples = (double)run->last.samples;
        int used = snprintf(validation, sizeof validation, ", validation loss %.4g",
                            run->last.loss / samples);
        if (run->last.classes) {
            used += snprintf(validation + used, sizeof validation - (size_t)used, ", %.2f%% right",
                             100 * run->last.right / samples);
        }
        snprintf(validation + used, sizeof validation - (size_t)used, "%s",
                 e->since == 0 ? ", the best so far" : "");
    }
    cli_progress_end(&run->progress);
    fprintf(stderr, "epoch %" PRIu64 "/%" PRIu64 "%s: loss %.4g%s, %.0f samples/s\n", number,
            (run->steps + run->per_epoch - 1) / run->per_epoch, step, e->loss / (double)e->steps,
            validation, spent > 0 ? done * cli_train_samples(run) / spent : 0);
    e->said = now;
}

void cli_epochs_write(const cli_epochs *epochs, char text[CLI_EPOCHS_WORDS])
{
    const cli_log_validation *b = &epochs->best;
    text[0] = 0;
    if (b->samples) {
        snprintf(text, CLI_EPOCHS_WORDS,
                 " best-step=%" PRIu64 " best-epoch=%" PRIu64 " best-samples=%" PRIu64
                 " best-loss=%.17g best-accuracy=%.17g since-best=%" PRIu64,
                 b->step, b->epoch, b->samples, b->loss, b->accuracy, epochs->since);
    }
}

void cli_epochs_read(cli_epochs *epochs, const char *text)
{
    const char *words = strstr(text, " best-step=");
    cli_log_validation b = {0};
    uint64_t since;
    if (words && sscanf(words,
                        " best-step=%" SCNu64 " best-epoch=%" SCNu64 " best-samples=%" SCNu64
                        " best-loss=%lf best-accuracy=%lf since-best=%" SCNu64,
                        &b.step, &b.epoch, &b.samples, &b.loss, &b.accuracy, &since) == 6) {
        epochs->best = b;
        epochs->since = since;
    }
}
