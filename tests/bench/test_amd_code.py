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
.LBB1_1:                                ; %outer
\tv_fmac_f32_e32 v1, v2, v3
.LBB1_2:                                ;   Inner Loop
\tglobal_load_dwordx4 v[8:11], v[2:3], off
\tglobal_load_dword v12, v[2:3], off
\tv_fmac_f32_e32 v1, v10, v3
\tv_fma_f32 v4, v5, v6, v4
\tv_mul_hi_u32 v7, v7, s3
\tds_read_b128 v[20:23], v30
\ts_waitcnt lgkmcnt(0)
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
    tool = load()
    instructions, labels, _ = tool.entry(ASSEMBLY, "run")
    assert labels == {".LBB1_1": 1, ".LBB1_2": 2}
    assert tool.main_loop(instructions, labels)[0] == "v_fmac_f32_e32 v1, v2, v3" and tool.products_of(instructions) == 3
    assert tool.facts(ASSEMBLY) == {"loop": 11, "products": 3, "share": "43%", "loads": 2, "local": 1, "scalar": 3, "waits": 1, "divisions": 1, "early": 1,
                                    "vgpr": "31", "scratch": "16", "lds": "2048", "waves": "9"}


def test_a_call_is_an_error():
    with pytest.raises(SystemExit, match="_Z3fooi"):
        load().facts(ASSEMBLY.replace("v_mul_hi_u32 v7, v7, s3", "s_add_u32 s4, s4, _Z3fooi@rel32@lo+4"))
