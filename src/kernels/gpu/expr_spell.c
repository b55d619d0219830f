/* SPDX-License-Identifier: Apache-2.0 */
/* Prints values: a row for each function of expr_ops.inc says how it is written. */
#include "kernels/gpu/expr_spell.h"

#include <math.h>
#include <stdio.h>

extern const char ry_gpu_text_elementary[], ry_gpu_text_functions[];

/* How a function is written, by the type of its operands. $a $b $c are operands, $T their type, $W
 * the unsigned type in which integers wrap, $N the type's name, $B its bits. Bools are
 * ry_gpu_spelled as unsigned integers. */
typedef struct spelling {
    const char *of_float, *of_signed, *of_unsigned;
} spelling;

#define CALL_1(name) "$N_" #name "($a)"
#define CALL_2(name) "$N_" #name "($a, $b)"
#define EVERY(text)      \
    {                    \
        text, text, text \
    }
#define ALONE(text)      \
    {                    \
        text, NULL, NULL \
    }
#define NUMBER(float, integer)  \
    {                           \
        float, integer, integer \
    }

static const spelling spellings[RY_EXPR_CODES] = {
    [RY_EXPR_add] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_sub] = NUMBER("$a - $b", "($T)(($W)$a - ($W)$b)"),
    [RY_EXPR_mul] = NUMBER("ROUNDED_PRODUCT($a, $b)", "($T)(($W)$a * ($W)$b)"),
    [RY_EXPR_div] = NUMBER("$a / $b", CALL_2(div)),
    [RY_EXPR_min] = NUMBER(CALL_2(min), "$a < $b ? $a : $b"),
    [RY_EXPR_max] = NUMBER(CALL_2(max), "$a < $b ? $b : $a"),
    [RY_EXPR_pow] = NUMBER("pow($a, $b)", CALL_2(pow)),
    [RY_EXPR_mod] = EVERY(CALL_2(mod)),
    [RY_EXPR_fmod] = NUMBER("fmod($a, $b)", CALL_2(fmod)),
    [RY_EXPR_neg] = NUMBER("-$a", "($T)(($W)0 - ($W)$a)"),
    [RY_EXPR_abs] = {"fabs($a)", "$a < 0 ? ($T)(($W)0 - ($W)$a) : $a", "$a"},
    [RY_EXPR_sign] = {CALL_1(sign), "($T)(($a > 0) - ($a < 0))", "($T)($a != 0)"},
    [RY_EXPR_eq] = EVERY("$a == $b"),
    [RY_EXPR_ne] = EVERY("$a != $b"),
    [RY_EXPR_lt] = EVERY("$a < $b"),
    [RY_EXPR_le] = EVERY("$a <= $b"),
    [RY_EXPR_gt] = EVERY("$a > $b"),
    [RY_EXPR_ge] = EVERY("$a >= $b"),
    [RY_EXPR_isnan] = NUMBER("$a != $a", "0"),
    [RY_EXPR_isinf] = NUMBER("fabs($a) == ($T)F32_INFINITY", "0"),
    [RY_EXPR_and] = EVERY("$a & $b"),
    [RY_EXPR_or] = EVERY("$a | $b"),
    [RY_EXPR_xor] = EVERY("$a ^ $b"),
    [RY_EXPR_not] = EVERY("!$a"),
    [RY_EXPR_bit_and] = EVERY("($T)($a & $b)"),
    [RY_EXPR_bit_or] = EVERY("($T)($a | $b)"),
    [RY_EXPR_bit_xor] = EVERY("($T)($a ^ $b)"),
    [RY_EXPR_bit_not] = EVERY("($T)(~$a)"),
    [RY_EXPR_shift_left] = {NULL, "$b < 0 ? ($T)0 : $b < $B ? ($T)(($W)$a << $b) : ($T)0",
                            "$b < $B ? ($T)(($W)$a << $b) : ($T)0"},
    [RY_EXPR_shift_right] = {NULL, "($T)($a >> ($b < 0 ? $B - 1 : $b < $B ? $b : $B - 1))",
                             "$b < $B ? ($T)($a >> $b) : ($T)0"},
    [RY_EXPR_select] = EVERY("$a ? $b : $c"),
    [RY_EXPR_floor] = ALONE("floor($a)"),
    [RY_EXPR_ceil] = ALONE("ceil($a)"),
    [RY_EXPR_round] = ALONE("rint($a)"),
    [RY_EXPR_sqrt] = ALONE("sqrt($a)"),
    [RY_EXPR_reciprocal] = ALONE("1 / $a"),
    [RY_EXPR_exp] = ALONE(CALL_1(exp)),
    [RY_EXPR_log] = ALONE(CALL_1(log)),
    [RY_EXPR_log1p] = ALONE(CALL_1(log1p)),
    [RY_EXPR_expm1] = ALONE(CALL_1(expm1)),
    [RY_EXPR_sin] = ALONE("sin($a)"),
    [RY_EXPR_cos] = ALONE("cos($a)"),
    [RY_EXPR_tan] = ALONE("tan($a)"),
    [RY_EXPR_asin] = ALONE(CALL_1(asin)),
    [RY_EXPR_acos] = ALONE(CALL_1(acos)),
    [RY_EXPR_atan] = ALONE(CALL_1(atan)),
    [RY_EXPR_sinh] = ALONE(CALL_1(sinh)),
    [RY_EXPR_cosh] = ALONE(CALL_1(cosh)),
    [RY_EXPR_tanh] = ALONE(CALL_1(tanh)),
    [RY_EXPR_asinh] = ALONE(CALL_1(asinh)),
    [RY_EXPR_acosh] = ALONE(CALL_1(acosh)),
    [RY_EXPR_atanh] = ALONE(CALL_1(atanh)),
    [RY_EXPR_erf] = ALONE(CALL_1(erf)),
    [RY_EXPR_sigmoid] = ALONE(CALL_1(sigmoid)),
    [RY_EXPR_silu] = ALONE(CALL_1(silu)),
    [RY_EXPR_softplus] = ALONE(CALL_1(softplus)),
    [RY_EXPR_mish] = ALONE(CALL_1(mish)),
    [RY_EXPR_gelu] = ALONE(CALL_1(gelu)),
    [RY_EXPR_gelu_tanh] = ALONE(CALL_1(gelu_tanh)),
    /* joins of two partial results of a reduction */
    [RY_EXPR_sum] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_mean] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_prod] = NUMBER("$a * $b", "($T)(($W)$a * ($W)$b)"),
    [RY_EXPR_reduce_min] = NUMBER(CALL_2(min), "$a < $b ? $a : $b"),
    [RY_EXPR_reduce_max] = NUMBER(CALL_2(max), "$a < $b ? $b : $a"),
};

typedef struct type_row {
    const char *memory, *vector, *reg, *wrapping, *name;
} type_row;

static const type_row types[RY_DTYPES] = {
    [RY_f32] = {"float", "float4", "float", "", "f32"},
    [RY_f16] = {"ushort", NULL, "float", "", "f32"},
    [RY_bf16] = {"ushort", NULL, "float", "", "f32"},
    [RY_f64] = {"double", "double4", "double", "", "f64"},
    [RY_i8] = {"int8_t", "char4", "int8_t", "uint32_t", "i8"},
    [RY_i16] = {"int16_t", "short4", "int16_t", "uint32_t", "i16"},
    [RY_i32] = {"int32_t", "int4", "int32_t", "uint32_t", "i32"},
    [RY_i64] = {"int64_t", "long4", "int64_t", "uint64_t", "i64"},
    [RY_u8] = {"uint8_t", "uchar4", "uint8_t", "uint32_t", "u8"},
    [RY_u16] = {"uint16_t", "ushort4", "uint16_t", "uint32_t", "u16"},
    [RY_u32] = {"uint32_t", "uint4", "uint32_t", "uint32_t", "u32"},
    [RY_u64] = {"uint64_t", "ulong4", "uint64_t", "uint64_t", "u64"},
    [RY_bool] = {"uint8_t", "uchar4", "int", "uint32_t", "bool"},
};

const char *ry_gpu_memory_type(ry_dtype dtype)
{
    return types[dtype].memory;
}

const char *ry_gpu_vector_type(ry_dtype dtype)
{
    return types[dtype].vector;
}

const char *ry_gpu_register_type(ry_dtype dtype)
{
    return types[dtype].reg;
}

const char *ry_gpu_compared_type(ry_dtype dtype)
{
    return ry_dtype_size(dtype) < sizeof(int32_t) ? "int32_t" : types[dtype].reg;
}

static const char *const near_spellings[RY_EXPR_CODES] = {
    [RY_EXPR_erf] = CALL_1(near_erf),
    [RY_EXPR_silu] = CALL_1(near_silu),
    [RY_EXPR_gelu] = CALL_1(near_gelu),
    [RY_EXPR_gelu_tanh] = CALL_1(near_gelu_tanh),
};

const char *ry_gpu_spelled(const ry_gpu_expr *expr, ry_expr_code code, ry_dtype dtype)
{
    const spelling *s = &spellings[code];
    if (expr->near && near_spellings[code] && dtype != RY_f64) {
        return near_spellings[code];
    }
    return ry_dtype_is_float(dtype)                     ? s->of_float
           : ry_dtype_get_kind(dtype) == RY_KIND_SIGNED ? s->of_signed
                                                        : s->of_unsigned;
}

/* The integer `value` as a literal of a type. */
void ry_gpu_integer_literal(ry_dtype dtype, int64_t value, char literal[RY_GPU_LITERAL])
{
    const bool wide = ry_dtype_size(dtype) == 8;
    if (dtype == RY_bool) {
        snprintf(literal, RY_GPU_LITERAL, "%d", value != 0);
    } else {
        snprintf(literal, RY_GPU_LITERAL, "((%s)0x%llx%s)", types[dtype].reg,
                 (unsigned long long)value & (wide ? ~0ull : 0xffffffffull), wide ? "ul" : "u");
    }
}

/* A number of the program, as the type that its use asks for has it. */
void ry_gpu_number_literal(ry_dtype dtype, double value, char literal[RY_GPU_LITERAL])
{
    const bool f64 = dtype == RY_f64;
    const double held = f64 ? value : (double)(float)value;
    if (!ry_dtype_is_float(dtype)) {
        ry_gpu_integer_literal(dtype, ry_expr_to_int(dtype, value, false), literal);
    } else if (isnan(held) || isinf(held)) {
        snprintf(literal, RY_GPU_LITERAL, "(%s(%s)%s)", held < 0 ? "-" : "", types[dtype].reg,
                 isnan(held) ? "F32_NAN" : "F32_INFINITY");
    } else {
        snprintf(literal, RY_GPU_LITERAL, "(%a%s)", held, f64 ? "" : "f");
    }
}

/* Writes a spelling. */
void ry_gpu_put(ry_text *text, const char *format, ry_dtype dtype, char operand[3][RY_GPU_LITERAL])
{
    for (; *format; format++) {
        if (*format != '$') {
            ry_text_add(text, "%c", *format);
            continue;
        }
        switch (*++format) {
        case 'a':
        case 'b':
        case 'c': ry_text_add(text, "%s", operand[*format - 'a']); break;
        case 'T': ry_text_add(text, "%s", types[dtype].reg); break;
        case 'W': ry_text_add(text, "%s", types[dtype].wrapping); break;
        case 'N': ry_text_add(text, "%s", types[dtype].name); break;
        default: ry_text_add(text, "%d", 8 * (int)ry_dtype_size(dtype)); break;
        }
    }
}

/* The type in which instruction i takes operand k. */
ry_dtype ry_gpu_operand_type(const ry_gpu_expr *expr, int i, int k)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    const bool first = expr->program->code[in->operand[0]].code != RY_EXPR_constant ||
                       ry_expr_code_operands(in->code) < 2;
    switch (ry_expr_code_class(in->code)) {
    case RY_EXPR_CLASS_LOGIC: return RY_bool;
    case RY_EXPR_CLASS_SELECT: return k == 0 ? RY_bool : expr->types[i];
    case RY_EXPR_CLASS_BOOL: return expr->types[in->operand[first ? 0 : 1]];
    case RY_EXPR_CLASS_NONE: return expr->types[in->operand[0]];
    default: return expr->types[i];
    }
}

void ry_gpu_value_literal(const ry_gpu_expr *expr, int i, ry_dtype dtype,
                          char literal[RY_GPU_LITERAL])
{
    const ry_expr_instruction *in = &expr->program->code[i];
    if (in->code == RY_EXPR_constant) {
        ry_gpu_number_literal(dtype, in->value, literal);
    } else {
        snprintf(literal, RY_GPU_LITERAL, "v%d", i);
    }
}

/* The functions of f64 that the device has by other names than those of f32 are called by. */
static const char *const f64_names[] = {"exp",  "log",  "log1p", "expm1", "asin",  "acos",  "atan",
                                        "sinh", "cosh", "tanh",  "asinh", "acosh", "atanh", "erf"};

void ry_gpu_expr_functions(const ry_gpu_expr *expr, ry_text *text)
{
    bool used[RY_DTYPES] = {false}, elementary = false;
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        elementary = elementary || (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh);
        /* numbers are written in the type of their use */
        used[expr->types[i]] |= code != RY_EXPR_constant;
    }
    for (size_t i = 0; i < sizeof f64_names / sizeof *f64_names && used[RY_f64]; i++) {
        ry_text_add(text, "%s#define f64_%s(a) %s(a)\n", i ? "" : "#define USES_f64\n",
                    f64_names[i], f64_names[i]);
    }
    if (elementary) {
        ry_text_add(text, "#define USES_ELEMENTARY\n%s", ry_gpu_text_elementary);
    }
    ry_text_add(text, "%s", ry_gpu_text_functions);
    for (int t = 1; t < RY_DTYPES; t++) {
        const ry_dtype_kind kind = ry_dtype_get_kind((ry_dtype)t);
        if (used[t] && (kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED)) {
            ry_text_add(text, "%s_FUNCTIONS(%s, %s, %s)\n",
                        kind == RY_KIND_SIGNED ? "SIGNED" : "UNSIGNED", types[t].reg,
                        types[t].wrapping, types[t].name);
        }
    }
}
