/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.h
 *  @brief How long a plan takes, before it runs, and what its choices are made among. */
#ifndef RYND_PREDICT_H
#define RYND_PREDICT_H

#include <rynd/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds of a run on the plan's machine and the context's threads, when nothing else runs there.
 * Of a plan's steps: within the network, whose weights come from wherever the machine keeps so
 * many, and whose tensors are where the step before left them. */
typedef struct rynd_prediction {
    size_t size;      /**< set by the caller to sizeof(rynd_prediction) */
    double median;    /**< as often more as less */
    double low, high; /**< of all predictions of this kind, `coverage` have their time in between */
    double coverage;  /**< 0.9 */
    /** Parts of the median, which partly hide each other and need not sum up to it: arithmetic and
     * moves within a core's own caches; memory; sending threads into the steps. */
    double arithmetic, memory, overhead;
    /** Energy of the whole processor in a run, in joules: its watts (rynd_machine) times the time.
     * 0, and `meter` "", where no meter measured the machine; the text lives as long as the
     * context. */
    double joule, joule_low, joule_high;
    const char *meter;
} rynd_prediction;

/** What a run of a plan takes. Nothing is run: it is computed from the plan and the machine, and is
 * the same every time. Steps that will be planned while running, because their shapes depend on
 * data (rynd_plan_complete), are not in it. Any thread. Fails with ARGUMENT. */
RYND_API rynd_status rynd_plan_predict(const rynd_plan *plan, rynd_prediction *prediction);

/** What one of its steps takes, all micro-batches together. Fails with ARGUMENT when step is out of
 * range. */
RYND_API rynd_status rynd_plan_predict_step(const rynd_plan *plan, size_t step,
                                            rynd_prediction *prediction);

/** What rynd_op_execute takes, run again and again on the same memory. Fails with ARGUMENT. */
RYND_API rynd_status rynd_op_predict(const rynd_op *op, rynd_prediction *prediction);

/** What a choice is made among: a form of a kernel (a kernel with a value for each of its knobs),
 * or a kernel that cannot be taken. Texts and all else are for the call only. */
typedef struct rynd_candidate {
    size_t size;          /**< set by the library to sizeof(rynd_candidate) */
    const char *kernel;   /**< of the problem's operator */
    const char *accuracy; /**< the class that it holds: "strict", "near32", ... */
    const char *refused;  /**< why the kernel cannot be taken; NULL: it can */
    int chosen;           /**< 1: it is what was taken */
    /* Of a form; "" and 0 where the kernel is refused: */
    const char *knobs;          /**< "mr=14 nr=32" */
    rynd_prediction prediction; /**< as rynd_op_predict or rynd_plan_predict_step give */
    double measured;            /**< seconds; 0: not known */
    size_t workspace;           /**< bytes of the kernel's own, on all threads */
    size_t packed;              /**< bytes of weights in the kernel's order, packed once */
} rynd_candidate;

/** Hears of a candidate; what is not 0 ends the walk (CANCELLED). */
typedef int (*rynd_candidate_function)(void *user, const rynd_candidate *candidate);

/** Tells of every candidate for a step's problem: first the one that was chosen, then, in the order
 * of the library's list, all other forms of the kernels that take the problem, and of each other
 * kernel of its operator why it does not. Knobs that no form differs in have the value that the
 * kernel takes by itself. Nothing is run. Any thread. Fails with ARGUMENT when step is out of
 * range, OUT_OF_MEMORY, CANCELLED. */
RYND_API rynd_status rynd_plan_explain(const rynd_plan *plan, size_t step,
                                       rynd_candidate_function tell, void *user);

/** The same of an operator's problem. */
RYND_API rynd_status rynd_op_explain(const rynd_op *op, rynd_candidate_function tell, void *user);

#ifdef __cplusplus
}
#endif
#endif
