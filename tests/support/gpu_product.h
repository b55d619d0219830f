/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products on a GPU against the CPU's reference. */
#ifndef GPU_PRODUCT_H
#define GPU_PRODUCT_H

#include "product_case.h"

/* Runs a GPU's kernel on a case with data, as it chooses and in so many of its forms (0: in all),
 * and compares each with `reference`. Returns how many ran: 0 where it does not take the case. Only
 * where there is a device (gpu_run_need). */
int gpu_product_check(product_case *c, const char *kernel, const char *reference, int forms);

/* The same in all forms whose first knob's word begins with `word` and whose second is at most 2; of `shift`
 * bytes in the first of them each input begins an element behind an aligned address. */
int gpu_product_check_word(product_case *c, const char *kernel, const char *reference,
                           const char *word, size_t shift);

/* The same in those whose second knob is `split`, of 0 at most 2, with such inputs. */
int gpu_product_check_split(product_case *c, const char *kernel, const char *reference,
                            const char *word, int split);

#endif
