/* SPDX-License-Identifier: Apache-2.0 */
/** @file tune.h
 *  @brief Choices by measurement: which kernel, in which form, is fastest here (docs/tuning.md). */
#ifndef RYND_TUNE_H
#define RYND_TUNE_H

#include <rynd/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable: what tuning measured. Its context must outlive it. */
typedef struct rynd_tuning rynd_tuning;

/** Where constants (weights) are when a run begins. Other inputs are in the caches, as far as they
 * fit, as behind the step before. Devices other than the CPU measure WARM. */
typedef enum rynd_tune_weights {
    RYND_TUNE_WEIGHTS_DEFAULT = 0, /**< of a problem COLD; of a model COLD where its weights are
                                      more than stays in the caches from run to run */
    RYND_TUNE_WEIGHTS_COLD,        /**< in memory */
    RYND_TUNE_WEIGHTS_WARM,        /**< in the caches, as far as they fit */
} rynd_tune_weights;

/** How far tuning is. Strings live during the call. */
typedef struct rynd_tune_progress {
    size_t size;
    const char *problem;        /**< that is being tuned; "": plans are compared as a whole */
    size_t index, count;        /**< of that problem, and how many there are */
    size_t looked, forms;       /**< forms of it that were tried, of so many */
    size_t left;                /**< forms that may still be the best; 0: not all were tried */
    const char *kernel, *knobs; /**< the best so far */
    double ratio;               /**< of its time over the untuned one's */
    double spent, budget;       /**< seconds, of all problems */
    double saved;               /**< seconds of one run of the model, so far, by the steps' times */
} rynd_tune_progress;

/** Options. Set `size` to sizeof(rynd_tune_options) and everything else that is not wanted to 0. */
typedef struct rynd_tune_options {
    size_t size;
    /** seconds to spend at most; preparing a single kernel is not cut short. 0: of a problem 0.1
     * and 400 runs, but 10 at most; of a model 20 at most */
    double budget;
    uint64_t seed; /**< of inputs, of what is compared with the reference, of the order of runs */
    rynd_tune_weights weights;
    rynd_accuracy accuracy; /**< DEFAULT: as the problem's text says; of a model: not read */
    /** bit i: input i of a problem is constant, as in rynd_op_options; of a model: not read */
    unsigned constants;
    int without_wisdom; /**< 1: what is measured is not kept; 0: it goes to the context's wisdom */
    /** Hears how far it is, from the calling thread; what is not 0 ends it: what was learned
     * stays. NULL: nobody. */
    int (*progress)(void *user, const rynd_tune_progress *progress);
    void *progress_user;
    /** 1: after the race, the energy of a run of each form that raced is measured, for 50 ms each
     * beyond the budget, where the machine has a meter: of the CPU's packages as a whole. 0, and of
     * other devices: it is not */
    int energy;
} rynd_tune_options;

/** Measures every form of every kernel that takes a problem on the context's device and threads.
 * What is measured is first compared with the reference; it is kept in the context's wisdom
 * (<rynd/wisdom.h>), and plans and operators that are made later take it. options NULL: all
 * defaults. Not while anything else runs on the context. Fails with ARGUMENT (a budget below 0, an
 * unknown value), FORMAT (the text), SHAPE (no content is known that is legal for the inputs),
 * UNSUPPORTED (no kernel takes it; a negative stride; what is planned does not run here; the
 * context is frozen), OUT_OF_MEMORY, DEVICE. The caller destroys the tuning. */
RYND_API rynd_status rynd_tune_problem(rynd_context *context, const char *problem,
                                       const rynd_tune_options *options, rynd_tuning **tuning);

/** Of a model, first plans of other layouts, fusions and micro-batches run in turns with the best
 * so far, each planned as a whole (unless the settings have some of that: "plan.KNOB"). Then the
 * same as of a problem for the distinct problems of the best plan's steps that have more than one
 * form, those that take longest first. Then a plan is made with what was found, and both run in
 * turns: a form whose steps are not faster there is given up; of what is left, where the plan as a
 * whole is not faster beyond noise, the untuned choices stay, in the wisdom, too. `plan`: the
 * plan's options, or NULL; steps that its settings name are not tuned. Fails as rynd_plan_create
 * and rynd_tune_problem do. The model must outlive the call only. */
RYND_API rynd_status rynd_tune_model(rynd_model *model, const rynd_plan_options *plan,
                                     const rynd_tune_options *options, rynd_tuning **tuning);

/** Frees a tuning; NULL is allowed. */
RYND_API void rynd_tuning_destroy(rynd_tuning *tuning);

/** Times in seconds. */
typedef struct rynd_tuning_info {
    size_t size; /**< set by the caller to sizeof(rynd_tuning_info) */
    size_t problems;
    double budget, used;
    /** of a model, medians of whole runs in turns: by the untuned plan, and by the one with what
     * was found; equal where nothing was, 0 where nothing was compared */
    double before, after;
    double ratio; /**< after over before, paired in turns; 1 where nothing was compared */
    size_t runs;  /**< of each of the two plans */
    /** 1: what was found is taken (where `progress` ended it before plans were compared, too);
     * 0: the untuned choices stay */
    int taken;
    int ended; /**< 1: `progress` ended it */
    /** of a model: plans of other layouts, fusions and micro-batches that were listed; the plans
     * that were timed (rynd_tuning_get_plan), the untuned one the first; and which of them is taken
     */
    size_t plans_listed, plans, plan;
} rynd_tuning_info;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_tuning_get_info(const rynd_tuning *tuning, rynd_tuning_info *info);

/** A plan of a model that was timed as a whole. Times in seconds; strings live as long as the
 * tuning. */
typedef struct rynd_tuned_plan {
    size_t size;       /**< set by the caller to sizeof(rynd_tuned_plan) */
    const char *knobs; /**< what is not 100 percent: "channels_last=80"; "" of the untuned one */
    double predicted;
    size_t n; /**< runs */
    double mean, variance, median, min, max;
    /** of its time over that of the best plan before it, paired in turns; 1 of the untuned one */
    double ratio;
    int faster; /**< 1: it was the best from then on */
} rynd_tuned_plan;

/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_tuning_get_plan(const rynd_tuning *tuning, size_t index,
                                          rynd_tuned_plan *plan);

/** A problem that was tuned. Strings live as long as the tuning. */
typedef struct rynd_tuned_problem {
    size_t size;         /**< set by the caller to sizeof(rynd_tuned_problem) */
    const char *problem; /**< canonical text */
    unsigned constants;
    size_t steps; /**< of the model that have it; 1 for a problem alone */
    size_t forms; /**< that were listed; the untuned choice is the first, then by prediction */
    size_t taken; /**< the form to take; 0: the untuned choice */
    double ratio; /**< of its time over the untuned one's, paired in rounds; 1 */
    size_t rounds, disturbed; /**< that counted, and that something else disturbed */
    size_t left_out;          /**< forms that are predicted to be hopeless */
    double seconds;           /**< that tuning it took */
    int cold;                 /**< 1: weights came from memory */
    /** of its steps' time within the model over the untuned ones', where they were compared; a form
     * for which it is not below 1 is given up (`taken` is 0). 0: they were not */
    double network_ratio;
    int elsewhere; /**< 1: another process tunes it at this time: nothing was measured */
} rynd_tuned_problem;

/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_tuning_get_problem(const rynd_tuning *tuning, size_t index,
                                             rynd_tuned_problem *problem);

/** What became of a form. */
typedef enum rynd_tuned_verdict {
    RYND_TUNED_UNTRIED = 0, /**< no budget was left */
    RYND_TUNED_REJECTED,    /**< it cannot be made here, or its outputs are wrong: `reason` */
    RYND_TUNED_SLOWER,
    RYND_TUNED_EQUAL, /**< not slower for certain, and not taken */
    RYND_TUNED_TAKEN,
} rynd_tuned_verdict;

/** A form of a kernel, and its times in seconds. Strings live as long as the tuning. */
typedef struct rynd_tuned_form {
    size_t size; /**< set by the caller to sizeof(rynd_tuned_form) */
    const char *kernel, *knobs;
    rynd_tuned_verdict verdict;
    const char *reason; /**< why it was rejected; "" */
    double predicted;
    size_t n;                                /**< measurements, each a mean of short runs */
    double mean, variance, median, min, max; /**< 0 where n is 0 */
    double flop, bytes;                      /**< that it does, and moves */
    size_t tasks;                            /**< of all phases */
    size_t packed, workspace;                /**< bytes: of weights, and of all threads' memory */
    double joule; /**< that a run takes, with its data in the caches; 0: not measured */
} rynd_tuned_form;

/** Fails with ARGUMENT when problem or form is out of range. */
RYND_API rynd_status rynd_tuning_get_form(const rynd_tuning *tuning, size_t problem, size_t form,
                                          rynd_tuned_form *info);

/** The fixed English word of a verdict ("slower"). Never NULL; any thread. */
RYND_API const char *rynd_tuned_verdict_text(rynd_tuned_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
