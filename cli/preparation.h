/* SPDX-License-Identifier: Apache-2.0 */
/* The library's preparation of pictures, changed by options and by a model's metadata. */
#ifndef CLI_PREPARATION_H
#define CLI_PREPARATION_H

#include "preprocess.h"

#include <rynd/tasks.h>

/* Options count before facts; what neither gives stays. Of options only order and values count. */
void cli_preparation_change(rynd_preparation *preparation, const cli_preprocess *options,
                            const cli_preprocess *facts);

#endif
