/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of earlier kernel checks. */
#ifndef RY_API_API_CHECK_KERNELS_H
#define RY_API_API_CHECK_KERNELS_H

#include <rynd/rynd.h>

/* Loads the findings of an earlier check of the context's device, if they are kept and still
 * hold. */
void ry_api_load_checks(rynd_context *context);

#endif
