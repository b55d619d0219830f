/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a plan and of its rest: nodes whose shapes depend on values that only a run gives. The
 * rest is planned when the values are known, and kept while the shapes and the small values (those
 * that may decide a shape) stay the same; it may leave a rest of its own. One thread at a time. */
#ifndef RY_EXEC_RUN_H
#define RY_EXEC_RUN_H

#include "exec/session.h"

typedef struct ry_run ry_run;

/* The plan is borrowed and must outlive the run. accuracy: what the rest is planned with. */
rynd_status ry_run_create(const ry_plan *plan, ry_accuracy accuracy, ry_run **run, ry_error *error);
void ry_run_destroy(ry_run *run); /* NULL is allowed */
/* The session of the plan itself: bindings and step times. */
ry_session *ry_run_session(ry_run *run);
rynd_status ry_run_go(ry_run *run, ry_error *error);
/* Puts a run into the session's stream; where the plan has a rest, the run is done when this
 * returns. ry_run_finish waits for it and tells what went wrong. */
rynd_status ry_run_start(ry_run *run, ry_error *error);
rynd_status ry_run_finish(ry_run *run, ry_error *error);
/* Valid until the next run. Fails with ARGUMENT where the output is the rest's and nothing has run
 * yet. */
rynd_status ry_run_output(const ry_run *run, size_t index, ry_tensor *tensor, ry_error *error);
size_t ry_run_memory(const ry_run *run); /* bytes of arenas and staging */

#endif
