# SPDX-License-Identifier: Apache-2.0
"""The command lines of README, docs, the man page and --help."""

import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"(?:^| )(?:[A-Z]{3,}(?:\.\w+)?|\S*\.\.\.|\S*\[)(?: |$)")  # MODEL, FILE.npz, MODEL..., [--validate


def clean(line):
    """Without prompt, comment and pipe; None: no command of this program, or a pattern of one."""
    line = re.sub(r"^(?:\$ )?(?:build/release/bin/|mpirun [^r]*)?rynd ", "rynd ", line.strip())
    line = re.sub(r"\s+# .*$", "", line).split(" | ")[0].split(" > ")[0]
    if not re.match(r"rynd [a-z]+( |$)", line) or PLACEHOLDER.search(line) or re.match(r"rynd (machine|reads|help)", line):
        return None
    return shlex.split(line)[1:]


def of_page(page):
    text = re.sub(r" *\\\n *", " ", (ROOT / page).read_text())  # a line that goes on
    for number, line in enumerate(text.splitlines(), 1):
        command = clean(line) if re.match(r"(    )?(\$ )?(build/release/bin/|mpirun )?\S*rynd [a-z]+ ", line) and not re.match(r"rynd .*[a-z]\.$", line) else None
        if command:
            yield f"{page}:{number}", command


def of_manual():
    text = (ROOT / "cli/rynd.1").read_text()
    for line in text[text.index(".SH EXAMPLES"):].splitlines():
        command = clean(line.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\&", ""))
        if command:
            yield "rynd.1", command


def of_help(rynd, commands):
    for name in commands:
        text = rynd(name, "--help").out
        for line in text[text.index("\nexamples:"):].splitlines():
            command = clean(line)
            if command:
                yield f"rynd {name} --help", command


def of_documents():
    return [pair for page in PAGES for pair in of_page(page)] + list(of_manual())
