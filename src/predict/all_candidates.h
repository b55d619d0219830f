/* SPDX-License-Identifier: Apache-2.0 */
/* What a choice is made among: every kernel for a problem's operator, with its forms, or why it is
 * none. */
#ifndef RY_PREDICT_ALL_CANDIDATES_H
#define RY_PREDICT_ALL_CANDIDATES_H

#include "predict/predict.h"

enum { RY_REFUSAL_LENGTH = 128 };

/* A form that takes the problem, or a kernel that is not among them. */
typedef struct ry_candidate {
    const ry_kernel *kernel;
    const ry_prepared *prepared; /* without its state; NULL: the kernel is refused */
    const char *refused;         /* why; NULL: it is not */
    const ry_target *target;     /* for which it is prepared */
    bool chosen;                 /* what was taken */
} ry_candidate;

/* What is not RYND_OK ends the walk. */
typedef rynd_status (*ry_candidate_function)(void *user, const ry_candidate *candidate,
                                             ry_error *error);

/* Tells of the one that was chosen, prepared for `target`, then of all others in the order of the
 * list: of kernels that ry_kernel_next walks all forms that there are, of others of this operator
 * the reason. beside: the target of the device where `target` is the CPU's because nothing else
 * takes the problem; NULL: there is none. Candidates are for the call only. */
rynd_status ry_explain(const ry_prepared *chosen, unsigned constants, const ry_target *target,
                       const ry_target *beside, ry_candidate_function function, void *user,
                       ry_error *error);

#endif
