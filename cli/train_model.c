/* SPDX-License-Identifier: Apache-2.0 */
/* Settings into a trainer, and the trainer's states in and out. */
#include "train_model.h"

#include "ending.h"
#include "output_file.h"
#include "size.h"
#include "wording.h"

#include <stdlib.h>
#include <string.h>

/* In the order of CLI_OPTIMIZERS. */
static const struct {
    const char *name;
    rynd_optimizer optimizer;
    double momentum; /* where none is given */
} optimizers[] = {
    {"sgd", RYND_OPTIMIZER_SGD, 0.9},
    {"adam", RYND_OPTIMIZER_ADAM, 0},
    {"adamw", RYND_OPTIMIZER_ADAMW, 0},
};

/* In the order of CLI_LOSSES. */
static const rynd_loss losses[] = {RYND_LOSS_CROSS_ENTROPY, RYND_LOSS_MSE, RYND_LOSS_L1,
                                   RYND_LOSS_CHARBONNIER,   RYND_LOSS_BCE, RYND_LOSS_DETECTION};

/* In the order of CLI_INITS. */
static const rynd_init inits[] = {RYND_INIT_MODEL, RYND_INIT_HE, RYND_INIT_UNIFORM};

/* In the order of CLI_DROPOUTS. */
static const rynd_dropout dropouts[] = {RYND_DROPOUT_MODEL, RYND_DROPOUT_OFF};

/* In the order of CLI_STORAGES. */
static const rynd_dtype storages[] = {RYND_DTYPE_F32, RYND_DTYPE_BF16};

static int index_of(int chosen)
{
    return chosen ? chosen - 1 : 0;
}

const char *cli_optimizer_name(int optimizer)
{
    return optimizers[index_of(optimizer)].name;
}

rynd_dtype cli_storage(const cli_train_settings *settings)
{
    return storages[index_of(settings->storage)];
}

static bool check_optimizer(const cli_train_settings *s, cli_failure *failure)
{
    const bool sgd = optimizers[index_of(s->optimizer)].optimizer == RYND_OPTIMIZER_SGD;
    if (!sgd && (s->momentum >= 0 || s->nesterov)) {
        return cli_fail_usage(failure, "--momentum and --nesterov need --optimizer sgd");
    }
    return s->momentum != 0 || !s->nesterov
               ? true
               : cli_fail_usage(failure, "--nesterov needs a --momentum above 0");
}

bool cli_trainee_open(cli_trainee *trainee, const cli_setup *setup, const cli_train_settings *s,
                      const cli_score_rule *rule, const cli_batch_form *form,
                      const cli_ranks *ranks, cli_failure *failure)
{
    const double momentum = optimizers[index_of(s->optimizer)].momentum;
    rynd_trainer_options options = RYND_SIZED(
        rynd_trainer_options, .loss = losses[rule->loss],
        .target = form->wish.class_shares ? RYND_DTYPE_F32 : RYND_DTYPE_NONE,
        .label_smoothing = rule->label_smoothing,
        .ignore_label = rule->ignored >= 0 ? &rule->ignored : NULL,
        .charbonnier_epsilon = rule->epsilon, .head = s->head, .boxes = form->wish.boxes,
        .box_weight = s->box_weight, .optimizer = optimizers[index_of(s->optimizer)].optimizer,
        .momentum = s->momentum >= 0 ? s->momentum : momentum, .nesterov = s->nesterov,
        .weight_decay = s->weight_decay, .clip_norm = s->clip, .freeze = s->freeze.items,
        .freeze_count = s->freeze.count, .train_only = s->train_only.items,
        .train_only_count = s->train_only.count, .train_last = s->train_last,
        .dims = s->common.dims.items, .dim_count = s->common.dims.count, .inputs = form->x,
        .output = s->loss_of, .accuracy = (rynd_accuracy)s->common.accuracy,
        .settings = s->common.settings.items, .setting_count = s->common.settings.count,
        .init = inits[index_of(s->init)], .init_seed = (uint64_t)s->seed,
        .accumulate = s->accumulate, .storage = cli_storage(s),
        .dropout = dropouts[index_of(s->dropout)],
        /* ranks drop by numbers of their own: their samples are others */
        .dropout_seed = (uint64_t)s->seed + ((uint64_t)ranks->rank << 32),
        .exchange = cli_ranks_exchange(ranks));
    *trainee = (cli_trainee){.setup = setup};
    if (!check_optimizer(s, failure) || !cli_check_steps(&s->common, failure) ||
        (s->memory_limit &&
         !cli_size_read(s->memory_limit, "memory-limit", &options.memory_limit, failure))) {
        return false;
    }
    rynd_tensor target;
    if (rynd_trainer_create(setup->model, &options, &trainee->trainer) != RYND_OK ||
        rynd_trainer_get_target(trainee->trainer, &target) != RYND_OK) {
        return cli_fail_library(failure);
    }
    bool same = target.dtype == form->y.dtype && target.rank == form->y.rank;
    for (int i = 0; same && i < target.rank; i++) {
        same = target.dim[i] == form->y.dim[i];
    }
    return same ? true
                : cli_fail(failure, "'%s': batches of targets are %s %s, but the loss is of %s %s",
                           form->wish.set->path, rynd_dtype_name(form->y.dtype),
                           cli_shape_of_tensor(&form->y).text, rynd_dtype_name(target.dtype),
                           cli_shape_of_tensor(&target).text);
}

void cli_trainee_close(cli_trainee *trainee)
{
    rynd_trainer_destroy(trainee->trainer);
    trainee->trainer = NULL;
}

bool cli_trainee_step(cli_trainee *trainee, const cli_batch *batch, double rate, double *loss,
                      rynd_tensor *output, cli_failure *failure)
{
    return (rynd_trainer_step(trainee->trainer, batch->x, &batch->y, rate, loss) == RYND_OK &&
            rynd_trainer_get_output(trainee->trainer, output) == RYND_OK) ||
           cli_fail_library(failure);
}

bool cli_trainee_evaluate(cli_trainee *trainee, const cli_batch *batch, rynd_tensor *output,
                          cli_failure *failure)
{
    double loss;
    return (rynd_trainer_evaluate(trainee->trainer, batch->x, &batch->y, &loss) == RYND_OK &&
            rynd_trainer_get_output(trainee->trainer, output) == RYND_OK) ||
           cli_fail_library(failure);
}

static bool copy_state(cli_trainee *trainee, size_t index, rynd_state_info *info, cli_tensor *to,
                       cli_failure *failure)
{
    *info = RYND_SIZED(rynd_state_info);
    if (rynd_trainer_get_state(trainee->trainer, index, info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const rynd_tensor *t = &info->tensor;
    if (t->data) {
        *to = (cli_tensor){.name = strdup(info->name), .view = *t};
        return to->name || cli_fail_memory(failure);
    }
    if (!cli_tensor_make(to, t->dtype, t->rank, t->dim, failure)) {
        return false;
    }
    to->name = strdup(info->name);
    if (!to->name) {
        return cli_fail_memory(failure);
    }
    return rynd_trainer_read(trainee->trainer, info->name, &to->view) == RYND_OK ||
           cli_fail_library(failure);
}

bool cli_trainee_states(cli_trainee *trainee, cli_checkpoint *checkpoint, cli_failure *failure)
{
    const size_t count = rynd_trainer_state_count(trainee->trainer);
    checkpoint->states = calloc(count + 1, sizeof *checkpoint->states);
    if (!checkpoint->states) {
        return cli_fail_memory(failure);
    }
    checkpoint->count = count;
    for (size_t i = 0; i < count; i++) {
        rynd_state_info info;
        if (!copy_state(trainee, i, &info, &checkpoint->states[i], failure)) {
            return false;
        }
    }
    return true;
}

bool cli_trainee_fits(const cli_trainee *trainee, const cli_checkpoint *checkpoint,
                      const char *path, cli_failure *failure)
{
    const size_t count = rynd_trainer_state_count(trainee->trainer);
    return checkpoint->count == count ||
           cli_fail(failure,
                    "'%s' has %zu states, but this run %zu: it is of another model, or of other "
                    "--freeze",
                    path, checkpoint->count, count);
}

bool cli_trainee_restore(cli_trainee *trainee, const cli_tensor *state, const char *path,
                         cli_failure *failure)
{
    if (rynd_trainer_write(trainee->trainer, state->name, &state->view) != RYND_OK) {
        cli_fail_library(failure);
        return cli_fail_prefix(failure, "'%s': ", path);
    }
    return true;
}

/* A pipe or a device cannot be written beside and renamed. */
static bool save_to_special(const cli_trainee *trainee, const char *path, cli_failure *failure)
{
    void *data;
    size_t size;
    if (rynd_trainer_save_memory(trainee->trainer, &data, &size) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool done = cli_file_write(path, data, size, failure);
    rynd_memory_free(trainee->setup->context, data);
    return done;
}

bool cli_trainee_save(const cli_trainee *trainee, const char *path, cli_failure *failure)
{
    if (cli_file_is_special(path)) {
        return save_to_special(trainee, path, failure);
    }
    sigset_t before;
    cli_ending_hold(&before); /* so that no signal leaves half of a file */
    const bool done = rynd_trainer_save(trainee->trainer, path) == RYND_OK;
    cli_ending_release(&before);
    return done || cli_fail_library(failure);
}
