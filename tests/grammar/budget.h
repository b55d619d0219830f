/* SPDX-License-Identifier: Apache-2.0 */
/* Memory hooks with a budget, shared by all contexts: a model that wants more than that gets none.
 */
#ifndef TESTS_GRAMMAR_BUDGET_H
#define TESTS_GRAMMAR_BUDGET_H

#include <rynd/context.h>

extern const rynd_allocator budget_allocator;

/* Bytes that are taken now. */
size_t budget_taken(void);

#endif
