# SPDX-License-Identifier: Apache-2.0
"""References in plans: none but those of reference_steps.inc."""
import fnmatch
import pathlib
import re

LISTED = re.findall(r'^REFERENCE_STEP\("(.*?)", "(.*?)"', (pathlib.Path(__file__).parent / "reference_steps.inc").read_text(), re.MULTILINE)


def unlisted(steps):
    """Steps (dicts) that a reference computes and that are not in the list: "KERNEL computes 'PROBLEM'"."""
    return [f"{step['kernel']} computes '{step['problem']}'" for step in steps if step["reference"] and not any(
        fnmatch.fnmatchcase(step["kernel"], kernel) and fnmatch.fnmatchcase(step["problem"], problem) for kernel, problem in LISTED)]
