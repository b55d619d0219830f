/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a training's forecast and result, as text or as one JSON document. */
#include "json_out.h"
#include "line.h"
#include "statistics.h"
#include "train_memory.h"
#include "train_run.h"
#include "wording.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Elements of what is learnt. */
static bool count_parameters(const cli_train_run *run, int64_t *count, cli_failure *failure)
{
    const rynd_trainer *trainer = run->trainee.trainer;
    *count = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        if (rynd_trainer_get_state(trainer, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        *count += info.kind == RYND_STATE_PARAMETER ? rynd_tensor_elements(&info.tensor) : 0;
    }
    return true;
}

/* The step that has most of the session's memory. */
static bool find_peak(const cli_train_run *run, rynd_step_info *peak, cli_failure *failure)
{
    const rynd_plan *plan = rynd_trainer_plan(run->trainee.trainer);
    *peak = (rynd_step_info){.name = ""};
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(plan, i, &step) != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (step.activations + step.workspace > peak->activations + peak->workspace) {
            *peak = step;
        }
    }
    return true;
}

static void print_memory(const cli_train_memory *memory, const rynd_step_info *peak)
{
    printf("memory      process %s: steps %s, batches read ahead %s (%s each)",
           cli_word_bytes(memory->process).text, cli_word_bytes(memory->trainer).text,
           cli_word_bytes(memory->reading).text, cli_word_bytes(memory->batch).text);
    if (memory->validation > 0) {
        printf(", validation %s", cli_word_bytes(memory->validation).text);
    }
    printf("\n            most at %s: activations %s, workspace %s\n", peak->name,
           cli_word_bytes((double)peak->activations).text,
           cli_word_bytes((double)peak->workspace).text);
}

static void print_forecast(const cli_train_run *run, int64_t parameters,
                           const rynd_prediction *step, const rynd_step_info *peak,
                           const cli_train_memory *memory)
{
    const uint64_t left = run->steps - run->step;
    printf("data        %zu samples (%s)", run->data.count, run->data.kind->name);
    if (run->data.class_count) {
        printf(", %zu classes", run->data.class_count);
    }
    printf("\nbatch      ");
    for (size_t i = 0; i < run->form.wish.input_count; i++) {
        printf(" %s", cli_shape_of_tensor(&run->form.x[i]).text);
    }
    printf(" -> %s", cli_shape_of_tensor(&run->form.y).text);
    if (run->accumulate > 1) {
        printf(", %" PRIu64 " per step", run->accumulate);
    }
    putchar('\n');
    if (run->ranks.ranks > 1) {
        printf("ranks       %d, which share batches of %" PRId64 " samples\n", run->ranks.ranks,
               run->batch);
    }
    printf("parameters  %s\n", cli_word_count((double)parameters).text);
    printf("steps       %" PRIu64 ", %" PRIu64 " left; %" PRIu64 " per epoch\n", run->steps, left,
           run->per_epoch);
    print_memory(memory, peak);
    printf("time        %s per step (%s to %s), %s per epoch, %s in all\n",
           cli_word_seconds(step->median).text, cli_word_seconds(step->low).text,
           cli_word_seconds(step->high).text,
           cli_word_seconds(step->median * (double)run->per_epoch).text,
           cli_word_seconds(step->median * (double)left).text);
}

/* Predicts all micro-batches of a step, and a separate update. */
static bool predict_step(const cli_train_run *run, rynd_prediction *step, cli_failure *failure)
{
    const rynd_trainer *trainer = run->trainee.trainer;
    const rynd_plan *update = rynd_trainer_update_plan(trainer);
    rynd_prediction more = RYND_SIZED(rynd_prediction);
    if (rynd_plan_predict(rynd_trainer_plan(trainer), step) != RYND_OK ||
        (update && rynd_plan_predict(update, &more) != RYND_OK)) {
        return cli_fail_library(failure);
    }
    const double times = (double)run->accumulate;
    step->low = times * step->low + more.low;
    step->median = times * step->median + more.median;
    step->high = times * step->high + more.high;
    return true;
}

bool cli_train_print_forecast(cli_train_run *run, cli_failure *failure)
{
    int64_t parameters;
    rynd_step_info peak;
    cli_train_memory memory;
    rynd_prediction step = RYND_SIZED(rynd_prediction);
    if (!count_parameters(run, &parameters, failure) || !predict_step(run, &step, failure) ||
        !find_peak(run, &peak, failure) || !cli_train_forecast_memory(run, &memory, failure)) {
        return false;
    }
    if (!run->settings->common.json) {
        print_forecast(run, parameters, &step, &peak, &memory);
        return true;
    }
    cJSON *results, *document = cli_json_begin("train", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", run->settings->common.arguments.items[0]);
    cli_json_number(result, "samples", (double)run->data.count);
    cli_json_number(result, "ranks", run->ranks.ranks);
    cli_json_number(result, "parameters", (double)parameters);
    cli_json_number(result, "steps", (double)run->steps);
    cli_json_number(result, "steps_per_epoch", (double)run->per_epoch);
    cli_json_time(result, &step);
    cli_json_number(result, "epoch_time", step.median * (double)run->per_epoch);
    cli_json_number(result, "memory", memory.trainer);
    cli_json_number(result, "batch_memory", memory.batch);
    cli_json_number(result, "reading_memory", memory.reading);
    cli_json_number(result, "validation_memory", memory.validation);
    cli_json_number(result, "process_memory", memory.process);
    cli_json_text(result, "peak_step", peak.name);
    cli_json_number(result, "peak_values", (double)peak.activations);
    cli_json_number(result, "peak_workspace", (double)peak.workspace);
    return cli_json_print(document, failure);
}

static double speed_of(const cli_train_run *run)
{
    const double samples = (double)(run->step - run->begin_step) * cli_train_samples(run);
    return run->seconds > 0 ? samples / run->seconds : 0;
}

static void print_validation(const cli_train_run *run)
{
    const cli_score *score = &run->last;
    const double samples = (double)score->samples;
    if (score->samples == 0) {
        return;
    }
    const cli_log_validation row = {.accuracy = score->classes ? score->right / samples : -1,
                                    .boxes = score->boxes,
                                    .map50 = score->map50};
    char right[CLI_RIGHT_TEXT];
    cli_epochs_right(&row, right);
    printf("validation  loss %.6g%s, %zu samples\n", score->loss / samples, right, score->samples);
}

static void print_models(const cli_train_run *run)
{
    const cli_epochs *e = &run->epochs;
    const cli_log_validation *b = &e->best;
    if (run->settings->output && e->last_too) {
        cli_line(stdout, "model       %s", run->settings->output);
    }
    if (e->best_path && b->samples) {
        char right[CLI_RIGHT_TEXT];
        cli_epochs_right(b, right);
        cli_line(stdout, "best        %s: epoch %" PRIu64 ", validation loss %.6g%s", e->best_path,
                 b->epoch + 1, b->loss, right);
    }
}

static void print_result(const cli_train_run *run)
{
    const cli_train_settings *s = run->settings;
    if (run->interrupted) {
        printf("interrupted at step %" PRIu64 " of %" PRIu64 "\n", run->step, run->steps);
    } else {
        printf("steps       %" PRIu64 "\n", run->step);
    }
    if (run->ranks.ranks > 1) {
        printf("ranks       %d\n", run->ranks.ranks);
    }
    if (run->epochs.stopped) {
        printf("stopped     no better validation in %" PRId64 " epochs\n", s->patience);
    }
    printf("loss        %.9g\n", run->loss);
    print_validation(run);
    printf("time        %s, %.0f samples per second; peak memory %s\n",
           cli_word_seconds(run->seconds).text, speed_of(run),
           cli_word_bytes(cli_peak_memory()).text);
    if (run->broken + run->validation_broken) {
        printf("skipped     %zu samples that could not be read\n",
               run->broken + run->validation_broken);
    }
    print_models(run);
    if (run->checkpoint) {
        cli_line(stdout, "checkpoint  %s%s", run->checkpoint,
                 run->interrupted ? " (continue with --resume)" : "");
    }
}

static void add_validation(cJSON *result, const cli_score *score)
{
    if (score->samples == 0) {
        cJSON_AddNullToObject(result, "validation");
        return;
    }
    cJSON *validation = cJSON_AddObjectToObject(result, "validation");
    cli_json_number(validation, "loss", score->loss / (double)score->samples);
    cli_json_number(validation, "accuracy",
                    score->classes ? score->right / (double)score->samples : NAN);
    if (score->boxes) {
        cli_json_number(validation, "map50", score->map50);
    }
    cli_json_number(validation, "samples", (double)score->samples);
}

static void add_best(cJSON *result, const cli_epochs *epochs)
{
    const cli_log_validation *b = &epochs->best;
    if (b->samples == 0) {
        cJSON_AddNullToObject(result, "best");
        return;
    }
    cJSON *best = cJSON_AddObjectToObject(result, "best");
    cli_json_text(best, "output", epochs->best_path);
    cli_json_number(best, "epoch", (double)b->epoch);
    cli_json_number(best, "step", (double)b->step);
    cli_json_number(best, "loss", b->loss);
    cli_json_number(best, "accuracy", b->accuracy >= 0 ? b->accuracy : NAN);
}

bool cli_train_print_result(const cli_train_run *run, cli_failure *failure)
{
    if (!run->settings->common.json) {
        print_result(run);
        return true;
    }
    cJSON *results, *document = cli_json_begin("train", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", run->settings->common.arguments.items[0]);
    cli_json_number(result, "step", (double)run->step);
    cli_json_number(result, "steps", (double)run->steps);
    cli_json_number(result, "ranks", run->ranks.ranks);
    cli_json_number(result, "loss", run->loss);
    add_validation(result, &run->last);
    cli_json_number(result, "time", run->seconds);
    cli_json_number(result, "samples_per_second", speed_of(run));
    cli_json_number(result, "peak_memory", cli_peak_memory());
    cli_json_number(result, "skipped", (double)(run->broken + run->validation_broken));
    cJSON_AddBoolToObject(result, "interrupted", run->interrupted);
    cJSON_AddBoolToObject(result, "stopped", run->epochs.stopped);
    cli_json_text(result, "output", run->settings->output);
    add_best(result, &run->epochs);
    cli_json_text(result, "checkpoint", run->checkpoint);
    return cli_json_print(document, failure);
}
