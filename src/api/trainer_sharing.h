/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer's exchange with other ranks: what of a step is added up, in buckets, beside the steps
 * that follow.
 *
 *     steps      forward | gradients of the last layers | of the first | updates of the last | ...
 *     exchange                                          | bucket 0     | bucket 1            |
 *
 * A bucket is one piece of memory. A step writes its output there where nobody else reads it;
 * else it is copied there. The updates read the sums there. */
#ifndef RY_API_TRAINER_SHARING_H
#define RY_API_TRAINER_SHARING_H

#include "base/memory.h"
#include "base/status.h"
#include "exec/session.h"
#include "train/exchanged.h"

#include <rynd/train.h>

typedef struct ry_sharing ry_sharing;

/* Binds a step's outputs and inputs to buckets of `bucket_bytes`, and watches the session, which
 * the sharing outlives. Every rank calls it: they tell each other what they train. Fails with
 * UNSUPPORTED on other devices than the CPU, ARGUMENT where they do not train the same. */
rynd_status ry_sharing_create(const ry_allocator *allocator, const rynd_exchange *exchange,
                              size_t bucket_bytes, const ry_exchanged_list *what,
                              ry_session *session, const ry_plan *plan, ry_sharing **sharing,
                              ry_error *error);
/* While no step runs. NULL is allowed. */
void ry_sharing_destroy(ry_sharing *sharing);
/* Before the session's run: fails with ARGUMENT where an earlier one ended in the middle, and ranks
 * are apart. */
rynd_status ry_sharing_begin(ry_sharing *sharing, ry_error *error);
/* Call after the run: waits for exchanges that no step waited for. */
rynd_status ry_sharing_finish(ry_sharing *sharing, ry_error *error);
/* Loss of the last step: the mean over all ranks. */
double ry_sharing_loss(const ry_sharing *sharing);
size_t ry_sharing_bucket_count(const ry_sharing *sharing);
rynd_bucket_info ry_sharing_bucket(const ry_sharing *sharing, size_t index);
/* Bytes of its buckets. */
size_t ry_sharing_memory(const ry_sharing *sharing);

#endif
