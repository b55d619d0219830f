/* SPDX-License-Identifier: Apache-2.0 */
/* Losses need targets of their kind, and augmentations pictures. */
#include "train_check.h"

#include "notes.h"
#include "wording.h"

#include <inttypes.h>
#include <string.h>

static bool check_class_names(const cli_train_run *run, cli_failure *failure)
{
    const cli_dataset *a = &run->data, *b = &run->validation;
    bool same = !b->kind || !a->classes || a->class_count == b->class_count;
    for (size_t i = 0; same && b->kind && a->classes && i < a->class_count; i++) {
        same = strcmp(a->classes[i], b->classes[i]) == 0;
    }
    return same ? true
                : cli_fail(failure, "'%s' and '%s' have different %s", a->path, b->path,
                           a->most_boxes ? "classes" : "folders of classes");
}

/* An output [N, C, ...] has a number for each class. */
static bool check_class_count(const cli_train_run *run, cli_failure *failure)
{
    const rynd_value_info *out = &run->output;
    const size_t count = run->data.class_count > run->validation.class_count
                             ? run->data.class_count
                             : run->validation.class_count;
    if (out->rank < 2 || out->dim[1] < 0 || count == (size_t)out->dim[1]) {
        return true;
    }
    if (count > (size_t)out->dim[1]) {
        return cli_fail(failure,
                        "'%s' has %zu classes, but output '%s' %s has room for %" PRId64
                        "; --new-head auto replaces the last layer",
                        run->data.path, count, out->name, cli_shape_of_value(out).text,
                        out->dim[1]);
    }
    if (run->data
            .classes) { /* numbers of an archive or an IDX file need not reach the last class */
        cli_note(&run->settings->common,
                 "'%s' has %zu classes, and output '%s' is for %" PRId64
                 "; --new-head auto replaces the last layer",
                 run->data.path, count, out->name, out->dim[1]);
    }
    return true;
}

/* --ignore-label; a mask's usual number for what nobody labelled; or none, -1. */
static int64_t ignored_label(const cli_train_run *run)
{
    enum { USUAL = 255 };
    const int64_t given = run->settings->ignore_label;
    return given >= 0 ? given : run->data.masks ? USUAL : -1;
}

/* The loss of detection and data with boxes need each other. */
static bool check_boxes_loss(const cli_train_run *run, int loss, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const bool boxes = run->data.most_boxes > 0;
    if ((loss == CLI_LOSS_DETECTION) != boxes) {
        return cli_fail_usage(failure, "--loss %s: '%s' %s", cli_loss_name(loss), s->data,
                              boxes ? "has boxes; give detection" : "has no boxes");
    }
    if (!boxes && (s->head || s->box_weight > 0)) {
        return cli_fail_usage(failure, "--%s needs data with boxes; '%s' holds %s",
                              s->head ? "head" : "box-weight", s->data, run->data.kind->name);
    }
    return !boxes || !s->loss_of ||
           cli_fail_usage(failure, "--loss-of: the loss of boxes reads all outputs of the head");
}

bool cli_train_settle_loss(cli_train_run *run, cli_failure *failure)
{
    const cli_train_settings *s = run->settings;
    const bool classes = cli_dataset_has_classes(&run->data);
    const int loss = s->loss                ? s->loss - 1
                     : run->data.most_boxes ? CLI_LOSS_DETECTION
                     : classes              ? CLI_LOSS_CROSS_ENTROPY
                                            : CLI_LOSS_MSE;
    if (!check_boxes_loss(run, loss, failure)) {
        return false;
    }
    if ((loss == CLI_LOSS_CROSS_ENTROPY) != classes) {
        return cli_fail_usage(failure, "--loss %s: '%s' %s", cli_loss_name(loss), s->data,
                              classes ? "has classes; give cross_entropy" : "has no classes");
    }
    if (s->label_smoothing > 0 && loss != CLI_LOSS_CROSS_ENTROPY) {
        return cli_fail_usage(failure, "--label-smoothing needs --loss cross_entropy");
    }
    if (s->ignore_label >= 0 && loss != CLI_LOSS_CROSS_ENTROPY) {
        return cli_fail_usage(failure, "--ignore-label needs --loss cross_entropy");
    }
    run->rule = (cli_score_rule){loss, s->label_smoothing, s->epsilon, ignored_label(run)};
    return check_class_names(run, failure) && (!classes || check_class_count(run, failure));
}

/* Mixed pictures have shares of classes as targets. */
static bool check_mixup(const cli_train_run *run, cli_failure *failure)
{
    const rynd_value_info *in = &run->inputs[0], *out = &run->output;
    if (!run->data.class_count) {
        return cli_fail_usage(failure, "--mixup applies to pictures with classes; '%s' holds %s",
                              run->data.path, run->data.kind->name);
    }
    return (in->dtype == RYND_DTYPE_F32 && out->rank == 2 && out->dim[1] > 0) ||
           cli_fail(failure,
                    "--mixup needs an input of f32 and an output [N, classes]; input '%s' is %s, "
                    "output '%s' %s",
                    in->name, rynd_dtype_name(in->dtype), out->name, cli_shape_of_value(out).text);
}

/* The first option that is given; pairs: of the options that pairs of pictures refuse. NULL: none.
 */
static const char *augmentation(const cli_augment *a, bool pairs)
{
    const struct {
        bool given;
        const char *name;
    } options[] = {
        {a->area > 0, "--random-area"}, {a->pad >= 0, "--random-crop"},
        {a->jitter > 0, "--jitter"},    {a->changes > 0, "--rand-augment"},
        {a->erase > 0, "--erase"},      {a->mixup > 0, "--mixup"},
        {a->flip && !pairs, "--flip"},  {a->turn && !pairs, "--turn"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given) {
            return options[i].name;
        }
    }
    return NULL;
}

/* Boxes move with a part of the picture, and with a flip. */
static bool check_boxes_augment(const cli_train_run *run, cli_failure *failure)
{
    const cli_augment *a = &run->settings->augment;
    const cli_preprocess *p = &run->settings->preprocess;
    const bool square = !p->size.height || p->size.height == p->size.width;
    const struct {
        bool given;
        const char *name;
    } options[] = {{a->pad >= 0, "--random-crop"},     {a->turn, "--turn"},
                   {a->changes > 0, "--rand-augment"}, {a->mixup > 0, "--mixup"},
                   {p->crop.width > 0, "--crop"},      {!square, "--size HxW"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given) {
            return cli_fail_usage(
                failure,
                "%s does not apply to pictures with boxes: they are fitted whole to the input, and "
                "take --size N, --flip, --random-area, --jitter and --erase",
                options[i].name);
        }
    }
    return true;
}

bool cli_train_check_augment(const cli_train_run *run, cli_failure *failure)
{
    const cli_augment *a = &run->settings->augment;
    if (run->data.most_boxes) {
        return check_boxes_augment(run, failure);
    }
    const char *option = augmentation(a, run->data.pairs);
    if (a->area > 0 && a->pad >= 0) {
        return cli_fail_usage(failure, "--random-area and --random-crop: give one of them");
    }
    if (option && run->data.kind == &cli_data_npz) {
        return cli_fail_usage(failure, "'%s' is an archive of arrays: %s applies to pictures only",
                              run->settings->data, option);
    }
    if (option && run->data.pairs) {
        return cli_fail_usage(
            failure,
            "%s does not apply to pairs of pictures: they take --flip, --turn, and --crop, which "
            "crops a pair at a random position",
            option);
    }
    if (run->data.pairs && run->preprocess.size.width) {
        return cli_fail_usage(failure, "--size does not apply to pairs of pictures: their sizes "
                                       "depend on each other");
    }
    return a->mixup <= 0 || check_mixup(run, failure);
}
