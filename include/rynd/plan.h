/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h
 *  @brief Every decision for a model on a device, made before anything runs. */
#ifndef RYND_PLAN_H
#define RYND_PLAN_H

#include <rynd/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and immutable: many threads may share one, each with sessions of its own. */
typedef struct rynd_plan rynd_plan;

/** The loosest arithmetic that a plan may use: each step takes the best kernel among those that are
 * at least as accurate. On a CPU the error of each output of a convolution is in proportion to its
 * own window and filter, whatever lies outside of the window. In Winograd's form, with d input
 * channels, |error| <= (d + 25) * 2^-24 * k * R * |window| * |filter|, in Euclidean norms. STRICT
 * has R = 4 and k <= 10 (74 with 5 taps), NEAR32 R = 16 and k <= 562. docs/accuracy.md explains
 * the bound. */
typedef enum rynd_accuracy {
    RYND_ACCURACY_DEFAULT = 0, /**< near32 */
    RYND_ACCURACY_STRICT,      /**< at most twice the error of a direct float32 sum */
    RYND_ACCURACY_NEAR32,      /**< relative RMS error at most 1e-5 against float64 */
    RYND_ACCURACY_TF32,        /**< operands rounded to 11 significant bits */
    RYND_ACCURACY_BF16,        /**< operands rounded to bfloat16, products summed in float32 */
    RYND_ACCURACY_INT8,        /**< operands rounded to 8 bits */
} rynd_accuracy;

/** Gives a symbolic dim ("batch") its size. */
typedef struct rynd_dim {
    const char *symbol;
    int64_t value;
} rynd_dim;

/** A choice of the caller's own: which kernel a step has, or the value of one of its kernel's knobs
 *  (rynd_plan_get_knob tells which there are). What is not set is chosen as if nothing were. */
typedef struct rynd_setting {
    const char *step;  /**< its name (rynd_step_info), or "plan" for a knob of the plan itself
                        * (RYND_PLAN_WHOLE); of an operator made alone it may be NULL */
    const char *knob;  /**< "kernel", or a knob's name */
    const char *value; /**< the kernel's name, whatever its accuracy; a number or a word */
} rynd_setting;

/** Options. Set `size` to sizeof(rynd_plan_options) and everything else that is not wanted to 0.
 * Borrowed during the call only. */
typedef struct rynd_plan_options {
    size_t size;
    rynd_accuracy accuracy;
    const rynd_dim *dims; /**< NULL when dim_count is 0 */
    size_t dim_count;
    /** One per model input (dtype NONE: not given), or NULL: the shapes to plan for; they bind open
     * dims and must agree with those that the model fixes, as dtypes must (SHAPE otherwise). Their
     * strides are planned for, too: channels last, a part of a larger image, backwards, repeated
     * (0); a session reads tensors of these strides where they are. Steps do so themselves, or
     * read what a step converts first. A device with memory of its own gets them row-major or
     * channels last. Where `data` is not NULL and there are at most 32 elements, the plan takes the
     * content as known and holds for it only: shapes that depend on it are planned now. */
    const rynd_tensor *inputs;
    /** at least 1: the first dim of every input whose first dim is open; 0: not given */
    int64_t batch;
    int without_weights; /**< 1: do not pack weights; the plan can be looked at, not run */
    /** NULL when setting_count is 0. Fails with NOT_FOUND (no such step or kernel), UNSUPPORTED
     * (the kernel does not take the step), ARGUMENT (the message lists the knobs, or the legal
     * values). */
    const rynd_setting *settings;
    size_t setting_count;
    /** Hears how far the plan is, `done` of `all`, from the calling thread; what is not 0 ends it
     * (CANCELLED). It may not make plans of the same model, which wait for this one's weights.
     * NULL: nobody. */
    int (*progress)(void *user, size_t done, size_t all);
    void *progress_user;
    /** A model whose weights have no more bytes may be packed anew for this plan. Larger weights
     * keep the form that the model's first plan packed them in, so that a plan for another shape
     * takes neither time nor memory for them. 0: 2 MiB; 1: no model; SIZE_MAX: every model, and
     * each plan then has the kernels that are best for its shape, whatever plans were made before
     * (docs/shapes.md). Plans with settings always may. */
    size_t own_weights;
} rynd_plan_options;

/** Makes a plan. options NULL: all defaults. Every open dim must be bound by `dims`, `batch` or
 * `inputs`; otherwise SHAPE, and the message names the symbol. Fails with ARGUMENT, SHAPE,
 * UNSUPPORTED, NOT_FOUND (a dim that the model does not have), OUT_OF_MEMORY, CANCELLED. The model
 * must outlive the plan. */
RYND_API rynd_status rynd_plan_create(rynd_model *model, const rynd_plan_options *options,
                                      rynd_plan **plan);

/** Frees a plan; NULL is allowed. Its sessions must be gone. */
RYND_API void rynd_plan_destroy(rynd_plan *plan);

/** Bytes. `activations` is the arena for values between nodes, exact, with workspaces of kernels
 * that have room between them; `workspace` is what kernels take beside it; `total` is all that a
 * session with this plan takes, the model file's mapped weights included. */
typedef struct rynd_memory {
    size_t size; /**< set by the caller to sizeof(rynd_memory) */
    size_t weights, activations, workspace, total;
} rynd_memory;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_plan_get_memory(const rynd_plan *plan, rynd_memory *memory);
/** Seconds that rynd_plan_create took; 0 for NULL. */
RYND_API double rynd_plan_planning_seconds(const rynd_plan *plan);

/** One step of a plan: a node (several of the model's when fused), and what was chosen for it.
 * Strings live as long as the plan. */
typedef struct rynd_step_info {
    size_t size;           /**< set by the caller to sizeof(rynd_step_info) */
    const char *name, *op; /**< the node, and its ONNX operator */
    const char *problem;   /**< canonical text */
    const char *kernel;
    const char *knobs; /**< "mr=14 nr=32"; "" */
    const char *layout_in, *layout_out;
    const char *fused; /**< "bias relu add"; "" */
    const char *reason;
    /** of the operator's definition: operations, and each operand moved once */
    double flop, bytes;
    /** the class that the kernel holds: "strict", "near32", ...; never looser than what was
     * asked for */
    const char *accuracy;
    /** operations that the kernel does: fewer than `flop` in Winograd's form, more where it
     * fills whole vectors */
    double kernel_flop;
    /** runs, each for a share of the batch, or of the rows of a large weight's gradient: `problem`
     * is one's, `flop`, `bytes` and `kernel_flop` are of all */
    int64_t micro_batches;
    /** bytes of the session's memory that are in use while it runs: values between nodes, and the
     * kernel's own on all threads */
    size_t activations, workspace;
    /** of what the kernel was compiled from, and how: records of wisdom are of it (rynd/wisdom.h)
     */
    uint64_t source;
} rynd_step_info;

/** How the plan decides about the network as a whole: layouts, fusions, micro-batches. Strings live
 * as long as the plan. */
typedef struct rynd_plan_form {
    size_t size;        /**< set by the caller to sizeof(rynd_plan_form) */
    const char *knobs;  /**< what is not 100 percent: "channels_last=80"; "": all is as predicted */
    const char *reason; /**< "predicted", "set", or "measured 12.1 ms (wisdom)" */
    double measured;    /**< seconds of a run when the plan was tuned; 0: it was not */
} rynd_plan_form;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_plan_get_form(const rynd_plan *plan, rynd_plan_form *form);

/** In the place of a step: the plan itself. Its knobs are percent of what is predicted, so that
 * decisions that are in doubt may be turned; in a setting it is called "plan". */
#define RYND_PLAN_WHOLE ((size_t)-1)

RYND_API size_t rynd_plan_step_count(const rynd_plan *plan); /**< 0 for NULL */
/** Fails with ARGUMENT when index is out of range. */
RYND_API rynd_status rynd_plan_get_step(const rynd_plan *plan, size_t index, rynd_step_info *info);
/** A knob of a step's kernel: its value, and what it may be set to here. */
typedef struct rynd_knob {
    size_t size; /**< set by the caller to sizeof(rynd_knob) */
    const char *name;
    char value[32];
    /** "pixels, gathered, rows"; those that exceed the room are left out for "..." */
    char values[256];
    /** 1: forms of the kernel differ in it, and tuning tries its values; 0: it follows from the
     * others unless it is set */
    int main;
} rynd_knob;

/** How many there are; 0 for NULL and out of range. step: its index, or RYND_PLAN_WHOLE. */
RYND_API size_t rynd_plan_knob_count(const rynd_plan *plan, size_t step);
/** Any thread. Fails with ARGUMENT when step or index is out of range. */
RYND_API rynd_status rynd_plan_get_knob(const rynd_plan *plan, size_t step, size_t index,
                                        rynd_knob *knob);
/** 0 when some steps can only be planned while running, because shapes depend on data; 0 for NULL.
 */
RYND_API int rynd_plan_complete(const rynd_plan *plan);

/** A planned input or output: its exact shape, and an input's strides (`data` is NULL). Outputs are
 * row-major; one whose extent depends on data has its upper bound here. Fail with ARGUMENT when
 * index is out of range. */
RYND_API rynd_status rynd_plan_get_input(const rynd_plan *plan, size_t index, rynd_tensor *tensor);
RYND_API rynd_status rynd_plan_get_output(const rynd_plan *plan, size_t index, rynd_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
