/* SPDX-License-Identifier: Apache-2.0 */
/* Example inputs of a model: a folder of files that `rynd run` reads, perhaps in one folder per
 * class, or an archive of arrays. */
#ifndef CLI_EXAMPLES_H
#define CLI_EXAMPLES_H

#include "held_tensor.h"
#include "preprocess.h"
#include "run_inputs.h"

/* A file, and the class that its folder is; -1: no class. */
typedef struct cli_example_file {
    char *path;
    int64_t label;
} cli_example_file;

typedef struct cli_examples {
    const char *path; /* borrowed */
    size_t count;
    bool labelled;
    /* for a folder */
    cli_example_file *files;
    size_t room;
    /* for an archive: an array per input, then y; each example is `rows[i]` rows of array i */
    cli_tensor *arrays;
    rynd_value_info *infos;
    int64_t *rows;
    size_t inputs;
} cli_examples;

/* One example: a tensor per input. */
typedef struct cli_example {
    rynd_tensor *views;
    int64_t label; /* class index; -1: none */
    cli_inputs held;
    rynd_tensor *own;
} cli_example;

/* labelled: every example needs a class. The caller closes, also when this fails. */
bool cli_examples_open(cli_examples *examples, const char *path, const cli_setup *setup,
                       const cli_common *common, bool labelled, cli_failure *failure);
void cli_examples_close(cli_examples *examples);
/* Failures name the file. The caller frees, also when this fails. */
bool cli_examples_read(const cli_examples *examples, size_t index, const cli_setup *setup,
                       const cli_common *common, const cli_preprocess *preprocess,
                       cli_example *example, cli_failure *failure);
void cli_example_free(cli_example *example);

#endif
