/* SPDX-License-Identifier: Apache-2.0 */
/* What packed weights depend on: two problems of equal packing, which are given the same weights,
 * are packed into the same bytes. So networks that differ in the size of their images share them.
 */
#ifndef RY_KERNELS_PACKING_H
#define RY_KERNELS_PACKING_H

#include "kernels/kernel.h"

/* Adds the packing of an initialised kernel, without the weights' content, to `key`. false: the
 * kernel does not tell. */
bool ry_packing_add(const ry_prepared *prepared, ry_text *key);

/* The form that asks for the packing of `prepared`: knobs on which packed weights do not depend are
 * free. */
ry_form ry_packing_form(const ry_prepared *prepared);

/* For the `packing` of a kernel. */
void ry_packing_add_numbers(ry_text *key, const int64_t *numbers, int count);
#define RY_PACKING_NUMBERS(key, ...)                                                        \
    do {                                                                                    \
        const int64_t numbers_[] = {__VA_ARGS__};                                           \
        ry_packing_add_numbers((key), numbers_, (int)(sizeof numbers_ / sizeof *numbers_)); \
    } while (0)

#endif
