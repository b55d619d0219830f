/* SPDX-License-Identifier: Apache-2.0 */
/* Random matrix products of given sizes. */
#ifndef RANDOM_PRODUCT_H
#define RANDOM_PRODUCT_H

#include "product_case.h"

/* Makes a case, without its data; plain: no batch. */
product_case random_product(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain);

#endif
