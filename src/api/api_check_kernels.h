/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of earlier kernel checks. */
#ifndef RY_API_API_CHECK_KERNELS_H
#define RY_API_API_CHECK_KERNELS_H

#include "device/digest.h"

#include <rynd/rynd.h>

/* What findings and times hold for: a device with its driver, or a CPU's instruction set, and this
 * version of rynd. */
void ry_api_identify(const rynd_context *context, char text[RY_DIGEST_TEXT]);

/* Loads the findings of an earlier check of the context's device, if they are kept and still
 * hold. */
void ry_api_load_checks(rynd_context *context);

#endif
