/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h
 *  @brief Plans: kernels, layouts and memory for a model with fixed shapes on a device. */
#ifndef RYND_PLAN_H
#define RYND_PLAN_H

#include <rynd/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable: many threads may share one, each with its own sessions. */
typedef struct rynd_plan rynd_plan;

/** The loosest arithmetic that a plan may use. Each step takes its fastest kernel among those that
 * are at least as accurate. On a CPU the error of a convolution's output is bounded by its own
 * window and filter: with d input channels, Winograd's form has
 * |error| <= (d + 25) * 2^-24 * k * R * |window| * |filter| in Euclidean norms. STRICT: R = 4,
 * k <= 10 (74 for 5 taps). NEAR32: R = 16, k <= 562. docs/accuracy.md explains the bound. */
typedef enum rynd_accuracy {
    RYND_ACCURACY_DEFAULT = 0, /**< NEAR32 for models; for operators the problem's text decides */
    RYND_ACCURACY_STRICT,      /**< at most twice the error of a direct float32 sum */
    RYND_ACCURACY_NEAR32,      /**< relative RMS error at most 1e-5 against float64 */
    RYND_ACCURACY_TF32,        /**< operands rounded to 11 significant bits */
    RYND_ACCURACY_BF16,        /**< operands rounded to bfloat16, products summed in float32 */
    RYND_ACCURACY_INT8,        /**< operands rounded to 8 bits */
} rynd_accuracy;

/** The size of a symbolic dim ("batch"). */
typedef struct rynd_dim {
    const char *symbol;
    int64_t value;
} rynd_dim;

/** Sets a step's kernel, or one of its kernel's knobs. The library chooses everything else as
 * without it. */
typedef struct rynd_setting {
    const char *step;  /**< rynd_step_info.name, or "plan" for a knob of the plan itself; NULL is
                        * allowed for a single operator */
    const char *knob;  /**< "kernel", or a knob's name (rynd_plan_get_knob) */
    const char *value; /**< a kernel's name, whatever its accuracy; or a knob's value */
} rynd_setting;

/** Options of rynd_plan_create. */
typedef struct rynd_plan_options {
    size_t size;
    rynd_accuracy accuracy;
    const rynd_dim *dims; /**< sizes of symbolic dims; NULL if dim_count is 0 */
    size_t dim_count;
    /** Shapes to plan for, one per model input (dtype NONE: not given), or NULL. They bind open
     * dims; dims and dtypes that the model fixes must agree (SHAPE). The plan also adapts to their
     * strides: channels last, part of a larger image, backwards, repeated (0). Sessions then read
     * such tensors in place. A device with its own memory gets a row-major or channels-last copy.
     *
     * If `data` is not NULL and has at most 32 elements, the plan holds for this content only, and
     * shapes that depend on it are planned now. */
    const rynd_tensor *inputs;
    int64_t batch;       /**< first dim of each input that leaves it open; 0: not given */
    int without_weights; /**< 1: does not pack weights; the plan can be inspected, not run */
    /** NULL if setting_count is 0. Fails with NOT_FOUND (no such step or kernel), UNSUPPORTED (the
     * kernel does not take the step), ARGUMENT (the message lists the knobs or legal values). */
    const rynd_setting *settings;
    size_t setting_count;
    /** Hears how far planning is. It must not make plans of the same model: they would wait for
     * this plan's weights. NULL: none. */
    rynd_progress_function progress;
    void *progress_user;
    /** Weights of at most so many bytes may be packed again for this plan. Larger weights keep the
     * form of the model's first plan, so plans for further shapes need no time and memory for them.
     * 0: 2 MiB; 1: never pack again; SIZE_MAX: pack any weights, so that each plan has the best
     * kernels for its shape (docs/shapes.md). Plans with settings always pack for themselves. */
    size_t own_weights;
} rynd_plan_options;

/** Makes a plan; the caller destroys it, and the model must outlive it. options NULL: all defaults.
 * `dims`, `batch` or `inputs` must bind every open dim (otherwise SHAPE, naming the symbol). The
 * model does not change, except for the packed weights that its plans share. Any thread. Fails with
 * SHAPE, UNSUPPORTED, NOT_FOUND (an unknown symbol), OUT_OF_MEMORY, CANCELLED. */
RYND_API rynd_status rynd_plan_create(const rynd_model *model, const rynd_plan_options *options,
                                      rynd_plan **plan);

/** Frees a plan. Its sessions must be gone. */
RYND_API void rynd_plan_destroy(rynd_plan *plan);

/** Memory in bytes. */
typedef struct rynd_memory {
    size_t size;
    size_t weights;     /**< constants, also those in the mapped model file */
    size_t activations; /**< values between nodes, with the workspace that fits between them */
    size_t workspace;   /**< further workspace of kernels */
    size_t total;       /**< bytes for the plan and one session */
} rynd_memory;

/** Gives the memory that the plan and one session need. */
RYND_API rynd_status rynd_plan_get_memory(const rynd_plan *plan, rynd_memory *memory);

/** Seconds that rynd_plan_create took. */
RYND_API double rynd_plan_planning_seconds(const rynd_plan *plan);

/** One step of a plan: a node, or several fused ones, and its kernel. */
typedef struct rynd_step_info {
    size_t size;
    const char *name, *op; /**< the node, and its ONNX operator */
    const char *problem;   /**< canonical text (docs/problems.md) */
    const char *kernel;
    const char *knobs; /**< "mode=rows oc_blocks=4"; "" */
    const char *layout_in, *layout_out;
    const char *fused;    /**< "bias relu add"; "" */
    const char *reason;   /**< why this kernel; a "cost" is the predicted time of the problem alone,
                           * rynd_plan_predict_step's that of the step in its network */
    double flop, bytes;   /**< by the operator's definition, with each operand moved once */
    const char *accuracy; /**< the kernel's class, at least as accurate as asked: "near32" */
    double kernel_flop;   /**< operations of the kernel: fewer than `flop` in Winograd's form, more
                           * if it fills up vectors */
    /** Runs of the step, each for a share of the batch, or of a large weight gradient's rows.
     * `problem` describes one run; `flop`, `bytes` and `kernel_flop` count all. */
    int64_t micro_batches;
    size_t activations, workspace; /**< bytes of session memory in use during the step */
    uint64_t source; /**< hash of the kernel's code and compiler, as in wisdom records */
    int reference;   /**< 1: no fast kernel takes the step; a scalar reference computes it */
} rynd_step_info;

/** The plan's choices for the network as a whole: layouts, fusions, micro-batches. */
typedef struct rynd_plan_form {
    size_t size;
    const char *knobs;  /**< knobs that differ from 100 percent: "channels_last=80"; "" */
    const char *reason; /**< "predicted", "set", or "measured 12.1 ms (wisdom)" */
    double measured;    /**< seconds of a run when the plan was tuned; 0: not tuned */
} rynd_plan_form;

/** Describes the plan's own choices. */
RYND_API rynd_status rynd_plan_get_form(const rynd_plan *plan, rynd_plan_form *form);

/** In place of a step's index: the plan itself. Its knobs scale predictions in percent, and so
 * turn doubtful decisions. Settings call it "plan". */
#define RYND_PLAN_WHOLE ((size_t)-1)

/** Number of steps. */
RYND_API size_t rynd_plan_step_count(const rynd_plan *plan);

/** Describes a step. */
RYND_API rynd_status rynd_plan_get_step(const rynd_plan *plan, size_t index, rynd_step_info *info);

/** Bytes that hold any value of a knob as text, with its final NUL. */
#define RYND_KNOB_TEXT 32

/** A knob of a step's kernel. */
typedef struct rynd_knob {
    size_t size;
    const char *name;
    const char *unit;           /**< meaning of its numbers ("percent of ..."); "" */
    char value[RYND_KNOB_TEXT]; /**< its value in this plan */
    size_t value_count;         /**< number of legal values here (rynd_plan_get_knob_value) */
    int main; /**< 1: tuning tries the values; 0: unless set, the value follows from other knobs */
} rynd_knob;

/** Number of knobs of a step's kernel; step: its index, or RYND_PLAN_WHOLE. 0 if out of range. */
RYND_API size_t rynd_plan_knob_count(const rynd_plan *plan, size_t step);

/** Describes a knob. */
RYND_API rynd_status rynd_plan_get_knob(const rynd_plan *plan, size_t step, size_t index,
                                        rynd_knob *knob);

/** Writes the index-th legal value of a knob, in ascending order; `index` is below
 * rynd_knob.value_count. `size` is the room in bytes; RYND_KNOB_TEXT are enough. */
RYND_API rynd_status rynd_plan_get_knob_value(const rynd_plan *plan, size_t step, size_t knob,
                                              size_t index, char *value, size_t size);

/** 1 if every step is planned; 0 if shapes depend on data, so that some steps are planned during
 * runs. */
RYND_API int rynd_plan_complete(const rynd_plan *plan);

/** Describe a planned input or output (data NULL): dtype, exact shape, and an input's strides.
 * Outputs are row-major; a dim that depends on data has its upper bound. */
RYND_API rynd_status rynd_plan_get_input(const rynd_plan *plan, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_plan_get_output(const rynd_plan *plan, size_t index, rynd_tensor *tensor);

/** The same by name. Fail with NOT_FOUND. */
RYND_API rynd_status rynd_plan_get_input_named(const rynd_plan *plan, const char *name,
                                               rynd_tensor *tensor);
RYND_API rynd_status rynd_plan_get_output_named(const rynd_plan *plan, const char *name,
                                                rynd_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
