# SPDX-License-Identifier: Apache-2.0
"""The option that names the build folder to install from; and no profile of the machine decides which kernels are run."""
import os

os.environ["RYND_MACHINE"] = "off"
os.environ["RYND_WISDOM"] = "off"


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="the build folder to install from")
