/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a large product, which only the next step reads, over its rows. */
#ifndef RY_PLAN_PRODUCT_ROWS_H
#define RY_PLAN_PRODUCT_ROWS_H

#include "plan/make_steps.h"

/* Where a product of two matrices is read by nothing but the step behind it, which is pointwise and
 * changes states in place, as an optimizer does, both run for some rows after others: of the
 * product there are never more than those. Sums are what they are without. On the CPU; products of
 * more than RY_PRODUCT_BYTES, in pieces of at most as much. Makes those steps and
 * b->batch_splits anew. */
rynd_status ry_plan_cut_products(ry_plan_builder *b, ry_error *error);

enum { RY_PRODUCT_BYTES = 16 << 20 };

#endif
