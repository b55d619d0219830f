/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes single elements. */
#include "element.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "cli_number must hold 64-bit integers exactly");

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    int exponent = half >> 10 & 31;
    float fraction = (float)(half & 1023u);
    if (exponent == 31) {
        return of_bits(sign | 0x7f800000u | (uint32_t)(half & 1023u) << 13);
    }
    /* A subnormal is fraction * 2^-24; a normal has the hidden bit 1024 besides. */
    float magnitude =
        exponent == 0 ? ldexpf(fraction, -24) : ldexpf(fraction + 1024.0f, exponent - 25);
    return sign ? -magnitude : magnitude;
}

static uint16_t half_of(cli_number value)
{
    uint16_t sign = signbit(value) ? 0x8000u : 0;
    cli_number magnitude = fabsl(value);
    if (isnan(value)) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 65520) { /* halfway between the largest half, 65504, and 2^16 */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude == 0) {
        return sign;
    }
    int exponent = 0;
    frexpl(magnitude, &exponent);
    int scale = exponent - 11 < -24 ? -24 : exponent - 11; /* exponent of the last bit */
    uint32_t units = (uint32_t)lrintl(ldexpl(magnitude, -scale));
    /* Adding lets a carry out of the fraction raise the exponent. */
    return (uint16_t)(sign + (scale == -24 ? units : ((uint32_t)(scale + 24) << 10) + units));
}

static uint16_t bfloat_of(cli_number value)
{
    uint32_t bits = bits_of((float)value);
    if (isnan(value)) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

bool cli_dtype_is_float(rynd_dtype dtype)
{
    return dtype == RYND_DTYPE_F32 || dtype == RYND_DTYPE_F16 || dtype == RYND_DTYPE_BF16 ||
           dtype == RYND_DTYPE_F64;
}

cli_number cli_element_get(rynd_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case RYND_DTYPE_NONE: break;
    case RYND_DTYPE_F32: return ((const float *)data)[index];
    case RYND_DTYPE_F16: return half_to_float(((const uint16_t *)data)[index]);
    case RYND_DTYPE_BF16: return of_bits((uint32_t)((const uint16_t *)data)[index] << 16);
    case RYND_DTYPE_F64: return ((const double *)data)[index];
    case RYND_DTYPE_I8: return ((const int8_t *)data)[index];
    case RYND_DTYPE_I16: return ((const int16_t *)data)[index];
    case RYND_DTYPE_I32: return ((const int32_t *)data)[index];
    case RYND_DTYPE_I64: return ((const int64_t *)data)[index];
    case RYND_DTYPE_U8: return ((const uint8_t *)data)[index];
    case RYND_DTYPE_U16: return ((const uint16_t *)data)[index];
    case RYND_DTYPE_U32: return ((const uint32_t *)data)[index];
    case RYND_DTYPE_U64: return ((const uint64_t *)data)[index];
    case RYND_DTYPE_BOOL: return ((const uint8_t *)data)[index] != 0;
    }
    return 0;
}

static cli_number clamped(cli_number value, cli_number least, cli_number most)
{
    return isnan(value) ? 0 : value < least ? least : value > most ? most : rintl(value);
}

void cli_element_set(rynd_dtype dtype, void *data, int64_t index, cli_number value)
{
    switch (dtype) {
    case RYND_DTYPE_NONE: break;
    case RYND_DTYPE_F32: ((float *)data)[index] = (float)value; break;
    case RYND_DTYPE_F16: ((uint16_t *)data)[index] = half_of(value); break;
    case RYND_DTYPE_BF16: ((uint16_t *)data)[index] = bfloat_of(value); break;
    case RYND_DTYPE_F64: ((double *)data)[index] = (double)value; break;
    case RYND_DTYPE_I8: ((int8_t *)data)[index] = (int8_t)clamped(value, INT8_MIN, INT8_MAX); break;
    case RYND_DTYPE_I16:
        ((int16_t *)data)[index] = (int16_t)clamped(value, INT16_MIN, INT16_MAX);
        break;
    case RYND_DTYPE_I32:
        ((int32_t *)data)[index] = (int32_t)clamped(value, INT32_MIN, INT32_MAX);
        break;
    case RYND_DTYPE_I64:
        ((int64_t *)data)[index] =
            (int64_t)clamped(value, (cli_number)INT64_MIN, (cli_number)INT64_MAX);
        break;
    case RYND_DTYPE_U8: ((uint8_t *)data)[index] = (uint8_t)clamped(value, 0, UINT8_MAX); break;
    case RYND_DTYPE_U16: ((uint16_t *)data)[index] = (uint16_t)clamped(value, 0, UINT16_MAX); break;
    case RYND_DTYPE_U32: ((uint32_t *)data)[index] = (uint32_t)clamped(value, 0, UINT32_MAX); break;
    case RYND_DTYPE_U64:
        ((uint64_t *)data)[index] = (uint64_t)clamped(value, 0, (cli_number)UINT64_MAX);
        break;
    case RYND_DTYPE_BOOL: ((uint8_t *)data)[index] = value != 0; break;
    }
}
