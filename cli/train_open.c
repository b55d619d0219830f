/* SPDX-License-Identifier: Apache-2.0 */
/* What a training run needs before its first step: model, data, shapes of batches, trainer. */
#include "train_run.h"

#include "folded_norms.h"
#include "model_facts.h"
#include "notes.h"
#include "output_file.h"
#include "train_boxes.h"
#include "train_check.h"
#include "train_identity.h"
#include "wording.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open dims that --dim says. */
static void settle_dims(const cli_train_run *run, rynd_value_info *input)
{
    const cli_dims *dims = &run->settings->common.dims;
    for (int d = 0; d < input->rank; d++) {
        for (size_t i = 0; input->dim[d] < 0 && i < dims->count; i++) {
            if (strcmp(dims->items[i].symbol, input->symbol[d]) == 0) {
                input->dim[d] = dims->items[i].value;
            }
        }
    }
}

static bool find_output(cli_train_run *run, cli_failure *failure)
{
    const rynd_model *model = run->setup.model;
    const char *name = run->settings->loss_of;
    for (size_t i = 0; i < rynd_model_output_count(model); i++) {
        run->output = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_output(model, i, &run->output) != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (!name || strcmp(run->output.name, name) == 0) {
            run->output_index = i;
            return true;
        }
    }
    return cli_fail(failure, "'%s' has no output '%s' for --loss-of; rynd inspect lists them",
                    run->settings->common.arguments.items[0], name ? name : "");
}

/* The model's inputs, and what the loss is of. */
static bool look_at_model(cli_train_run *run, cli_failure *failure)
{
    const rynd_model *model = run->setup.model;
    run->input_count = rynd_model_input_count(model);
    if (run->input_count < 1 || run->input_count > CLI_TRAIN_INPUTS) {
        return cli_fail(failure, "'%s' has %zu inputs; rynd train takes models of 1 to %d",
                        run->settings->common.arguments.items[0], run->input_count,
                        CLI_TRAIN_INPUTS);
    }
    for (size_t i = 0; i < run->input_count; i++) {
        run->inputs[i] = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_input(model, i, &run->inputs[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
        settle_dims(run, &run->inputs[i]);
    }
    return find_output(run, failure);
}

/* --new-head: as many classes as it says, or as the data has. */
static bool count_head(const cli_train_run *run, int64_t *classes, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    *classes = (int64_t)run->data.class_count;
    if (strcmp(s->new_head, "auto") == 0) {
        return *classes > 0 ||
               cli_fail_usage(failure, "--new-head auto: '%s' has no classes", s->data);
    }
    return (cli_parse_integer(s->new_head, strlen(s->new_head), classes) && *classes > 0) ||
           cli_fail_usage(failure,
                          "--new-head does not take '%s'; give a number of classes, or auto",
                          s->new_head);
}

static bool replace_head(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    cli_setup *setup = &run->setup;
    int64_t classes;
    size_t size;
    rynd_model *other;
    if (!s->new_head) {
        return true;
    }
    if (!count_head(run, &classes, failure)) {
        return false;
    }
    if (rynd_model_save_new_head_memory(setup->model, classes, (uint64_t)s->seed, &run->new_head,
                                        &size) != RYND_OK ||
        rynd_model_load_memory(setup->context, run->new_head, size, &other) != RYND_OK) {
        return cli_fail_library(failure);
    }
    rynd_model_destroy(setup->model);
    setup->model = other;
    return look_at_model(run, failure);
}

static void note_skipped(const cli_train_run *run, const cli_dataset *set)
{
    char text[CLI_SKIPPED_TEXT];
    cli_skipped_say(&set->skipped, text);
    if (*text && run->ranks.rank == 0) {
        cli_note(&run->settings->common, "'%s': files that are no samples are skipped: %s",
                 set->path, text);
    }
}

/* An archive's y are classes for a loss of classes, which its reader must know beforehand. */
static bool open_data(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const cli_data_wish wish = {.factor = s->factor,
                                .inputs = run->inputs,
                                .input_count = run->input_count,
                                .target = run->output.dtype,
                                .classes = s->loss - 1 == CLI_LOSS_CROSS_ENTROPY,
                                .guess = s->loss == 0};
    if (!cli_dataset_open(&run->data, s->data, &wish, failure) ||
        (s->validate && !cli_dataset_open(&run->validation, s->validate, &wish, failure))) {
        return false;
    }
    note_skipped(run, &run->data);
    note_skipped(run, &run->validation);
    if (run->input_count > 1 && run->data.kind != &cli_data_npz) {
        return cli_fail(failure,
                        "'%s' has %zu inputs, and '%s' holds %s: give an .npz with an array by "
                        "the name of each, and y",
                        s->common.arguments.items[0], run->input_count, s->data,
                        run->data.kind->name);
    }
    if (s->validate && strcmp(run->validation.kind->name, run->data.kind->name) != 0) {
        return cli_fail(failure, "'%s' holds %s, but '%s' %s", s->data, run->data.kind->name,
                        s->validate, run->validation.kind->name);
    }
    if (s->factor && !run->data.pairs) {
        return cli_fail_usage(failure, "--factor applies to pairs of pictures; '%s' holds %s",
                              s->data, run->data.kind->name);
    }
    return true;
}

/* --batch, what the model fixes for each rank, or 32. */
static int64_t batch_of(const cli_train_run *run, const rynd_value_info *input)
{
    const cli_train_settings *s = run->settings;
    const int64_t fixed = input->rank > 0 ? input->dim[0] : -1;
    return s->common.batch ? s->common.batch : fixed > 0 ? fixed * run->ranks.ranks : 32;
}

static bool check_parts(const cli_train_run *run, cli_failure *failure)
{
    const int ranks = run->ranks.ranks;
    if (run->settings->augment.mixup > 0 && run->batch < 2 * ranks) {
        return cli_fail_usage(failure, "--mixup needs a --batch of at least %d", 2 * ranks);
    }
    return run->batch % ranks == 0
               ? true
               : cli_fail_usage(failure,
                                "a batch of %" PRId64 " has no equal parts for %d ranks: give a "
                                "--batch that %d divides",
                                run->batch, ranks, ranks);
}

static int64_t most_boxes(const cli_train_run *run)
{
    const size_t a = run->data.most_boxes, b = run->validation.most_boxes;
    return (int64_t)(a > b ? a : b);
}

static bool form_batches(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    cli_batch_wish wish = {.set = &run->data,
                           .inputs = run->inputs,
                           .input_count = run->input_count,
                           .output = &run->output,
                           .preprocess = &run->preprocess,
                           .augment = &s->augment,
                           .class_shares = s->augment.mixup > 0 ? run->output.dim[1] : 0,
                           .ignored = run->rule.ignored,
                           .preparation = &run->head.preparation,
                           .boxes = most_boxes(run)};
    run->batch = batch_of(run, run->inputs);
    wish.batch = run->batch / run->ranks.ranks;
    if (!check_parts(run, failure) || !cli_batch_form_of(&wish, &run->form, failure)) {
        return false;
    }
    wish.set = &run->validation;
    wish.augment = NULL;
    return !s->validate || cli_batch_form_of(&wish, &run->validation_form, failure);
}

static bool count_steps(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const int64_t batch = run->batch;
    run->accumulate = s->accumulate ? (uint64_t)s->accumulate : 1;
    run->per_epoch = cli_loader_batches(&run->data, batch, false) / run->accumulate;
    if (run->per_epoch == 0 && run->accumulate > 1) {
        return cli_fail(failure,
                        "'%s' has %zu samples, less than %" PRIu64 " batches of %" PRId64
                        "; give a smaller --batch or --accumulate",
                        s->data, run->data.count, run->accumulate, batch);
    }
    if (run->per_epoch == 0) {
        return cli_fail(failure,
                        "'%s' has %zu samples, less than a batch of %" PRId64
                        "; give a smaller --batch",
                        s->data, run->data.count, batch);
    }
    const uint64_t epochs = s->epochs ? (uint64_t)s->epochs : s->steps ? UINT32_MAX : 1;
    const uint64_t all =
        run->per_epoch > UINT64_MAX / epochs ? UINT64_MAX : epochs * run->per_epoch;
    run->steps = s->steps && (uint64_t)s->steps < all ? (uint64_t)s->steps : all;
    return true;
}

static bool begin_resume(void *user, const cli_checkpoint *checkpoint, cli_failure *failure)
{
    const cli_train_run *run = user;
    return cli_train_check_identity(run, checkpoint->settings, failure) &&
           cli_trainee_fits(&run->trainee, checkpoint, run->settings->resume, failure);
}

static bool take_state(void *user, const cli_tensor *state, cli_failure *failure)
{
    cli_train_run *run = user;
    return cli_trainee_restore(&run->trainee, state, run->settings->resume, failure);
}

static bool resume(cli_train_run *run, cli_failure *failure)
{
    const cli_checkpoint_receiver receiver = {run, begin_resume, take_state};
    const char *path = run->settings->resume;
    cli_checkpoint checkpoint;
    if (!path) {
        return true;
    }
    if (!cli_checkpoint_read(path, &receiver, &checkpoint, failure)) {
        return false;
    }
    run->step = checkpoint.step;
    cli_epochs_read(&run->epochs, checkpoint.settings);
    cli_checkpoint_free(&checkpoint);
    return true;
}

/* OUT.onnx gives OUT.checkpoint.npz. */
static bool name_checkpoint(cli_train_run *run, cli_failure *failure)
{
    static const char end[] = ".checkpoint.npz";
    const cli_train_settings *s = run->settings;
    if (!s->checkpoint && !s->output) {
        return true;
    }
    const char *from = s->checkpoint ? s->checkpoint : s->output;
    const char *dot = strrchr(from, '.'); /* the option's check wants one, but for devices */
    const size_t length = s->checkpoint || !dot ? strlen(from) : (size_t)(dot - from);
    run->checkpoint = malloc(length + sizeof end);
    if (!run->checkpoint) {
        return cli_fail_memory(failure);
    }
    snprintf(run->checkpoint, length + sizeof end, "%.*s%s", (int)length, from,
             s->checkpoint ? "" : end);
    return true;
}

/* Without a word about pictures, photos in folders of classes are prepared as for ImageNet: the
 * middle of the shorter side, as large as the input. */
static void take_usual(cli_train_run *run)
{
    const cli_train_settings *s = run->settings;
    const rynd_value_info *input = &run->inputs[0];
    cli_preprocess *p = &run->preprocess;
    cli_picture_layout at;
    if (run->data.kind != &cli_data_folder || s->augment.area > 0 || s->augment.pad >= 0 ||
        !cli_preprocess_is_empty(p) || !cli_picture_layout_of(input->rank, input->dim, 3, &at)) {
        return;
    }
    const int64_t height = input->dim[at.height], width = input->dim[at.width],
                  longer = height > width ? height : width;
    p->preset = 1; /* imagenet */
    if (height > 0 && width > 0) {
        p->crop = (cli_extent){height, width};
        p->size = (cli_extent){0, longer * 256 / 224};
    }
    if (run->ranks.rank == 0) {
        cli_note(&s->common,
                 "pictures are prepared as by --preset imagenet, with the middle of the input's "
                 "size; --size, --crop, --scale, --mean and --std say otherwise");
    }
}

/* Options count before what an earlier training wrote into the model. */
static bool settle_pictures(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    run->preprocess = s->preprocess;
    if (!cli_facts_preprocess(run->setup.model, &s->common, &run->preprocess, failure)) {
        return false;
    }
    run->pictures = run->preprocess;
    take_usual(run);
    cli_preprocess_settle(&run->preprocess);
    return true;
}

/* For the commands that use the trained model. */
static bool set_facts(cli_train_run *run, cli_failure *failure)
{
    const cli_dataset *data = &run->data;
    cli_preprocess pictures = run->preprocess;
    if (data->most_boxes && !cli_preprocess_has_values(&run->pictures)) {
        pictures = run->pictures; /* the head knows the values */
    }
    if (data->most_boxes) {
        pictures.size.height = 0; /* both sides would stretch */
        pictures.order = run->head.preparation.bgr ? CLI_ORDER_BGR : 0;
    }
    if (data->pairs) { /* a crop of a pair is at random; a model of pairs takes whole pictures */
        pictures.size = pictures.crop = (cli_extent){0};
    }
    return data->kind == &cli_data_npz ||
           cli_facts_set(run->setup.model, data->classes, data->class_count, &pictures, failure);
}

/* Before the first step, not hours later. */
static bool check_files(const cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const char *const paths[] = {s->output, run->checkpoint, s->plot};
    for (size_t i = 0; run->ranks.rank == 0 && i < sizeof paths / sizeof *paths; i++) {
        if (paths[i] && !s->dry_run && !cli_file_check_writable(paths[i], failure)) {
            return false;
        }
    }
    return true;
}

/* Never fails. */
static bool note_model(const cli_train_run *run)
{
    const size_t biased = cli_folded_norms(run->setup.model);
    if (biased && run->ranks.rank == 0) {
        cli_note(&run->settings->common,
                 "the model has %zu convolutions with biases and no normalisation: if the network "
                 "has batch normalisations, its export folded them, and it learns worse without; "
                 "torch.onnx.export(..., optimize=False) keeps them",
                 biased);
    }
    return true;
}

bool cli_train_open(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    run->loss = NAN;
    cli_progress_show(&run->progress, "loading the model", 0);
    run->epochs = (cli_epochs){.settings = s,
                               .trainee = &run->trainee,
                               .progress = &run->progress,
                               .first_rank = run->ranks.rank == 0};
    return cli_epochs_open(&run->epochs, failure) && name_checkpoint(run, failure) &&
           check_files(run, failure) && cli_setup_context(&run->setup, &s->common, failure) &&
           cli_setup_model(&run->setup, s->common.arguments.items[0], failure) &&
           look_at_model(run, failure) && open_data(run, failure) &&
           settle_pictures(run, failure) && replace_head(run, failure) &&
           cli_train_open_boxes(run, failure) && cli_train_settle_loss(run, failure) &&
           cli_train_check_augment(run, failure) && form_batches(run, failure) &&
           count_steps(run, failure) &&
           cli_trainee_open(&run->trainee, &run->setup, s, &run->rule, &run->form, &run->ranks,
                            failure) &&
           cli_train_identify(run, failure) && resume(run, failure) && set_facts(run, failure) &&
           note_model(run);
}

void cli_train_close(cli_train_run *run)
{
    cli_train_log_close(&run->log);
    cli_trainee_close(&run->trainee);
    cli_dataset_close(&run->validation);
    cli_dataset_close(&run->data);
    cli_setup_close_model(&run->setup);
    rynd_memory_free(run->setup.context, run->new_head);
    cli_setup_close(&run->setup);
    cli_epochs_close(&run->epochs);
    free(run->checkpoint);
    free(run->identity);
}
