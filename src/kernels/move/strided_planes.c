/* SPDX-License-Identifier: Apache-2.0 */
/* The two innermost loops of the strided copy: rows of bytes, and the loops of strided_loops.h for
 * each element size. */
#include "kernels/move/strided_planes.h"

#include <stdbool.h>
#include <string.h>

typedef ry_plane plane;

ry_plane_loop ry_plane_loop_of(const ry_plane *p, size_t element)
{
    const int64_t size = (int64_t)element;
    if (p->d0 != size) {
        return RY_PLANE_ANY;
    }
    if (p->s0 == size || p->s0 == 0 || p->s0 == -size) {
        return p->s0 == size ? RY_PLANE_ROWS : p->s0 == 0 ? RY_PLANE_FILL : RY_PLANE_REVERSED;
    }
    if (p->s1 == size && p->n0 <= 4 && p->n0 >= 2 && p->d1 == p->n0 * size) {
        return RY_PLANE_INTERLEAVED;
    }
    if (p->s0 >= 2 * size && p->s0 <= 4 * size && p->s0 % size == 0) {
        return RY_PLANE_STEPPED;
    }
    return p->s1 == size ? RY_PLANE_TRANSPOSED : RY_PLANE_ANY;
}

/* Elements of a row that is worth a call of memset. */
enum { LONG_FILL = 64 };

/* Are all bytes of an element the same, as those of 0 are? */
static bool is_one_byte(const char *element, size_t size)
{
    return memcmp(element, element + 1, size - 1) == 0;
}

/* clang-format off */
#define UNIT uint8_t
#define LANES 16
#define NAME(x) x##_8
#define ZIP_LO 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HI 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#include "kernels/move/strided_loops.h"

#define UNIT uint16_t
#define LANES 8
#define NAME(x) x##_16
#define ZIP_LO 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HI 4, 12, 5, 13, 6, 14, 7, 15
#include "kernels/move/strided_loops.h"

#define UNIT uint32_t
#define LANES 4
#define NAME(x) x##_32
#define ZIP_LO 0, 4, 1, 5
#define ZIP_HI 2, 6, 3, 7
#include "kernels/move/strided_loops.h"

#define UNIT uint64_t
#define LANES 2
#define NAME(x) x##_64
#define ZIP_LO 0, 2
#define ZIP_HI 1, 3
#include "kernels/move/strided_loops.h"

typedef uint64_t quad __attribute__((vector_size(16)));
#define UNIT quad
#define LANES 1
#define NAME(x) x##_128
#include "kernels/move/strided_loops.h"
/* clang-format on */

/* A short row by two overlapping halves of a fixed size: calling memcpy would cost more than the
 * row. */
static inline void copy_row(char *dst, const char *src, size_t bytes)
{
    if (bytes > 32) {
        memcpy(dst, src, bytes);
    } else if (bytes >= 16) {
        char head[16], tail[16];
        memcpy(head, src, 16);
        memcpy(tail, src + bytes - 16, 16);
        memcpy(dst, head, 16);
        memcpy(dst + bytes - 16, tail, 16);
    } else if (bytes >= 8) {
        uint64_t head, tail;
        memcpy(&head, src, 8);
        memcpy(&tail, src + bytes - 8, 8);
        memcpy(dst, &head, 8);
        memcpy(dst + bytes - 8, &tail, 8);
    } else if (bytes >= 4) {
        uint32_t head, tail;
        memcpy(&head, src, 4);
        memcpy(&tail, src + bytes - 4, 4);
        memcpy(dst, &head, 4);
        memcpy(dst + bytes - 4, &tail, 4);
    } else {
        for (size_t i = 0; i < bytes; i++) {
            dst[i] = src[i];
        }
    }
}

void ry_plane_copy(const ry_plane *p, size_t size)
{
    if (p->d0 == (int64_t)size && p->s0 == (int64_t)size) {
        for (int64_t i = 0; i < p->n1; i++) {
            copy_row(p->dst + i * p->d1, p->src + i * p->s1, (size_t)p->n0 * size);
        }
        return;
    }
    switch (size) {
    case 1: plane_8(p); break;
    case 2: plane_16(p); break;
    case 4: plane_32(p); break;
    case 8: plane_64(p); break;
    default: plane_128(p); break;
    }
}
