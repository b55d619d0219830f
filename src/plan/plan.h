/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: every decision for a graph on a device. Immutable, printable, deterministic; many
 * threads may share it.
 *
 * Nodes whose shapes depend on values that only a run knows (RY_INFER_LATER, or behind a BOUNDED
 * output) are left for the *rest*: the plan computes their inputs as extra outputs, and the session
 * plans the rest when it has them. */
#ifndef RY_PLAN_PLAN_H
#define RY_PLAN_PLAN_H

#include "device/device.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "kernels/prepared.h"
#include "plan/plan_form.h"
#include "plan/value_layouts.h"

/* Where a value lives. */
typedef enum ry_storage {
    RY_STORAGE_NONE,     /* absent */
    RY_STORAGE_INPUT,    /* index: the graph input, in the caller's (or a staging) buffer */
    RY_STORAGE_CONSTANT, /* index: plan->constants */
    RY_STORAGE_ARENA,    /* offset: bytes into the session's arena */
    RY_STORAGE_OUTPUT,   /* index: the graph output, in the session's or the caller's buffer */
} ry_storage;

typedef struct ry_location {
    ry_storage storage;
    uint32_t index;
    size_t offset;
    size_t share; /* bytes from the images of one micro-batch to those of the next */
} ry_location;

typedef struct ry_step {
    const char *name;   /* the node's */
    const char *source; /* its ONNX operator */
    ry_problem problem; /* with the dims of one micro-batch */
    ry_prepared prepared;
    double seconds[RY_MAX_PHASES + 1]; /* predicted, of each phase of the launch on one worker */
    const ry_tensor *constants;        /* one per input; data NULL: not a constant */
    const ry_value_id *values;         /* the graph's: inputs, then outputs */
    ry_location *in, *out;
    int64_t actual_row; /* row of the first bounded output in the session's actual dims; -1: none */
    ry_pointer packed;  /* its packed weights, on its device */
    size_t workspace_offset; /* into the session's arena */
    size_t activations;      /* bytes of the arena that hold values while it runs */
    /* one an input, then an output: bytes that a run touches between the last use of its memory and
     * this one (reuse.h) */
    const double *since;
    const char *reason; /* why this kernel */
} ry_step;

/* Steps that run one after another, `micro_batches` times, each time for the next share of the
 * batch (micro_batches.h), or of the rows of a product (product_rows.h). */
typedef struct ry_batch_split {
    size_t first, end;     /* steps */
    int64_t micro_batches; /* 1: the whole batch at once */
    bool rows;             /* shares are of rows */
} ry_batch_split;

typedef struct ry_plan_output {
    const char *name;
    ry_tensor tensor; /* description; an upper bound when `bounded` */
    bool later;       /* computed by the rest: only the name is known */
    bool state;       /* the next content of a state */
    bool bounded;
    uint32_t actual; /* which row of the session's actual dims, when bounded */
    uint32_t rest;   /* which of the rest's outputs, when later */
    ry_location location;
} ry_plan_output;

/* Why a plan has its form. */
typedef enum ry_plan_origin {
    RY_PLAN_PREDICTED_ONLY, /* nobody said anything else */
    RY_PLAN_SET,            /* by the caller */
    RY_PLAN_MEASURED,       /* by the adviser */
} ry_plan_origin;
/* What a session keeps from run to run (graph.h). */
typedef struct ry_plan_state {
    uint32_t input, output;
    bool in_place;       /* what comes next is written where the old content is, which nobody reads
                          * any more; else it is copied there after the last step */
    const void *initial; /* NULL: zeros */
} ry_plan_state;

/* Form of a plan, and its source. */
typedef struct ry_plan_whole {
    ry_plan_form form;
    ry_plan_origin origin;
    double measured; /* seconds of a run, by who advised the form; 0: not known */
    unsigned asked;  /* bit k: a decision in the network depends on knob k of the form */
} ry_plan_whole;

/* Packed weights and constants. Steps of the plan's device and steps that fall back to the CPU
 * beside it ("host") have buffers of their own. */
typedef struct ry_plan_weights {
    struct ry_weights *shared; /* store of the model's plans; NULL: nothing is shared */
    ry_lot **lots; /* held in `shared`: one per step with shared weights, one per shared constant */
    size_t lot_count;
    ry_buffer *packed, *host_packed; /* packed weights of this plan alone, or NULL */
    size_t constant_count;
    ry_buffer **constants, **host_constants; /* host_constants NULL: the device is the CPU */
    bool *constant_is_shared;                /* the lots hold the buffer */
    /* bytes, shared ones included */
    size_t packed_size, host_packed_size, constant_size;
} ry_plan_weights;

/* Nodes that can only be planned during a run. */
typedef struct ry_plan_rest {
    ry_graph *graph; /* NULL: the plan is complete. Inputs are named like the outputs that feed them
                      */
    /* options of the rest's plan (ry_plan_options); its weights are shared with this plan's */
    ry_accuracy accuracy;
    const struct ry_adviser *adviser;
    size_t own_weights;
} ry_plan_rest;

/* A plan of two parts, between which a session may stop (parts.h). Index 0: the first part. */
typedef struct ry_plan_parts {
    size_t outputs; /* the first part's; 0: the plan has one part, and the rest is not set */
    size_t inputs;  /* the first part's */
    size_t steps;   /* the first part's */
    const bool *reads_input[2], *reads_output[2]; /* per input and per output: does the part? */
} ry_plan_parts;

/* Made by a ry_plan_builder (plan_builder.h); const from then on. */
typedef struct ry_plan {
    ry_arena arena;
    ry_device *device;
    const ry_graph *graph; /* bound, folded, rewritten; freed with the plan */
    size_t step_count;
    const ry_step *steps;
    size_t batch_split_count;
    const ry_batch_split *batch_splits; /* all steps, in order */
    size_t input_count, output_count;
    const ry_tensor *inputs; /* descriptions, of any strides, in the model's order */
    const char **input_names;
    /* the model's, then (from model_outputs on) the inputs of the rest */
    const ry_plan_output *outputs;
    size_t model_outputs;
    ry_names input_index, output_index; /* names of the model's inputs and outputs */
    size_t state_count;
    const ry_plan_state *states;
    ry_plan_weights weights;
    bool without_weights; /* to be looked at, not run: no buffers, no compiled programs */
    /* the arena holds activations and workspaces, then scratch of every worker; values_size: up to
     * the end of the last activation */
    size_t arena_size, values_size, scratch_offset;
    size_t bounded_count;
    ry_plan_rest rest;
    ry_plan_parts parts;
    double network_bytes; /* bytes of all constants: kernels are chosen within it (ry_target) */
    double seconds;       /* that planning took */
    ry_plan_whole whole;
} ry_plan;

/* Told of constants that are not read again, so that the pages of a mapped file may go back to the
 * system. tell NULL: nobody is told. */
typedef struct ry_unneeded {
    void (*tell)(const void *user, const void *data, size_t size);
    const void *user;
} ry_unneeded;

typedef struct ry_plan_options {
    ry_accuracy accuracy;
    /* One per graph input: its shape and strides, and its content where data is not NULL and may
     * decide a shape (ry_plan_reads_content): the plan then holds for that content only. dtype
     * none: not given. NULL: none given. */
    const ry_tensor *inputs;
    /* One per graph output: the strides in which the plan writes it, as `inputs` have theirs; such an
     * output must be bound. dtype none: row-major. NULL: all are. */
    const ry_tensor *outputs;
    int64_t batch; /* first dim of the inputs whose first dim is a symbol; 0: not given */
    const ry_dim_binding *dims;
    size_t dim_count;
    ry_unneeded unneeded;                /* told of constants once they are packed */
    const struct rynd_setting *settings; /* kernels and knobs, by the names of steps */
    size_t setting_count;
    /* asked which kernel a problem shall have (predict/advice.h), for the plan's rest, too: must
     * outlive the plan. NULL: nobody is */
    const struct ry_adviser *adviser;
    /* Bytes that a session may take, with `memory_reserved` of what is not of this plan; 0: any. Of
     * graphs of training: what does not fit is recomputed (recompute.h). */
    size_t memory_limit, memory_reserved;
    size_t *memory_least; /* receives what is possible, where the limit is not; NULL: nobody asks */
    bool own_strides;     /* the caller's memory is bound with its strides, on any device */
    bool skip_packing;    /* for measuring, and for commands that never run the plan */
    /* what plans of the same model share, for the plan's rest, too: must outlive the plan. NULL:
     * nothing */
    struct ry_weights *weights;
    /* a network whose constants have no more bytes is free to pack them anew (weights.h); 0: 2 MiB
     */
    size_t own_weights;
    rynd_progress_function progress; /* plan_progress.h; NULL: nobody hears */
    void *progress_user;
} ry_plan_options;

/* Does a step run on the CPU beside the plan's device? */
static inline bool ry_plan_falls_back(const ry_plan *plan, const ry_step *step)
{
    return plan->device->host != plan->device && !step->prepared.kernel->gpu;
}

static inline ry_device *ry_plan_step_device(const ry_plan *plan, const ry_step *step)
{
    return ry_plan_falls_back(plan, step) ? plan->device->host : plan->device;
}

/* The batch split that a step belongs to. */
const ry_batch_split *ry_plan_batch_split_of(const ry_plan *plan, size_t step);

/* NULL is allowed. */
void ry_plan_destroy(const ry_plan *plan);

#endif
