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

/* From now on the first such signal is only noted: what runs looks whether it was asked to end, and
 * ends by itself. A second one ends the process at once. */
void cli_ending_waits(void);
int cli_ending_was_asked(void); /* 1: a signal was noted */

/* Ends the process by the signal that was noted, if one was: for when everything is done that was
 * worth it. */
void cli_ending_give_in(void);

#endif
