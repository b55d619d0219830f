/* SPDX-License-Identifier: Apache-2.0 */
/* What a form's arithmetic is made of: seconds of each kind of operation. */
#ifndef RY_PREDICT_WORK_KINDS_H
#define RY_PREDICT_WORK_KINDS_H

#include "kernels/costs.h"
#include "kernels/kernel.h"

/* Place 0: multiply-adds, and work that has no kind; then ry_cost_kind. */
enum { RY_WORK_KINDS = 1 + RY_COST_KINDS };

/* "multiply-add", "add", ..., "l2", "l3", "dram"; NULL: no such place. */
const char *ry_work_kind_name(size_t place);

/* Seconds that each kind takes of `arithmetic`, the form's own on so many threads. They sum up to
 * it. The form is prepared once a kind: too slow for choices. Fails with OUT_OF_MEMORY. */
rynd_status ry_predict_kinds(const ry_prepared *form, const ry_target *target, unsigned constants,
                             unsigned threads, double arithmetic, double seconds[RY_WORK_KINDS],
                             ry_error *error);

#endif
