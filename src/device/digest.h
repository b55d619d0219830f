/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of bytes (FNV-1a in 128 bits): of equal ones the content is taken to be equal. */
#ifndef RY_DEVICE_DIGEST_H
#define RY_DEVICE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ry_digest {
    uint64_t high, low;
} ry_digest;

enum { RY_DIGEST_TEXT = 33 }; /* characters, with the NUL */

ry_digest ry_digest_begin(void);
void ry_digest_add(ry_digest *digest, const void *bytes, size_t size);
/* With its end: "ab", "c" and "a", "bc" differ. */
void ry_digest_add_text(ry_digest *digest, const char *text);
void ry_digest_text(ry_digest digest, char text[RY_DIGEST_TEXT]);

static inline bool ry_digest_equal(ry_digest a, ry_digest b)
{
    return a.high == b.high && a.low == b.low;
}

#endif
