/* SPDX-License-Identifier: Apache-2.0 */
/* rynd train: a model's weights by examples. */
#include "commands.h"
#include "progress.h"
#include "train_run.h"

#include <stddef.h>
#include <string.h>

#define OFFSET(field) offsetof(cli_train_settings, field)

static const cli_train_settings defaults = {
    .momentum = -1, .epsilon = 1e-3, .schedule = CLI_SCHEDULE_DEFAULTS, .augment = {.pad = -1}};

/* clang-format off */
static const cli_option options[] = {
    {"data", 0, CLI_TEXT, "DIR|FILE", NULL, 0, 0, OFFSET(data),
     "what to learn from: a folder with a folder of pictures for each class; a folder with pairs of "
     "pictures, low/NAME and high/NAME; an .npz of x and y (of several inputs one array by the name "
     "of each, and y); an IDX file of pictures (MNIST's format, "
     ".gz too) with the file of their classes beside it"},
    {"validate", 0, CLI_TEXT, "DIR|FILE", NULL, 0, 0, OFFSET(validate),
     "data of the same kind to judge by behind each epoch"},
    {"factor", 0, CLI_INTEGER, "N", NULL, 2, 16, OFFSET(factor),
     "of pairs without a folder 'low': make the small pictures of the large ones, N times smaller"},
    {"loss", 0, CLI_CHOICE, "NAME", CLI_LOSSES, 0, 0, OFFSET(loss),
     "what is made small (default: cross_entropy where the data has classes, else mse)"},
    {"loss-of", 0, CLI_TEXT, "OUTPUT", NULL, 0, 0, OFFSET(loss_of),
     "the output that the loss is of (default: the model's first)"},
    {"label-smoothing", 0, CLI_NUMBER, "S", NULL, 0, 0.999, OFFSET(label_smoothing),
     "of cross_entropy: a part S of each target is spread over all classes (default 0)"},
    {"epsilon", 0, CLI_NUMBER, "E", NULL, 1e-12, 1, OFFSET(epsilon),
     "of charbonnier: sqrt(d*d + E*E) (default 0.001)"},
    {"optimizer", 0, CLI_CHOICE, "NAME", CLI_OPTIMIZERS, 0, 0, OFFSET(optimizer),
     "how weights change (default sgd)"},
    {"momentum", 0, CLI_NUMBER, "M", NULL, 0, 0.9999, OFFSET(momentum),
     "of sgd (default 0.9)"},
    {"nesterov", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(nesterov), "of sgd: Nesterov's momentum"},
    {"weight-decay", 0, CLI_NUMBER, "D", NULL, 0, 1, OFFSET(weight_decay),
     "weights are drawn towards 0 by D (default 0)"},
    {"clip", 0, CLI_NUMBER, "C", NULL, 1e-9, 1e9, OFFSET(clip),
     "gradients of a larger norm than C are made shorter"},
    {"accumulate", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(accumulate),
     "a step takes N batches one after another, and the mean of their gradients: as one batch of N "
     "times the size, in the memory of one (default 1)"},
    {"memory-limit", 0, CLI_TEXT, "BYTES", NULL, 0, 0, OFFSET(memory_limit),
     "what a step may take, as 1500000000, 800M or 1.5G (1G is 1024M): what does not fit is computed "
     "again where it is needed, which takes time and gives the same bits"},
    {"storage", 0, CLI_CHOICE, "TYPE", CLI_STORAGES, 0, 0, OFFSET(storage),
     "how activations are kept for the backward pass: f32 (default), or bf16, in half the memory: "
     "gradients are then those of rounded activations"},
    {"init", 0, CLI_CHOICE, "NAME", CLI_INITS, 0, 0, OFFSET(init),
     "what the weights are at first: the model's (default), or fresh ones by --seed: normal numbers "
     "after He, or uniform ones as PyTorch's layers are made"},
    {"dropout", 0, CLI_CHOICE, "NAME", CLI_DROPOUTS, 0, 0, OFFSET(dropout),
     "what the model's Dropout nodes do in a step: drop as the model says (default), by --seed, or "
     "nothing"},
    {"freeze", 0, CLI_LIST, "PATTERN", NULL, 0, 0, OFFSET(freeze),
     "leave weights as they are: those of these names (* and ?), and those that nodes of these "
     "names read; may be repeated"},
    {"train-only", 0, CLI_LIST, "PATTERN", NULL, 0, 0, OFFSET(train_only),
     "train these weights alone, by name as --freeze has it, and leave all others as they are; may "
     "be repeated"},
    {"train-last", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(train_last),
     "train the last N layers alone (convolutions and products with weights, and what is behind the "
     "first of them), whatever their names"},
    CLI_SCHEDULE_OPTIONS(OFFSET(schedule)),
    {"epochs", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(epochs),
     "go through the data N times (default 1)"},
    {"steps", 0, CLI_INTEGER, "N", NULL, 1, 1e12, OFFSET(steps), "stop after N steps"},
    {"no-shuffle", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(ordered),
     "take the samples in their order"},
    {"seed", 0, CLI_INTEGER, "N", NULL, 0, 1e15, OFFSET(seed),
     "of the order and of everything else that is random (default 0)"},
    CLI_PREPROCESS_OPTIONS(OFFSET(preprocess)),
    CLI_AUGMENT_OPTIONS(OFFSET(augment)),
    {"output", 'o', CLI_TEXT, "OUT.onnx", NULL, 0, 0, OFFSET(output),
     "where the model with its new weights goes, at each checkpoint and at the end (default: "
     "MODEL-trained.onnx beside MODEL.onnx, unless --checkpoint is given)"},
    {"checkpoint", 0, CLI_TEXT, "FILE.npz", NULL, 0, 0, OFFSET(checkpoint),
     "where everything goes that --resume needs (default: OUT.checkpoint.npz beside OUT.onnx)"},
    {"checkpoint-every", 0, CLI_INTEGER, "N", NULL, 1, 1e12, OFFSET(every),
     "steps between two checkpoints (default: an epoch)"},
    {"resume", 0, CLI_TEXT, "FILE.npz", NULL, 0, 0, OFFSET(resume),
     "go on where a checkpoint was made"},
    {"other-bits", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(other_bits),
     "with --resume: go on although options, data, device or kernels are not those of the "
     "checkpoint, and say which (without it that is an error)"},
    {"log", 0, CLI_TEXT, "FILE.jsonl", NULL, 0, 0, OFFSET(log),
     "write a line of JSON for each step and validation"},
    {"plot", 0, CLI_TEXT, "FILE.svg", NULL, 0, 0, OFFSET(plot), "draw the losses"},
    {"dry-run", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(dry_run),
     "say how much memory and time it takes, and run nothing"},
    {0},
};
/* clang-format on */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* A name that says another format would have the file read as one. */
static bool check_name(const char *option, const char *path, const char *end, cli_failure *failure)
{
    return !path || ends_with(path, end) || strncmp(path, "/dev/", 5) == 0
               ? true
               : cli_fail_usage(failure,
                                "train: --%s does not take '%s'; give a name that ends with %s",
                                option, path, end);
}

static bool check(const cli_train_settings *s, cli_failure *failure)
{
    if (!s->data) {
        return cli_fail_usage(failure, "train: --data DIR|FILE is missing: what to learn from");
    }
    if (s->every && !s->output && !s->checkpoint) {
        return cli_fail_usage(failure, "train: --checkpoint-every: say where with -o OUT.onnx or "
                                       "--checkpoint FILE.npz");
    }
    if (s->other_bits && !s->resume) {
        return cli_fail_usage(failure, "train: --other-bits is for --resume FILE.npz");
    }
    return check_name("output", s->output, ".onnx", failure) &&
           check_name("checkpoint", s->checkpoint, ".npz", failure) &&
           check_name("plot", s->plot, ".svg", failure) &&
           cli_schedule_check(&s->schedule, failure);
}

static bool run(void *data, cli_failure *failure)
{
    cli_train_settings *settings = data;
    cli_preprocess_settle(&settings->preprocess);
    return check(settings, failure) && cli_train(settings, failure);
}

const cli_command cli_command_train = {
    .name = "train",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "train an ONNX model on files",
    .text =
        "Pictures become tensors as `rynd run` has them: 0 to 255 unless --scale, --mean, --std "
        "or --preset say otherwise.\n"
        "The same command gives the same bits, at any number of threads, also where it was "
        "interrupted and went on with --resume.\n"
        "mpirun -n N rynd train ... trains in N processes, each with its part of a batch, whose "
        "size is of all together.",
    .options = options,
    .takes_model = true,
    .settings_size = sizeof(cli_train_settings),
    .defaults = &defaults,
    .run = run,
};
