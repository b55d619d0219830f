/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a kernel by predicted time. It depends on the problem and the machine only: no clock, nothing random. */
#include "predict/predict.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

/* Times that differ by less are one: then the more specialised kernel, of the higher rank, is taken. */
static const double SAME = 0.01;

static bool better(const ry_kernel *kernel, double seconds, const ry_kernel *other, double other_seconds)
{
    if (!other) {
        return true;
    }
    const double difference = seconds - other_seconds;
    if (difference > SAME * other_seconds || -difference > SAME * seconds) {
        return difference < 0;
    }
    return kernel->rank > other->rank;
}

/* A reference is taken where nothing else is: it is not worth preparing beside others. */
static bool any_but_references(const ry_problem *problem, ry_isa isa, unsigned constants)
{
    const ry_kernel *most = ry_kernel_choose(problem, isa, constants);
    return most && most->rank > 0;
}

static size_t family_length(const ry_kernel *kernel)
{
    return strlen(kernel->name) - strlen(ry_isa_name(kernel->isa));
}

/* The same method in another form, like conv_fwd_f32_igemm and conv_fwd_f32_igemm_packing: to name it as the second best would say nothing. */
static bool related(const ry_kernel *a, const ry_kernel *b)
{
    const size_t x = family_length(a), y = family_length(b);
    return memcmp(a->name, b->name, x < y ? x : y) == 0;
}

/* Is the same text there for a better instruction set? */
static bool superseded(const ry_kernel *kernel, ry_isa isa)
{
    const size_t length = family_length(kernel);
    for (size_t i = 0; i < ry_kernel_count; i++) {
        const ry_kernel *other = ry_kernels[i];
        if (other->op == kernel->op && other->isa > kernel->isa && other->isa <= isa && family_length(other) == length &&
            memcmp(other->name, kernel->name, length) == 0) {
            return true;
        }
    }
    return false;
}

rynd_status ry_predict_choose(const ry_problem *problem, ry_isa isa, unsigned constants, const ry_machine *machine, ry_choice *choice,
                              ry_error *error)
{
    *choice = (ry_choice){0};
    const bool no_references = any_but_references(problem, isa, constants);
    for (size_t i = 0; i < ry_kernel_count; i++) {
        const ry_kernel *kernel = ry_kernels[i];
        if (kernel->op != problem->op || (no_references && kernel->rank == 0) || superseded(kernel, isa) ||
            !ry_kernel_takes(kernel, problem, isa, constants)) {
            continue;
        }
        ry_prepared prepared = {0};
        RY_TRY(kernel->prepare(problem, &prepared, error));
        const double seconds = ry_predict_seconds(kernel, problem, &prepared, machine);
        if (better(kernel, seconds, choice->kernel, choice->seconds)) {
            const bool another = choice->kernel && !related(kernel, choice->kernel);
            *choice = another ? (ry_choice){kernel, prepared, seconds, choice->kernel, choice->seconds}
                              : (ry_choice){kernel, prepared, seconds, choice->next, choice->next_seconds};
        } else if (!related(kernel, choice->kernel) && better(kernel, seconds, choice->next, choice->next_seconds)) {
            choice->next = kernel;
            choice->next_seconds = seconds;
        }
    }
    return RYND_OK;
}

void ry_choice_reason(const ry_choice *choice, char *text, size_t size)
{
    const double own = choice->seconds * 1e6, next = choice->next_seconds * 1e6;
    char own_text[RY_NUMBER_SIZE], next_text[RY_NUMBER_SIZE];
    ry_number_print_fixed(own, own < 100, own_text);
    ry_number_print_fixed(next, next < 100, next_text);
    if (choice->kernel->rank == 0) {
        snprintf(text, size, "no faster kernel takes this problem");
    } else if (!choice->next) {
        snprintf(text, size, "predicted %s us; no other kernel", own_text);
    } else {
        snprintf(text, size, "predicted %s us; %s %s us", own_text, choice->next->name, next_text);
    }
}
