/* SPDX-License-Identifier: Apache-2.0 */
/* What tile_template.h needs for operands of 32 bits with sums in i32. */
#define ELEMENT        int32_t
#define VECTOR         ry_vi
#define V_SET          ry_vi_set
#define V_LOAD         ry_vi_load
#define V_LOAD_M       ry_vi_load_m
#define V_STORE        ry_vi_store
#define V_STORE_M      ry_vi_store_m
#define OPERAND        ry_bytes_element
#define O_VECTOR       ry_vi
#define O_SET          ry_vi_set
#define O_LOAD(p)      ry_vi_load((const int32_t *)(p))
#define O_LOAD_M(p, m) ry_vi_load_m((const int32_t *)(p), m)
#define TILE_ENDS
#define TILE_ALONG_K
