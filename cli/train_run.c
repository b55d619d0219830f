/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a run, and what is done between them. */
#include "train_run.h"

#include "ending.h"
#include "statistics.h"
#include "train_box_score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "3/10 loss 0.1234 91.2% 1234/s -1:02": epoch, loss, accuracy of the last validation, samples a
 * second, time left */
static void show(cli_train_run *run, double now)
{
    char label[96], accuracy[16] = "", left[32];
    const double done = (double)(run->step - run->begin_step), spent = now - run->begin;
    const double seconds = done > 0 ? spent / done * (double)(run->steps - run->step) : 0;
    const double speed = spent > 0 ? done * cli_train_samples(run) / spent : 0;
    const uint64_t minutes = (uint64_t)seconds / 60;
    if (run->last.samples && run->last.classes) {
        snprintf(accuracy, sizeof accuracy, " %.1f%%",
                 100 * run->last.right / (double)run->last.samples);
    }
    if (minutes >= 60) {
        snprintf(left, sizeof left, "%" PRIu64 "h%02" PRIu64, minutes / 60, minutes % 60);
    } else {
        snprintf(left, sizeof left, "%" PRIu64 ":%02" PRIu64, minutes, (uint64_t)seconds % 60);
    }
    snprintf(label, sizeof label, "%" PRIu64 "/%" PRIu64 " loss %.4g%s %.0f/s -%s",
             (run->step ? run->step - 1 : 0) / run->per_epoch + 1,
             (run->steps + run->per_epoch - 1) / run->per_epoch, run->loss, accuracy, speed, left);
    run->progress.last = -1; /* the words change where the per cent do not */
    cli_progress_show(&run->progress, label, (double)run->step / (double)run->steps);
    run->shown = now;
}

static bool write_checkpoint(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    cli_checkpoint checkpoint = {.step = run->step};
    char best[CLI_EPOCHS_WORDS];
    if (run->ranks.rank != 0) {
        return true; /* all have the same weights */
    }
    if (s->output && run->epochs.last_too && !cli_trainee_save(&run->trainee, s->output, failure)) {
        return false;
    }
    if (!run->checkpoint) {
        return true;
    }
    cli_epochs_write(&run->epochs, best);
    const size_t room = strlen(run->identity) + sizeof best;
    checkpoint.settings = malloc(room);
    if (checkpoint.settings) {
        snprintf(checkpoint.settings, room, "%s%s", run->identity, best);
    }
    const bool done = checkpoint.settings
                          ? cli_trainee_states(&run->trainee, &checkpoint, failure) &&
                                cli_checkpoint_write(run->checkpoint, &checkpoint, failure)
                          : cli_fail_memory(failure);
    cli_checkpoint_free(&checkpoint);
    return done;
}

static bool write_plot(const cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    return !s->plot || cli_train_plot(&run->log, s->common.arguments.items[0],
                                      cli_loss_name(run->rule.loss), s->plot, failure);
}

static bool score_batches(cli_train_run *run, cli_loader *loader, cli_score *score,
                          cli_failure *failure)
{
    for (;;) {
        cli_batch batch;
        rynd_tensor output;
        if (!cli_loader_take(loader, &batch, failure)) {
            return false;
        }
        if (batch.count == 0) {
            return true;
        }
        if (!cli_trainee_evaluate(&run->trainee, &batch, &output, failure)) {
            return false;
        }
        cli_score_add(score, &run->rule, &output, &batch.y, batch.own);
        cli_loader_give(loader);
    }
}

/* Combines the ranks' scores. */
static bool share_score(cli_train_run *run, cli_score *score, cli_failure *failure)
{
    double sums[] = {score->loss, score->right, (double)score->samples};
    if (!cli_ranks_sum(&run->ranks, sums, 3, failure)) {
        return false;
    }
    score->loss = sums[0];
    score->right = sums[1];
    score->samples = (size_t)sums[2];
    score->classes = cli_dataset_has_classes(&run->data);
    return true;
}

static bool validate(cli_train_run *run, cli_failure *failure)
{
    const cli_batch_form *form = &run->validation_form;
    const bool boxes = form->wish.boxes > 0; /* mAP is no sum over ranks: each does all pictures */
    const cli_loader_options options = {
        .form = form,
        .common = &run->settings->common,
        .whole = true,
        .end = cli_loader_batches(&run->validation, boxes ? form->wish.batch : run->batch, true),
        .threads = cli_loader_threads(&run->settings->common),
        .part = boxes ? 0 : run->ranks.rank,
        .parts = boxes ? 1 : run->ranks.ranks,
    };
    const cli_box_judge judge = {.context = run->setup.context,
                                 .trainer = run->trainee.trainer,
                                 .head = &run->head,
                                 .input = form->to,
                                 .classes = run->head.classes > 0 ? run->head.classes
                                                                  : (int64_t)run->data.class_count};
    cli_score score = {0};
    cli_loader *loader = cli_loader_start(&options, failure);
    const bool done = loader && (boxes ? cli_train_score_boxes(&judge, loader, &score, failure)
                                       : score_batches(run, loader, &score, failure));
    const bool shared = done && (boxes || share_score(run, &score, failure)) &&
                        cli_ranks_count(&run->ranks, cli_loader_broken(loader),
                                        run->validation.count, &run->validation_broken, failure);
    cli_loader_stop(loader);
    if (!shared) {
        return false;
    }
    run->last = score;
    const double samples = (double)score.samples;
    const cli_log_validation row = {
        .step = run->step,
        .epoch = (run->step - 1) / run->per_epoch,
        .samples = score.samples,
        .loss = score.loss / samples,
        .accuracy = score.classes ? score.right / samples : -1,
        .boxes = score.boxes,
        .map50 = score.map50,
        .seconds = cli_now() - run->begin,
    };
    return cli_train_log_validation(&run->log, &row, failure) &&
           cli_epochs_judge(&run->epochs, &row, failure);
}

/* The part of a step's samples whose largest output is their class; and whether anybody wants the
 * run to end: all ranks must end at the same step. */
static bool share_step(cli_train_run *run, const cli_score *score, double *accuracy,
                       cli_failure *failure)
{
    double sums[] = {score->right, (double)score->samples, cli_ending_was_asked()};
    if (!cli_ranks_sum(&run->ranks, sums, 3, failure)) {
        return false;
    }
    *accuracy = cli_dataset_has_classes(&run->data) && sums[1] > 0 ? sums[0] / sums[1] : -1;
    run->ending = sums[2] > 0;
    return true;
}

static bool log_step(cli_train_run *run, double accuracy, double rate, double seconds,
                     cli_failure *failure)
{
    const cli_log_step row = {
        .step = run->step,
        .epoch = (run->step - 1) / run->per_epoch,
        .loss = run->loss,
        .rate = rate,
        .accuracy = accuracy,
        .images_per_second = seconds > 0 ? cli_train_samples(run) / seconds : 0,
        .seconds = cli_now() - run->begin,
        .memory = cli_peak_memory(),
    };
    return cli_train_log_step(&run->log, &row, failure);
}

/* A loss that is no number never becomes one again: the weights before it are in the checkpoint. */
static bool check_loss(const cli_train_run *run, double rate, cli_failure *failure)
{
    if (isfinite(run->loss)) {
        return true;
    }
    return cli_fail(failure,
                    "the loss is %s at step %" PRIu64 " (epoch %" PRIu64
                    ", rate %g): a smaller --lr, --warmup or --clip may help%s%s",
                    isnan(run->loss) ? "not a number" : "infinite", run->step,
                    (run->step - 1) / run->per_epoch + 1, rate,
                    run->saved ? "; the last good checkpoint is " : "",
                    run->saved ? run->checkpoint ? run->checkpoint : run->settings->output : "");
}

/* The batches of a step, which make one update together. */
static bool learn(cli_train_run *run, cli_loader *loader, double rate, cli_score *score,
                  cli_failure *failure)
{
    double sum = 0;
    for (uint64_t i = 0; i < run->accumulate; i++) {
        cli_batch batch;
        rynd_tensor output;
        double loss;
        if (!cli_loader_take(loader, &batch, failure) ||
            !cli_trainee_step(&run->trainee, &batch, rate, &loss, &output, failure)) {
            return false;
        }
        sum += loss;
        if (cli_dataset_has_classes(&run->data)) {
            /* all count: what stands in the place of a broken sample was learnt from, too */
            cli_score_add(score, &run->rule, &output, &batch.y, NULL);
        }
        cli_loader_give(loader);
    }
    run->loss = sum / (double)run->accumulate;
    cli_epochs_add(&run->epochs, run->loss);
    return true;
}

static bool one_step(cli_train_run *run, cli_loader *loader, cli_failure *failure)
{
    const double begin = cli_now();
    const double rate =
        cli_schedule_rate(&run->settings->schedule, run->step, run->steps, run->per_epoch);
    cli_score score = {0};
    double accuracy;
    if (!learn(run, loader, rate, &score, failure)) {
        return false;
    }
    run->step++;
    const double seconds = cli_now() - begin;
    const bool good = share_step(run, &score, &accuracy, failure) &&
                      log_step(run, accuracy, rate, seconds, failure) &&
                      check_loss(run, rate, failure);
    const double now = cli_now(), redraw = 0.1;
    if (good && now - run->shown > redraw) {
        show(run, now);
    }
    return good;
}

static void tell(cli_train_run *run, bool epoch)
{
    const double now = cli_now(), spent = now - run->begin;
    const double samples = (double)(run->step - run->begin_step) * cli_train_samples(run);
    const cli_epoch_place place = {.step = run->step,
                                   .steps = run->steps,
                                   .per_epoch = run->per_epoch,
                                   .end = epoch,
                                   .validated = epoch && run->validation.kind,
                                   .speed = spent > 0 ? samples / spent : 0,
                                   .now = now};
    cli_epochs_say(&run->epochs, &place);
}

/* What is due behind a step: validation, checkpoint, plot. */
static bool between(cli_train_run *run, cli_failure *failure)
{
    const uint64_t every = run->settings->every ? (uint64_t)run->settings->every : run->per_epoch;
    const bool end = run->step == run->steps;
    const bool epoch = run->step % run->per_epoch == 0 || end;
    if (epoch && run->validation.kind && !validate(run, failure)) {
        return false;
    }
    tell(run, epoch);
    if (!(run->step % every == 0 || end || run->epochs.stopped)) {
        return true;
    }
    if (!write_checkpoint(run, failure)) {
        return false;
    }
    run->saved = run->checkpoint || run->settings->output;
    return write_plot(run, failure);
}

static bool all_steps(cli_train_run *run, cli_loader *loader, cli_failure *failure)
{
    run->begin = run->shown = run->epochs.said = cli_now();
    run->begin_step = run->step;
    while (run->step < run->steps) {
        if (!one_step(run, loader, failure) || !between(run, failure)) {
            return false;
        }
        if (run->epochs.stopped) {
            break;
        }
        if (run->ending) {
            run->interrupted = run->step < run->steps;
            break;
        }
    }
    /* between() has written this step's row already */
    return !run->interrupted || (write_checkpoint(run, failure) && write_plot(run, failure));
}

static bool log_start(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    char model[1024], data[1024], settings[4096], fields[8192];
    rynd_text_escape(s->common.arguments.items[0], RYND_ESCAPE_JSON, model, sizeof model);
    rynd_text_escape(s->data, RYND_ESCAPE_JSON, data, sizeof data);
    rynd_text_escape(run->identity, RYND_ESCAPE_JSON, settings, sizeof settings);
    snprintf(fields, sizeof fields,
             "\"row\":\"start\",\"rynd\":\"%s\",\"model\":%s,\"data\":%s,\"from\":%" PRIu64
             ",\"steps\":%" PRIu64 ",\"per_epoch\":%" PRIu64 ",\"ranks\":%d,\"settings\":%s",
             rynd_version(), model, data, run->step, run->steps, run->per_epoch, run->ranks.ranks,
             settings);
    return cli_train_log_row(&run->log, fields, failure);
}

static bool log_end(cli_train_run *run, const char *why)
{
    char fields[256];
    cli_failure ignored = {0};
    snprintf(fields, sizeof fields,
             "\"row\":\"end\",\"why\":\"%s\",\"seconds\":%.6f,\"skipped\":%zu", why,
             cli_now() - run->begin, run->broken);
    return cli_train_log_row(&run->log, fields, &ignored);
}

static bool train(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const cli_loader_options options = {
        .form = &run->form,
        .common = &s->common,
        .seed = (uint64_t)s->seed,
        .shuffle = !s->ordered,
        .batches = run->per_epoch * run->accumulate,
        .first = run->step * run->accumulate,
        .end =
            run->steps > UINT64_MAX / run->accumulate ? UINT64_MAX : run->steps * run->accumulate,
        .threads = cli_loader_threads(&s->common),
        .part = run->ranks.rank,
        .parts = run->ranks.ranks,
    };
    if (run->step >= run->steps) {
        return cli_fail(failure,
                        "'%s' is at step %" PRIu64 ", but this run ends at step %" PRIu64
                        ": give more --epochs or --steps",
                        s->resume, run->step, run->steps);
    }
    const cli_log_places places = {s->log, s->board};
    if (!cli_train_log_open(&run->log, &places, s->resume != NULL, run->step, failure) ||
        !log_start(run, failure)) {
        return false;
    }
    cli_loader *loader = cli_loader_start(&options, failure);
    cli_ending_waits(); /* from here on somebody's wish to end it is heard between two steps */
    bool done = loader && all_steps(run, loader, failure);
    run->seconds = cli_now() - run->begin;
    cli_failure ignored = {0};
    const cli_ranks alone = {.ranks = 1}; /* others do not listen to a rank that failed */
    if (loader && !cli_ranks_count(done ? &run->ranks : &alone, cli_loader_broken(loader),
                                   run->data.count, &run->broken, done ? failure : &ignored)) {
        done = false;
    }
    cli_loader_stop(loader);
    log_end(run, !done                 ? "failed"
                 : run->interrupted    ? "interrupted"
                 : run->epochs.stopped ? "patience"
                                       : "done");
    return done;
}

static bool print(cli_train_run *run, cli_failure *failure)
{
    if (run->ranks.rank != 0) {
        return true;
    }
    return run->settings->dry_run ? cli_train_print_forecast(run, failure)
                                  : cli_train_print_result(run, failure);
}

static bool train_as_rank(cli_train_run *run, cli_failure *failure)
{
    if (run->ranks.rank == 0) {
        cli_progress_begin(&run->progress, &run->settings->common);
    }
    bool done = cli_train_open(run, failure) && (run->settings->dry_run || train(run, failure));
    cli_progress_end(&run->progress);
    done = done && print(run, failure);
    if (!done) {
        cli_ranks_fail(&run->ranks, failure); /* the others wait for this one */
    }
    cli_train_close(run);
    return done;
}

/* net.onnx gives net-trained.onnx; free() it. NULL: out of memory. */
static char *name_output(const char *model)
{
    static const char end[] = ".onnx", more[] = "-trained.onnx";
    const size_t length = strlen(model), tail = sizeof end - 1;
    const bool ends = length > tail && strcmp(model + length - tail, end) == 0;
    char *name = malloc(length + sizeof more);
    if (name) {
        snprintf(name, length + sizeof more, "%.*s%s", (int)(ends ? length - tail : length), model,
                 more);
    }
    return name;
}

/* Nobody trains in order to keep nothing. */
static bool settle_output(cli_train_settings *own, char **name, cli_failure *failure)
{
    *name = NULL;
    if (own->output || own->checkpoint) {
        return true;
    }
    own->output = *name = name_output(own->common.arguments.items[0]);
    return *name || cli_fail_memory(failure);
}

static bool train_by_ranks(cli_train_run *run, cli_train_settings *own, cli_failure *failure)
{
    if (!cli_ranks_open(&run->ranks, failure)) {
        return false;
    }
    if (run->ranks.ranks > 1 && own->common.threads == 0) {
        own->common.threads = cli_ranks_threads(&run->ranks);
    }
    if (run->ranks.rank != 0) {
        own->log = own->plot = own->board =
            NULL; /* only rank 0 writes, as for models and checkpoints */
    }
    const bool done = train_as_rank(run, failure);
    cli_ranks_close(&run->ranks);
    if (done) {
        cli_ending_give_in();
    }
    return done;
}

bool cli_train(const cli_train_settings *settings, cli_failure *failure)
{
    cli_train_settings own = *settings;
    cli_train_run run = {.settings = &own};
    char *output;
    if (!settle_output(&own, &output, failure)) {
        return false;
    }
    const bool done = train_by_ranks(&run, &own, failure);
    free(output);
    return done;
}
