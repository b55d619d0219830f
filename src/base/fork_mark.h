/* SPDX-License-Identifier: Apache-2.0 */
/* A number that a process which was forked finds to be 0: there are no threads in it but the one
 * that forked. Asking costs a load, where asking for the process's number is a call of the system.
 */
#ifndef RY_BASE_FORK_MARK_H
#define RY_BASE_FORK_MARK_H

#include <stdatomic.h>

/* A number of its own page, not 0; NULL where the system has no such pages (Linux 4.14). */
atomic_int *ry_fork_mark_create(void);
void ry_fork_mark_destroy(atomic_int *mark); /* NULL is allowed */

#endif
