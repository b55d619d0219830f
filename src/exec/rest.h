/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a plan: nodes whose shapes depend on values that only a run gives. It is planned when the values are known, and kept while the shapes and the
 * small values (those that may decide a shape) stay the same. */
#ifndef RY_EXEC_REST_H
#define RY_EXEC_REST_H

#include "plan/plan.h"

struct ry_session;

typedef struct ry_rest {
    ry_plan *plan;
    struct ry_session *session;
    ry_tensor *inputs; /* as planned: data is a copy of small values */
    ry_arena arena;    /* of `inputs` */
} ry_rest;

rynd_status ry_rest_run(struct ry_session *session, ry_error *error);
rynd_status ry_rest_output(const struct ry_session *session, size_t index, ry_tensor *tensor, ry_error *error);
void ry_rest_destroy(ry_rest *rest);

#endif
