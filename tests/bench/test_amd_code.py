# SPDX-License-Identifier: Apache-2.0
"""bench/amd_code finds the main loop in clang's assembly, and counts it."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench/amd_code"


ASSEMBLY = """
run:                                    ; @run
; %bb.0:
\ts_load_dwordx2 s[4:5], s[8:9], 0x0
.LBB1_1:                                ; a step
\tglobal_load_dwordx4 v[8:11], v[2:3], off
\tglobal_load_dword v12, v[2:3], off
\tv_mul_hi_u32 v7, v7, s3
.LBB1_2:                                ;   Inner Loop: terms
\tds_read_b128 v[20:23], v30
\ts_waitcnt lgkmcnt(0)
\tv_fmac_f32_e32 v1, v10, v3
\tv_fma_f32 v4, v5, v6, v4
\ts_add_i32 s4, s4, 1
\ts_cbranch_scc1 .LBB1_2
\ts_cbranch_vccnz .LBB1_1
\ts_endpgm
.Lfunc_end1:
\t.amdhsa_kernel run
\t.end_amdhsa_kernel
; Kernel info:
; NumVgprs: 31
; ScratchSize: 16
; Occupancy: 9
; LDSByteSize: 2048 bytes/workgroup (compile time only)
"""


def load():
    loader = importlib.machinery.SourceFileLoader("amd_code", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("amd_code", loader))
    loader.exec_module(module)
    return module


def test_counts():
    """A step of six products runs its loop of two three times."""
    tool = load()
    instructions, labels, _ = tool.entry(ASSEMBLY, "run")
    assert labels == {".LBB1_1": 1, ".LBB1_2": 4} and tool.products_of(instructions) == 2
    assert tool.facts(ASSEMBLY, 6) == {"loop": 22, "products": 6, "share": "50%", "loads": 2, "local": 3, "scalar": 7, "waits": 3, "divisions": 1, "early": 1,
                                       "vgpr": "31", "scratch": "16", "lds": "2048", "waves": "9"}


def test_a_loop_without_one_of_terms():
    tool = load()
    instructions, labels, _ = tool.entry(ASSEMBLY.replace("\ts_cbranch_scc1 .LBB1_2\n", ""), "run")
    assert len(tool.main_loop(instructions, labels, 6)) == 9 and not tool.main_loop(instructions[:1], labels, 6)


def test_products_of_a_step():
    assert load().products_of_step("#define ITEM_M (8)\n#define ITEM_N (4)\n#define TILE_K (16)\n#define SLICES (2)\n") == 256


def test_a_call_is_an_error():
    with pytest.raises(SystemExit, match="_Z3fooi"):
        load().facts(ASSEMBLY.replace("v_mul_hi_u32 v7, v7, s3", "s_add_u32 s4, s4, _Z3fooi@rel32@lo+4"), 6)
