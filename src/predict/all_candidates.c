/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the whole list of kernels, as the choice does, and says what the choice keeps to itself. */
#include "predict/all_candidates.h"

#include "kernels/form.h"
#include "kernels/prepared.h"
#include "kernels/refusals.h"
#include "problem/problem_words.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TENSORS = 16 };

typedef struct walk {
    const ry_prepared *chosen;
    unsigned constants;
    const ry_target *target, *beside;
    ry_candidate_function tell;
    void *user;
    ry_error *error;
} walk;

/* What could be otherwise about a problem, to learn what a kernel does not take. */
typedef struct variant {
    const char *lacks; /* reason for refusal, if the kernel takes this variant */
    bool channels_last, f32;
} variant;

static const variant variants[] = {
    {"not in this layout", false, false},
    {"not in this layout", true, false},
    {"not of this type", false, true},
};

static ry_tensor vary(const ry_tensor *tensor, const variant *v)
{
    if (!ry_tensor_present(tensor)) {
        return *tensor;
    }
    const ry_dtype dtype = v->f32 ? RY_f32 : (ry_dtype)tensor->dtype;
    const ry_shape shape = ry_tensor_shape(tensor);
    return v->channels_last ? ry_tensor_channels_last(dtype, &shape, NULL)
                            : ry_tensor_row_major(dtype, &shape, NULL);
}

static bool takes_variant(const ry_kernel *kernel, const ry_problem *problem, const variant *v)
{
    ry_tensor in[MAX_TENSORS], out[MAX_TENSORS];
    ry_problem other = *problem;
    other.in = in;
    other.out = out;
    for (int i = 0; i < problem->inputs; i++) {
        in[i] = vary(&problem->in[i], v);
    }
    for (int i = 0; i < problem->outputs; i++) {
        out[i] = vary(&problem->out[i], v);
    }
    return kernel->applicable(&other);
}

static const char *why_not_applicable(const ry_kernel *kernel, const ry_problem *problem)
{
    if (problem->inputs <= MAX_TENSORS && problem->outputs <= MAX_TENSORS) {
        for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
            if (takes_variant(kernel, problem, &variants[i])) {
                return variants[i].lacks;
            }
        }
    }
    return "not of this shape or type";
}

/* The target that a kernel is asked for. */
static const ry_target *target_of(const walk *w, const ry_kernel *kernel)
{
    return w->beside && kernel->device == w->beside->device ? w->beside : w->target;
}

/* False: it is not refused. */
static bool refuse(const walk *w, size_t index, char text[RY_REFUSAL_LENGTH])
{
    const ry_kernel *kernel = ry_kernels[index], *better;
    const ry_target *target = target_of(w, kernel);
    const ry_problem *problem = w->chosen->problem;
    text[0] = 0;
    if (kernel->device != target->device) {
        snprintf(text, RY_REFUSAL_LENGTH, "for another device");
    } else if (!ry_isa_includes(target->isa, kernel->isa)) {
        snprintf(text, RY_REFUSAL_LENGTH, "needs %s", ry_isa_name(kernel->isa));
    } else if (kernel->matrix_units && !target->machine->matrix_units) {
        snprintf(text, RY_REFUSAL_LENGTH, "needs matrix units");
    } else if (!kernel->applicable(problem)) {
        snprintf(text, RY_REFUSAL_LENGTH, "%s", why_not_applicable(kernel, problem));
    } else if (kernel->accuracy > problem->accuracy) {
        snprintf(text, RY_REFUSAL_LENGTH, "class %s is looser than %s",
                 ry_accuracy_word(kernel->accuracy), ry_accuracy_word(problem->accuracy));
    } else if (ry_refusals_have(target->refusals, kernel)) {
        snprintf(text, RY_REFUSAL_LENGTH, "`rynd devices --check` found it wrong");
    } else if ((better = ry_kernel_better(index, target)) != NULL) {
        snprintf(text, RY_REFUSAL_LENGTH, "%s is better", better->name);
    } else if (kernel->reference && !w->chosen->kernel->reference) {
        snprintf(text, RY_REFUSAL_LENGTH, "reference: only where nothing else takes it");
    }
    return text[0] != 0;
}

static rynd_status tell(const walk *w, const ry_prepared *prepared, const char *refused,
                        const ry_kernel *kernel)
{
    const ry_candidate candidate = {kernel, prepared, refused, target_of(w, kernel),
                                    prepared == w->chosen};
    return w->tell(w->user, &candidate, w->error);
}

static bool is_chosen(const walk *w, const ry_prepared *prepared)
{
    return prepared->kernel == w->chosen->kernel &&
           memcmp(prepared->form.value, w->chosen->form.value,
                  (size_t)prepared->kernel->knob_count * sizeof *prepared->form.value) == 0;
}

/* Every form but the chosen one. Values of knobs that do not go together are no form. */
static rynd_status tell_forms(const walk *w, const ry_kernel *kernel)
{
    ry_form form;
    const ry_query query = {kernel, w->chosen->problem, target_of(w, kernel), &form};
    for (size_t i = 0; ry_form_at(&query, i, &form); i++) {
        ry_prepared prepared;
        const rynd_status status = ry_prepare(&query, w->constants, &prepared, w->error);
        if (status == RYND_ERROR_ARGUMENT) {
            continue;
        }
        RY_TRY(status);
        RY_TRY(is_chosen(w, &prepared) ? RYND_OK : tell(w, &prepared, NULL, kernel));
    }
    return RYND_OK;
}

rynd_status ry_explain(const ry_prepared *chosen, unsigned constants, const ry_target *target,
                       const ry_target *beside, ry_candidate_function function, void *user,
                       ry_error *error)
{
    const walk w = {chosen, constants, target, beside, function, user, error};
    RY_TRY(tell(&w, chosen, NULL, chosen->kernel));
    for (size_t i = 0; i < ry_kernel_count; i++) {
        const ry_kernel *kernel = ry_kernels[i];
        char text[RY_REFUSAL_LENGTH];
        if (kernel->op != chosen->problem->op) {
            continue;
        }
        const bool refused = kernel != chosen->kernel && refuse(&w, i, text);
        RY_TRY(refused ? tell(&w, NULL, text, kernel) : tell_forms(&w, kernel));
    }
    return RYND_OK;
}
