/* SPDX-License-Identifier: Apache-2.0 */
/** @file tune.h
 *  @brief Experimental (see <rynd/rynd.h>): finds the fastest kernels by measurement
 *  (docs/tuning.md). */
#ifndef RYND_TUNE_H
#define RYND_TUNE_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable: the measurements of one tuning. The context must outlive the tuning. */
typedef struct rynd_tuning rynd_tuning;

/** Where constants (weights) are when a run begins. Other inputs are in the caches as far as they
 * fit, as after the step before. Devices other than the CPU measure WARM. */
typedef enum rynd_tune_weights {
    /** COLD for a problem; for a model COLD if its weights exceed the caches */
    RYND_TUNE_WEIGHTS_DEFAULT = 0,
    RYND_TUNE_WEIGHTS_COLD, /**< in memory */
    RYND_TUNE_WEIGHTS_WARM, /**< in the caches, as far as they fit */
} rynd_tune_weights;

/** How far tuning is (rynd_progress.tuning). Valid during the callback. */
typedef struct rynd_tune_progress {
    size_t size;                /**< set by the library */
    const char *problem;        /**< the problem being tuned; "": whole plans are compared */
    size_t index, count;        /**< its index, and the number of problems */
    size_t looked, forms;       /**< forms tried, and all forms of the problem */
    size_t left;                /**< forms that may still win; 0: some are untried */
    const char *kernel, *knobs; /**< the best form so far */
    double ratio;               /**< its time over the untuned choice's */
    double spent, budget;       /**< seconds for all problems */
    double saved;               /**< seconds saved per run of the model so far, by steps' times */
} rynd_tune_progress;

/** Options of rynd_tune_problem and rynd_tune_model. */
typedef struct rynd_tune_options {
    size_t size;
    /** Time limit in seconds; preparing one kernel is not cut short. 0: for a problem 0.1 seconds
     * and 400 runs, at most 10; for a model at most 20. */
    double budget;
    uint64_t seed; /**< for inputs, reference comparisons and the order of runs */
    rynd_tune_weights weights;
    rynd_accuracy accuracy; /**< DEFAULT: as the problem's text says; ignored for a model */
    unsigned constants;     /**< bit i: input i is constant, as in rynd_op_options; ignored for a
                             * model */
    int without_wisdom;     /**< 1: does not store the measurements in the context's wisdom */
    /** Hears how far tuning is. A result other than 0 ends it without an error: the findings so far
     * stay. NULL: none. */
    rynd_progress_function progress;
    void *progress_user;
    /** 1: also measures the energy of each form that raced, for 50 ms each beyond the budget: the
     * CPU packages as a whole. Ignored without a meter, and on other devices. */
    int energy;
} rynd_tune_options;

/** Measures every form of every kernel that takes a problem, on the context's device and threads;
 * the caller destroys the tuning. Each form is first compared with the reference. The times go into
 * the context's wisdom (<rynd/wisdom.h>), which later plans and operators use. options NULL: all
 * defaults. Nothing else may run on the context. Of a problem that takes several steps (rynd_op_plan)
 * the problems of its steps are tuned, each alone.
 *
 * Fails with FORMAT (the text), SHAPE (no legal input content is known), UNSUPPORTED (no kernel
 * takes it; a negative stride; the plans are for another machine; the context is frozen),
 * OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_tune_problem(rynd_context *context, const char *problem,
                                       const rynd_tune_options *options, rynd_tuning **tuning);

/** Tunes a model, which must outlive the call; the caller destroys the tuning.
 *  1. Plans with other layouts, fusions and micro-batches race the best plan so far, as a whole
 *     (unless the settings have "plan.KNOB").
 *  2. The distinct problems of the best plan's steps are tuned like rynd_tune_problem, the slowest
 *     first.
 *  3. A plan with the findings races the untuned one. Forms whose steps are not faster there are
 *     dropped. If the plan is not faster beyond noise, the untuned choices stay, in the wisdom too.
 * `plan`: the plan's options, or NULL; steps that its settings name are not tuned. Fails as
 * rynd_plan_create and rynd_tune_problem do. */
RYND_API rynd_status rynd_tune_model(const rynd_model *model, const rynd_plan_options *plan,
                                     const rynd_tune_options *options, rynd_tuning **tuning);

/** Frees a tuning. */
RYND_API void rynd_tuning_destroy(rynd_tuning *tuning);

/** The result of a tuning. Times in seconds. Fields from `before` on are for models. */
typedef struct rynd_tuning_info {
    size_t size;
    size_t problems; /**< rynd_tuning_get_problem */
    double budget, used;
    double before,
        after;           /**< median run with the untuned plan, and before * ratio; equal if nothing
                           * was found, 0 if nothing was compared */
    double ratio;        /**< after / before, paired in turns; 1: nothing was compared */
    size_t runs;         /**< runs of each of the two plans */
    int taken;           /**< 1: the findings hold, also if `progress` ended the tuning before the
                           * comparison; 0: the untuned choices stay */
    int ended;           /**< 1: `progress` ended the tuning */
    size_t plans_listed; /**< plans with other layouts, fusions and micro-batches */
    size_t plans;        /**< plans that were timed (rynd_tuning_get_plan), first the untuned one */
    size_t plan;         /**< the index of the winner */
} rynd_tuning_info;

/** Describes a tuning. */
RYND_API rynd_status rynd_tuning_get_info(const rynd_tuning *tuning, rynd_tuning_info *info);

/** A plan of a model that was timed as a whole. Times in seconds. */
typedef struct rynd_tuned_plan {
    size_t size;
    const char *knobs; /**< knobs that differ from 100 percent: "channels_last=80"; "": untuned */
    double predicted;
    size_t n; /**< runs */
    double mean, variance, median, min, max;
    double ratio; /**< its time over the best plan's before it, paired in turns; 1: untuned */
    int faster;   /**< 1: it became the best */
} rynd_tuned_plan;

/** Describes a timed plan. */
RYND_API rynd_status rynd_tuning_get_plan(const rynd_tuning *tuning, size_t index,
                                          rynd_tuned_plan *plan);

/** A tuned problem. */
typedef struct rynd_tuned_problem {
    size_t size;
    const char *problem; /**< canonical text */
    unsigned constants;
    size_t steps;     /**< steps of the model with this problem; 1 for a single problem */
    size_t forms;     /**< all forms: the untuned choice first, then by predicted time */
    size_t taken;     /**< index of the best form; 0: the untuned choice */
    double ratio;     /**< its time over the untuned choice's, paired in rounds */
    size_t rounds;    /**< rounds that counted */
    size_t disturbed; /**< rounds that other work disturbed */
    size_t left_out;  /**< forms with hopeless predictions */
    double seconds;   /**< time spent on this problem */
    int cold;         /**< 1: weights came from memory */
    /** Time of its steps within the model over the untuned ones' time; a form at 1 or above is
     * dropped (`taken` is 0). 0: not compared. */
    double network_ratio;
    int elsewhere; /**< 1: another process was tuning it, so nothing was measured */
    /** How disturbed the race was, 0 to 1, as rynd_machine's `disturbance`: the untuned choice is
     * the canary. */
    double disturbance;
} rynd_tuned_problem;

/** Describes a tuned problem. */
RYND_API rynd_status rynd_tuning_get_problem(const rynd_tuning *tuning, size_t index,
                                             rynd_tuned_problem *problem);

/** The result for a form. */
typedef enum rynd_tuned_verdict {
    RYND_TUNED_UNTRIED = 0, /**< the budget ended before */
    RYND_TUNED_REJECTED,    /**< it cannot be made here, or its outputs are wrong: `reason` */
    RYND_TUNED_SLOWER,
    RYND_TUNED_EQUAL, /**< not certainly slower, and not taken */
    RYND_TUNED_TAKEN,
} rynd_tuned_verdict;

/** A form of a kernel. Times in seconds. */
typedef struct rynd_tuned_form {
    size_t size;
    const char *kernel, *knobs;
    rynd_tuned_verdict verdict;
    const char *reason; /**< why it was rejected; "" */
    double predicted;
    size_t n;                                /**< measurements, each a mean of short runs */
    double mean, variance, median, min, max; /**< 0 if n is 0 */
    double flop, bytes;                      /**< operations, and bytes moved, per run */
    size_t tasks;                            /**< tasks of all phases */
    size_t packed, workspace;                /**< bytes: weights, and memory for all threads */
    double joule; /**< energy per run with its data in the caches; 0: not measured */
} rynd_tuned_form;

/** Describes a form of a problem. */
RYND_API rynd_status rynd_tuning_get_form(const rynd_tuning *tuning, size_t problem, size_t form,
                                          rynd_tuned_form *info);

/** The fixed English word of a verdict ("slower"). Never NULL; any thread. */
RYND_API const char *rynd_tuned_verdict_text(rynd_tuned_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
