/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end the process at somebody's wish (SIGINT, SIGTERM and their like): what is
 * unfinished then is removed, and the process ends by the signal all the same. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

#include <signal.h>

/* Between the two such signals wait. A thread that is made meanwhile never takes one, so the
 * first thread does. */
void cli_ending_hold(sigset_t *before);
void cli_ending_release(const sigset_t *before);

/* The file that such a signal removes from now on; NULL: none. The name stays the caller's. To
 * be called while signals are held. */
void cli_ending_removes(const char *file);

#endif
