/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside as text that can be shown: rynd/text.h says how. */
#ifndef RY_BASE_ESCAPE_H
#define RY_BASE_ESCAPE_H

#include <rynd/text.h>

size_t ry_escape(const char *text, rynd_escape escape, char *to, size_t size);

#endif
