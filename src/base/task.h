/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a job: an index, and whoever runs it. */
#ifndef RY_BASE_TASK_H
#define RY_BASE_TASK_H

#include <stddef.h>

/* `worker` is below the number of threads, and no two tasks of one run have the same one at once:
 * it selects a worker's scratch memory. */
typedef void (*ry_task)(void *context, size_t task, unsigned worker);

#endif
