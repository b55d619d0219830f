/* SPDX-License-Identifier: Apache-2.0 */
/* A packing is a key of bytes: the kernel's name, the weights as they are described, the
 * attributes, and numbers of the kernel. */
#include "kernels/packing.h"

#include "kernels/form.h"

enum { MAX_INPUTS = 8 };

void ry_packing_add_numbers(ry_text *key, const int64_t *numbers, int count)
{
    ry_text_bytes(key, numbers, (size_t)count * sizeof *numbers);
}

unsigned ry_kernel_packs(const ry_kernel *kernel, const ry_problem *problem)
{
    unsigned packs = kernel->packed_inputs;
    for (int i = 0; packs >> i; i++) {
        if (!ry_problem_has_input(problem, i)) {
            packs &= ~(1u << i);
        }
    }
    return packs;
}

/* The shape with every extent 1: attributes are printed for the rank alone. */
static ry_tensor without_size(const ry_tensor *tensor)
{
    ry_shape shape = ry_tensor_shape(tensor);
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = 1;
    }
    return ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, NULL);
}

/* The problem without what its packed weights do not depend on. */
static void add_problem(const ry_prepared *prepared, ry_text *key)
{
    const ry_problem *problem = prepared->problem;
    const unsigned packs = ry_kernel_packs(prepared->kernel, problem);
    ry_tensor in[MAX_INPUTS], out = without_size(&problem->out[0]);
    ry_problem bare = *problem;
    bare.accuracy = prepared->kernel->accuracy;
    bare.in = in;
    bare.out = &out;
    bare.outputs = 1;
    for (int i = 0; i < problem->inputs; i++) {
        in[i] = packs >> i & 1u ? problem->in[i]
                : i == 0        ? without_size(&problem->in[0])
                                : (ry_tensor){.dtype = RYND_DTYPE_NONE};
    }
    const char *text = ry_problem_print(&bare, key->arena);
    key->failed = key->failed || !text;
    ry_text_add(key, "%s %s ", prepared->kernel->name, text ? text : "");
}

bool ry_packing_add(const ry_prepared *prepared, ry_text *key)
{
    const ry_problem *problem = prepared->problem;
    if (!prepared->kernel->packing || problem->inputs > MAX_INPUTS || problem->outputs < 1) {
        return false;
    }
    add_problem(prepared, key);
    RY_PACKING_NUMBERS(key, (int64_t)prepared->packed);
    prepared->kernel->packing(prepared, key);
    return true;
}

ry_form ry_packing_form(const ry_prepared *prepared)
{
    ry_form form = ry_form_free();
    for (int i = 0; i < prepared->kernel->knob_count; i++) {
        if (prepared->kernel->knobs[i].packs) {
            form.value[i] = prepared->form.value[i];
        }
    }
    return form;
}
