# SPDX-License-Identifier: Apache-2.0
"""The option that names the build folder to install from."""


def pytest_addoption(parser):
    parser.addoption("--build", default="build/release", help="the build folder to install from")
