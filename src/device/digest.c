/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a in 128 bits. */
#include "device/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

ry_digest ry_digest_begin(void)
{
    return (ry_digest){UINT64_C(0x6c62272e07bb0142), UINT64_C(0x62b821756295c58d)};
}

void ry_digest_add(ry_digest *digest, const void *bytes, size_t size)
{
    const wide prime = (wide)1 << 88 | 0x13b;
    wide state = (wide)digest->high << 64 | digest->low;
    for (size_t i = 0; i < size; i++) {
        state = (state ^ ((const unsigned char *)bytes)[i]) * prime;
    }
    *digest = (ry_digest){(uint64_t)(state >> 64), (uint64_t)state};
}

void ry_digest_add_text(ry_digest *digest, const char *text)
{
    ry_digest_add(digest, text, strlen(text) + 1);
}

void ry_digest_text(ry_digest digest, char text[RY_DIGEST_TEXT])
{
    snprintf(text, RY_DIGEST_TEXT, "%016" PRIx64 "%016" PRIx64, digest.high, digest.low);
}
