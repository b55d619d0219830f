/* SPDX-License-Identifier: Apache-2.0 */
/* The options of more than one command. */
#include "options.h"

#define OFFSET(field) offsetof(cli_common, field)

typedef struct common_option {
    cli_option option;
    unsigned use; /* the cli_use that a command must have */
} common_option;

/* clang-format off */
static const common_option common_options[] = {
    {CLI_TITLE("plan"), 0},
    {{"accuracy", 0, CLI_CHOICE, "CLASS", "strict|near32|tf32|bf16|int8", 0, 0, OFFSET(accuracy),
      "loosest arithmetic allowed (default near32)"}, CLI_USE_ACCURACY},
    {{"dim", 0, CLI_DIMS, "NAME=N", NULL, 0, 0, OFFSET(dims),
      "size of an open dimension of the model, by its name; may be repeated"}, CLI_USE_DIMS},
    {{"batch", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(batch),
      "size of the first dimension of every input that leaves it open (default 1, with a note)"}, CLI_USE_DIMS},
    {{"set", 0, CLI_SETTINGS, "[STEP.]KNOB=V", NULL, 0, 0, OFFSET(settings),
      "set a knob of a step's kernel, or the kernel (STEP.kernel=K); a problem needs no STEP; may "
      "be repeated"}, CLI_USE_KNOBS},
    {CLI_TITLE("machine"), 0},
    {{"device", 0, CLI_TEXT, "DEVICE", NULL, 0, 0, OFFSET(device),
      "device to run on: cpu (default), opencl[:N] or cuda[:N]; `rynd devices` lists them"}, CLI_USE_DEVICE},
    {{"machine", 0, CLI_TEXT, "FILE|CARD", NULL, 0, 0, OFFSET(machine),
      "machine file to plan for, or a card's name of `rynd devices --cards` (default: RYND_MACHINE, "
      "or this machine's)"}, CLI_USE_DEVICE},
    {{"wisdom", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(wisdom),
      "file of stored measurements, or off (default: RYND_WISDOM, or rynd/wisdom.db in the user's "
      "cache)"}, CLI_USE_WISDOM},
    {{"frozen", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(frozen),
      "read stored measurements, but never write them (default: RYND_FREEZE)"}, CLI_USE_WISDOM},
    {{"threads", 0, CLI_INTEGER, "N", NULL, 1, 1024, OFFSET(threads),
      "number of threads (default: RYND_THREADS, or one per core)"}, CLI_USE_THREADS},
    {CLI_TITLE("output"), 0},
    {{"json", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(json),
      "print one JSON document instead of text"}, 0},
    {{"wide", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(wide),
      "print all columns of tables, and whole names, however wide (default: fit 100 columns)"}, CLI_USE_TABLES},
    {{"quiet", 'q', CLI_FLAG, NULL, NULL, 0, 0, OFFSET(quiet),
      "print no notes and no progress bar"}, 0},
    {{"verbose", 'v', CLI_FLAG, NULL, NULL, 0, 0, OFFSET(verbose),
      "print more on standard error"}, 0},
    {{"help", 'h', CLI_FLAG, NULL, NULL, 0, 0, OFFSET(help),
      "print this text"}, 0},
};
/* clang-format on */

const cli_option *cli_option_at(const cli_command *command, size_t i)
{
    const cli_option *own = command->options;
    for (; own && own->name; own++) {
        if (i-- == 0) {
            return own;
        }
    }
    for (size_t c = 0; c < sizeof common_options / sizeof *common_options; c++) {
        if ((common_options[c].use & ~command->uses) == 0 && i-- == 0) {
            return &common_options[c].option;
        }
    }
    return NULL;
}
