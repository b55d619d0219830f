# SPDX-License-Identifier: Apache-2.0
"""Without a profile of the machine, which would decide what is measured."""
import os

os.environ["RYND_MACHINE"] = "off"
os.environ["RYND_WISDOM"] = "off"
