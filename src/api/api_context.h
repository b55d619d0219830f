/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators of contexts. */
#ifndef RY_API_API_CONTEXT_H
#define RY_API_API_CONTEXT_H

#include "base/status.h"

#include <rynd/rynd.h>

/* Checks that a caller's allocator has all its functions. NULL: no allocator, which is allowed. */
rynd_status ry_api_check_hooks(const rynd_allocator *hooks, ry_error *error);

#endif
