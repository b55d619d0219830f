/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC (STRICT_NVRTC names its file) as a compiler that takes no warning, and tells what ptxas
 * says of the entries of the last program. */
#ifndef STRICT_NVRTC_H
#define STRICT_NVRTC_H

enum { STRICT_ENTRIES = 8 };

typedef struct strict_nvrtc_state {
    int compiled, count;
    struct strict_entry {
        char name[64];
        int registers, spilled, shared; /* the last two in bytes */
    } entry[STRICT_ENTRIES];
    char cubin[512]; /* the next machine code goes to this file; "": to none */
} strict_nvrtc_state;

#endif
