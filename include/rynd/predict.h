/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.h
 *  @brief How long a plan takes, before it runs. */
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

#ifdef __cplusplus
}
#endif
#endif
