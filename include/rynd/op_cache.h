/* SPDX-License-Identifier: Apache-2.0 */
/** @file op_cache.h
 *  @brief Experimental (see <rynd/rynd.h>): operators that a context keeps by problem. */
#ifndef RYND_OP_CACHE_H
#define RYND_OP_CACHE_H

#include <rynd/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As rynd_op_create, but takes an operator that the context keeps, if it has one of the same text
 * and options; strides count, addresses do not. rynd_op_destroy gives the operator back, and the
 * context keeps it for the next call. Until then it is the caller's alone, so several threads that
 * need one problem at once get an operator each.
 *
 * Inputs may not have `data` (ARGUMENT): weights are operands of each run. Illegal contents that
 * the last user did not wait for are forgotten. Any thread. */
RYND_API rynd_status rynd_op_create_cached(rynd_context *context, const char *problem,
                                           const rynd_op_options *options, rynd_op **op);

/** Figures of a context's kept operators. */
typedef struct rynd_op_cache_info {
    size_t size;
    size_t hits;      /**< calls that took a kept operator */
    size_t misses;    /**< calls that made one */
    size_t evictions; /**< operators freed to stay within the limits */
    size_t ops;       /**< operators kept now; operators in use are not counted */
    size_t bytes;     /**< their memory: packed weights, workspaces, operands of rynd_op_execute */
    size_t limit_ops, limit_bytes;
} rynd_op_cache_info;

/** Gives the figures. Any thread. */
RYND_API rynd_status rynd_context_get_op_cache(const rynd_context *context,
                                               rynd_op_cache_info *info);

/** Sets the limits of kept operators, and frees those beyond them, the least recently used first;
 * 0 keeps none. Without a call: 1024 operators, 256 MiB. Any thread. */
RYND_API rynd_status rynd_context_limit_op_cache(rynd_context *context, size_t ops, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
