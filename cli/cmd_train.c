/* SPDX-License-Identifier: Apache-2.0 */
/* rynd train: a model's weights by examples. */
#include "commands.h"
#include "progress.h"
#include "train_run.h"

#include <stddef.h>
#include <string.h>

#define OFFSET(field) offsetof(cli_train_settings, field)

static const cli_train_settings defaults = {.momentum = -1,
                                            .ignore_label = -1,
                                            .epsilon = 1e-3,
                                            .schedule = CLI_SCHEDULE_DEFAULTS,
                                            .augment = CLI_AUGMENT_DEFAULTS};

/* clang-format off */
static const cli_option options[] = {
    CLI_TITLE("data"),
    {"data", 0, CLI_TEXT, "DIR|FILE", NULL, 0, 0, OFFSET(data),
     "training data. DIR: one folder of pictures per class, pairs of pictures low/NAME and "
     "high/NAME, images/NAME with maps of classes masks/NAME.png, or images/NAME with boxes "
     "labels/NAME.txt (YOLO). FILE: a .json of boxes (COCO), an .npz with x (or one array per input, by its name) and y, or an IDX file "
     "(MNIST's format, also .gz) beside the file of its labels"},
    {"validate", 0, CLI_TEXT, "DIR|FILE", NULL, 0, 0, OFFSET(validate),
     "validation data of the same kind, evaluated after each epoch"},
    {"factor", 0, CLI_INTEGER, "N", NULL, 2, 16, OFFSET(factor),
     "for pairs without a folder 'low': make the small pictures by downscaling the large ones N "
     "times"},
    CLI_TITLE("loss and steps"),
    {"loss", 0, CLI_CHOICE, "NAME", CLI_LOSSES, 0, 0, OFFSET(loss),
     "loss function (default: cross_entropy for data with classes, detection for boxes, else mse)"},
    {"loss-of", 0, CLI_TEXT, "OUTPUT", NULL, 0, 0, OFFSET(loss_of),
     "output that the loss is computed from (default: the model's first)"},
    {"label-smoothing", 0, CLI_NUMBER, "S", NULL, 0, 0.999, OFFSET(label_smoothing),
     "for cross_entropy: share of each target that is spread over all classes (default 0)"},
    {"ignore-label", 0, CLI_INTEGER, "N", NULL, 0, 65535, OFFSET(ignore_label),
     "for cross_entropy: class number whose positions count nowhere (default: 255 in masks)"},
    {"epsilon", 0, CLI_NUMBER, "E", NULL, 1e-12, 1, OFFSET(epsilon),
     "for charbonnier: E in sqrt(d*d + E*E) (default 0.001)"},
    {"head", 0, CLI_TEXT, "NAME", NULL, 0, 0, OFFSET(head),
     "for detection: the way the model's outputs code boxes (default: by their names and shapes)"},
    {"box-weight", 0, CLI_NUMBER, "W", NULL, 1e-6, 1e6, OFFSET(box_weight),
     "for detection: factor of the boxes' part of the loss (default 5)"},
    {"optimizer", 0, CLI_CHOICE, "NAME", CLI_OPTIMIZERS, 0, 0, OFFSET(optimizer),
     "optimizer (default sgd)"},
    {"momentum", 0, CLI_NUMBER, "M", NULL, 0, 0.9999, OFFSET(momentum),
     "momentum of sgd (default 0.9)"},
    {"nesterov", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(nesterov),
     "use Nesterov momentum with sgd"},
    {"weight-decay", 0, CLI_NUMBER, "D", NULL, 0, 1, OFFSET(weight_decay),
     "weight decay (default 0)"},
    {"clip", 0, CLI_NUMBER, "C", NULL, 1e-9, 1e9, OFFSET(clip),
     "clip the global gradient norm to C (default: no clipping)"},
    {"accumulate", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(accumulate),
     "micro-batches per step (default 1): a step averages the gradients of N batches, in the "
     "memory of one"},
    {"memory-limit", 0, CLI_TEXT, "BYTES", NULL, 0, 0, OFFSET(memory_limit),
     "memory limit of a step, as 1500000000, 800M or 1.5G (1G is 1024M). Activations above the "
     "limit are recomputed, which takes time and gives the same bits"},
    {"storage", 0, CLI_CHOICE, "TYPE", CLI_STORAGES, 0, 0, OFFSET(storage),
     "type of the activations stored for the backward pass (default f32). bf16 halves their "
     "memory; gradients are then those of rounded activations"},
    CLI_TITLE("weights"),
    {"init", 0, CLI_CHOICE, "NAME", CLI_INITS, 0, 0, OFFSET(init),
     "initial weights: the model's (default), or drawn by --seed: He's normal distribution, or "
     "the uniform one of PyTorch's layers"},
    {"dropout", 0, CLI_CHOICE, "NAME", CLI_DROPOUTS, 0, 0, OFFSET(dropout),
     "apply the model's Dropout nodes (default), drawn by --seed, or turn them off"},
    {"freeze", 0, CLI_LIST, "PATTERN", NULL, 0, 0, OFFSET(freeze),
     "do not train weights of this name, or weights that nodes of this name read; * and ? match; "
     "may be repeated"},
    {"train-only", 0, CLI_LIST, "PATTERN", NULL, 0, 0, OFFSET(train_only),
     "train only these weights, named as for --freeze; may be repeated"},
    {"new-head", 0, CLI_TEXT, "N|auto", NULL, 0, 0, OFFSET(new_head),
     "first replace the last layer by one of N outputs with random weights; auto: one for each class "
     "of --data"},
    {"train-last", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(train_last),
     "train only the last N layers: convolutions and products with weights, and all nodes after "
     "the first of them"},
    CLI_TITLE("length and learning rate"),
    CLI_SCHEDULE_OPTIONS(OFFSET(schedule)),
    {"epochs", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(epochs),
     "passes through the data (default 1)"},
    {"steps", 0, CLI_INTEGER, "N", NULL, 1, 1e12, OFFSET(steps),
     "stop after N steps"},
    {"patience", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(patience),
     "stop after N epochs without a better validation: more samples right, a larger mAP, or a smaller loss"},
    {"no-shuffle", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(ordered),
     "keep the samples in their order"},
    {"seed", 0, CLI_INTEGER, "N", NULL, 0, 1e15, OFFSET(seed),
     "random seed (shuffling, augmentation, dropout, initialisation; default 0)"},
    CLI_PREPROCESS_OPTIONS(OFFSET(preprocess)),
    CLI_AUGMENT_OPTIONS(OFFSET(augment)),
    CLI_TITLE("files"),
    {"output", 'o', CLI_TEXT, "OUT.onnx", NULL, 0, 0, OFFSET(output),
     "file of the trained model, written at each checkpoint and at the end (default: "
     "MODEL-trained.onnx beside MODEL.onnx, unless --checkpoint is given)"},
    {"keep", 0, CLI_CHOICE, "WHICH", CLI_KEEPS, 0, 0, OFFSET(keep),
     "with --validate: weights of the best epoch in OUT-best.onnx, and of the last one in OUT.onnx "
     "(both, the default), or one of them in OUT.onnx"},
    {"checkpoint", 0, CLI_TEXT, "FILE.npz", NULL, 0, 0, OFFSET(checkpoint),
     "file of the training state, for --resume (default: OUT.checkpoint.npz beside OUT.onnx)"},
    {"checkpoint-every", 0, CLI_INTEGER, "N", NULL, 1, 1e12, OFFSET(every),
     "steps between checkpoints (default: one epoch)"},
    {"resume", 0, CLI_TEXT, "FILE.npz", NULL, 0, 0, OFFSET(resume),
     "continue from a checkpoint"},
    {"other-bits", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(other_bits),
     "with --resume: continue although options, data, device or kernels differ from the "
     "checkpoint's, and report the differences (default: fail)"},
    {"log", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(log),
     "write one line per step and validation: FILE.csv is a table, other names have lines of JSON"},
    {"tensorboard", 0, CLI_TEXT, "DIR", NULL, 0, 0, OFFSET(board),
     "write events for TensorBoard into a folder, which is made where it is not there"},
    {"plot", 0, CLI_TEXT, "FILE.svg", NULL, 0, 0, OFFSET(plot),
     "plot the losses, and the share of samples that are right"},
    {"dry-run", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(dry_run),
     "print the memory and time that training takes, and run nothing"},
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
        return cli_fail_usage(failure, "train: --data DIR|FILE is missing: the training data");
    }
    if (s->every && !s->output && !s->checkpoint) {
        return cli_fail_usage(
            failure,
            "train: --checkpoint-every needs a file: -o OUT.onnx or --checkpoint FILE.npz");
    }
    if (s->other_bits && !s->resume) {
        return cli_fail_usage(failure, "train: --other-bits needs --resume FILE.npz");
    }
    return check_name("output", s->output, ".onnx", failure) &&
           check_name("checkpoint", s->checkpoint, ".npz", failure) &&
           check_name("plot", s->plot, ".svg", failure) &&
           cli_schedule_check(&s->schedule, failure);
}

static bool run(void *data, cli_failure *failure)
{
    cli_train_settings *settings = data;
    return check(settings, failure) && cli_train(settings, failure);
}

const cli_command cli_command_train = {
    .name = "train",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "train an ONNX model on pictures or arrays",
    .text = "Pictures become tensors as in `rynd run`: 0 to 255 unless --scale, --mean, --std or "
            "--preset change them. The same command gives the same bits, at any number of threads, "
            "and also after an interruption and --resume.\n"
            "`mpirun -n N rynd train ...` trains in N processes that share each batch: --batch is "
            "the size over all of them.",
    .examples =
        "rynd train model.onnx --data photos --validate more-photos --preset imagenet --epochs 10\n"
        "rynd train model.onnx --data train.npz --loss mse --optimizer adam --lr 1e-3 -o out.onnx",
    .options = options,
    .uses = CLI_USE_ALL & ~(unsigned)CLI_USE_TABLES,
    .settings_size = sizeof(cli_train_settings),
    .defaults = &defaults,
    .run = run,
};
