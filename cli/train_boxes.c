/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a detector in training. */
#include "train_boxes.h"

#include "notes.h"
#include "preparation.h"

#include <inttypes.h>

static bool check_classes(const cli_train_run *run, cli_failure *failure)
{
    const int64_t count = (int64_t)run->data.class_count, room = run->head.classes;
    if (room > 0 && count > room) {
        return cli_fail(failure,
                        "'%s' has %" PRId64 " classes, but head '%s' of '%s' has room for %" PRId64
                        "; export the network for %" PRId64 " classes",
                        run->data.path, count, run->head.name,
                        run->settings->common.arguments.items[0], room, count);
    }
    if (count < room && run->ranks.rank == 0) {
        cli_note(&run->settings->common,
                 "'%s' has %" PRId64 " classes, and head '%s' %" PRId64
                 ": training makes the model forget the others",
                 run->data.path, count, run->head.name, room);
    }
    return true;
}

bool cli_train_open_boxes(cli_train_run *run, cli_failure *failure)
{
    static const cli_preprocess nothing = {.preset = 0};
    if (!run->data.most_boxes) {
        return true;
    }
    run->head = RYND_SIZED(rynd_head);
    if (rynd_model_get_head(run->setup.model, run->settings->head, &run->head) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cli_detail(&run->settings->common, "the outputs are those of head '%s': %s", run->head.name,
               run->head.about);
    cli_preparation_change(&run->head.preparation, &run->pictures, &nothing);
    return check_classes(run, failure);
}
