/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.h
 *  @brief Experimental (see <rynd/rynd.h>): predicted times, and why a kernel was chosen. */
#ifndef RYND_PREDICT_H
#define RYND_PREDICT_H

#include <rynd/machine.h>
#include <rynd/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Predicted seconds of a run on the plan's machine with the context's threads, and nothing else
 * running. A plan's steps are predicted within the network: inputs are where the step before left
 * them, and weights come from the cache or memory that holds them. */
typedef struct rynd_prediction {
    size_t size;
    double median;
    double low, high; /**< interval that holds the measured time with probability `coverage` */
    double coverage;  /**< 0.9 */
    /** Parts of the median, which overlap and need not sum up to it: arithmetic with the core's own
     * caches; memory; starting threads. */
    double arithmetic, memory, overhead;
    double joule, joule_low, joule_high; /**< energy of the whole device: by kind if it was
                                          * calibrated (rynd_machine.energy), else watts times time;
                                          * 0 without a meter */
    const char *meter; /**< the machine's energy meter; "": none; lives as long as the context */
} rynd_prediction;

/** Predicts a run of a plan from the plan and the machine: nothing runs, and the result is always
 * the same. Steps that are planned during runs (rynd_plan_complete) are not included. Any thread.
 */
RYND_API rynd_status rynd_plan_predict(const rynd_plan *plan, rynd_prediction *prediction);

/** Predicts one step with all micro-batches. Any thread. */
RYND_API rynd_status rynd_plan_predict_step(const rynd_plan *plan, size_t step,
                                            rynd_prediction *prediction);

/** Predicts rynd_op_execute, repeated on the same memory. Any thread. */
RYND_API rynd_status rynd_op_predict(const rynd_op *op, rynd_prediction *prediction);

/** Parts of a prediction's arithmetic: multiply-adds and work without a kind, one for each
 * rynd_kind, bytes from the second and third level of the caches, and from memory. */
enum { RYND_WORK_KINDS = 1 + RYND_KINDS + 3 };

/** A part's name: "multiply-add", "store", "l2"; NULL for other numbers. Static. Any thread. */
RYND_API const char *rynd_work_kind_name(size_t kind);

/** A candidate for a step: a kernel with a value for each knob, or a refused kernel. Valid during
 * the callback. Fields from `knobs` on are "" and 0 for a refused kernel. */
typedef struct rynd_candidate {
    size_t size; /**< set by the library */
    const char *kernel;
    const char *accuracy;       /**< the kernel's class: "strict", "near32", ... */
    const char *refused;        /**< why the kernel cannot take the problem; NULL: it can */
    int chosen;                 /**< 1: the step uses this candidate */
    const char *knobs;          /**< "mr=14 nr=32" */
    rynd_prediction prediction; /**< as rynd_op_predict or rynd_plan_predict_step */
    double measured;            /**< seconds; 0: not measured */
    size_t workspace;           /**< bytes for all threads */
    size_t packed;              /**< bytes of packed weights */
    /** Seconds of `prediction.arithmetic` by kind of operation (rynd_work_kind_name): they sum up to
     * it. A kernel's coefficients count operations, which the machine's rates make seconds. */
    double kinds[RYND_WORK_KINDS];
} rynd_candidate;

/** Hears of a candidate. Any result but 0 ends the call (CANCELLED). */
typedef int (*rynd_candidate_function)(void *user, const rynd_candidate *candidate);

/** Calls `tell` for each candidate of a step: first the chosen one, then all other forms of the
 * kernels that take the problem, then the refused kernels of the operator. Knobs in which no forms
 * differ have the kernel's own value. Nothing runs. Any thread. Fails with OUT_OF_MEMORY,
 * CANCELLED. */
RYND_API rynd_status rynd_plan_explain(const rynd_plan *plan, size_t step,
                                       rynd_candidate_function tell, void *user);

/** The same for a single operator. */
RYND_API rynd_status rynd_op_explain(const rynd_op *op, rynd_candidate_function tell, void *user);

#ifdef __cplusplus
}
#endif
#endif
