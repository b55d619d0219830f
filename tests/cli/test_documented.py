# SPDX-License-Identifier: Apache-2.0
"""Each command line of README, docs, the man page and --help is understood: command, options and their values exist."""

import pytest
from conftest import run_rynd
from documented import of_documents, of_help
from test_options import COMMANDS

DOCUMENTED = of_documents()


def test_there_are_many():
    assert len(DOCUMENTED) > 50 and {place.split(":")[0] for place, _ in DOCUMENTED} >= {"README.md", "docs/commands.md", "rynd.1"}


@pytest.mark.parametrize("place, command", DOCUMENTED, ids=[f"{place} {' '.join(command)[:60]}" for place, command in DOCUMENTED])
def test_is_understood(place, command):
    result = run_rynd(*command, "--help")
    assert result.code == 0 and result.out.startswith("usage: rynd "), (place, command, result.err)


def test_examples_of_help_are_understood(rynd):
    examples = list(of_help(rynd, COMMANDS))
    assert {place.split()[1] for place, _ in examples} == set(COMMANDS)
    for place, command in examples:
        assert rynd(*command, "--help").code == 0, (place, command)


def test_an_unknown_option_is_found(rynd):
    rynd("plan", "m.onnx", "--htlm", "--help").failed("--htlm", code=2)
