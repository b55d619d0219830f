# SPDX-License-Identifier: Apache-2.0
"""bench/gpu_code finds the main loop in a listing of machine code, and counts it."""
import importlib.machinery
import importlib.util
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench/gpu_code"


LISTING = """
\t.section\t.text.join,"ax",@progbits
        /*0000*/                   FFMA R0, R1, R2, R3 ;
.L_x_9:
        /*0010*/                   BRA `(.L_x_9) ;
\t.section\t.text.run,"ax",@progbits
        /*0000*/                   STL [R1+0x1c], R4                       (*"SpillRefill"*);
.L_x_0:
        /*0010*/                   LDG.E.128 R8, [R2.64] ;
        /*0020*/                   LDG.E R12, [R2.64+0x10] ;
.L_x_1:
        /*0030*/                   FFMA R20, R21, R22, R20 ;
        /*0040*/                   FFMA R23, R12, R22, R23 ;
        /*0050*/              @!P0 LDG.E R31, [R30.64] ;
        /*0060*/                   IMAD.HI.U32 R40, R41, 0x5397829d, RZ ;
        /*0070*/                   LDS.128 R24, [R40] ;
        /*0080*/                   STS [R40+0x10], R31 ;
        /*0090*/               @P1 BRA `(.L_x_1) ;
        /*00a0*/               @P0 BRA `(.L_x_0) ;
"""


def load():
    loader = importlib.machinery.SourceFileLoader("gpu_code", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_code", loader))
    loader.exec_module(module)
    return module


def test_counts(tmp_path):
    """The inner loop has as many products as the one around it: it is the main loop."""
    tool = load()
    instructions, labels = tool.entries(LISTING)["run"]
    assert len(instructions) == 11 and labels == {".L_x_0": 1, ".L_x_1": 3}
    loop = tool.main_loop(instructions, labels)
    assert [tool.name_of(text) for text in loop] == ["FFMA", "FFMA", "LDG.E", "IMAD.HI.U32", "LDS.128", "STS", "BRA"]
    assert tool.products_of(loop) == 2 and list(tool.distances(loop)) == [2]
    assert tool.written("LDG.E.128 R8, [R2.64]") == {8, 9, 10, 11} and tool.read("STS [R40+0x10], R31") == {31, 40}
    assert tool.read("LDG.E R31, [R30.64]") == {30, 31}
    program = tmp_path / "nvdisasm"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTING}END\n")
    program.chmod(0o755)
    assert tool.facts("run.cubin", program) == {"loop": 7, "products": 2, "share": "29%", "loads": 2, "stores": 1, "divisions": 1, "early": 1, "ahead": 2,
                                                "registers": 42, "spills": 1}


def test_distances():
    tool = load()
    loop = ["LDG.E R5, [R2.64]", *["FFMA R20, R21, R22, R20"] * 20, "STS [R9], R5"]
    assert list(tool.distances(loop)) == [20] and list(tool.distances(loop[:10] + loop[-1:])) == [9]


def test_products():
    """Four products of bytes count as one; beside matrix units nothing else does."""
    tool = load()
    bytes_four, units = "IDP.4A.S8.S8 R20, R21, R22, R20", "IMMA.16832.S8.S8 R20, R24.ROW, R26.COL, R20"
    assert tool.products_of([bytes_four, "IMAD R1, R2, R3, R4", bytes_four]) == 2 and tool.products_of([bytes_four, units]) == 1
