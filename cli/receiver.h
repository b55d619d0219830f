/* SPDX-License-Identifier: Apache-2.0 */
/* Where the arrays of a file go, one after the other, and who decides about each before its
 * content is read. */
#ifndef CLI_RECEIVER_H
#define CLI_RECEIVER_H

#include "held_tensor.h"

typedef struct cli_receiver {
    void *user;
    /* The first question about an array: whether it is wanted at all. `name`: in an archive of
     * several, else NULL. */
    bool (*wants)(void *user, const char *name);
    /* Its dtype and shape (data NULL): false, with the reason, when it cannot be used. */
    bool (*fits)(void *user, const rynd_tensor *head, cli_failure *failure);
    /* Takes it over. */
    bool (*take)(void *user, cli_tensor *tensor, cli_failure *failure);
    int64_t elements; /* limit of an array; -1: any */
} cli_receiver;

#endif
