/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of a choice as the caller sees them. */
#ifndef RY_API_API_EXPLAIN_H
#define RY_API_API_EXPLAIN_H

#include "kernels/prepared.h"

#include <rynd/rynd.h>

/* As rynd_op_explain. */
rynd_status ry_api_explain_op(const ry_prepared *prepared, unsigned constants,
                              const rynd_context *context, rynd_candidate_function function,
                              void *user, ry_error *error);

#endif
