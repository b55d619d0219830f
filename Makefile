# SPDX-License-Identifier: Apache-2.0
# The front of the build: each rule says in a line what it does; the work is done by CMake and the scripts of tools/.
#
#   make             the library and the command, in build/release
#   make demo        a photo upscaled by a network: build/demo/upscale.png
#   make check       every test that is quick enough for each change (about an hour on two cores)
#   make check-all   the rest too: static analysis, whole networks, long fuzzing, the other compiler, 64-bit Arm
#   make check-torch what rynd has for PyTorch, with PyPI's PyTorch (3 GB in build/torch): `make check` has Debian's, which cannot compile
#   make bench       speed beside ONNX Runtime, OpenVINO, ncnn, MNN and PyTorch: installs them if none is there (6 GB), then half an hour
#   make install     DESTDIR=, PREFIX=/usr/local
#   make wheel       the Python package as a file, for Python 3.11 and later: build/wheels/
#   make format      clang-format over all sources
#   make packages    installs the Debian packages and the Python environment that the rest needs
#
# demo, check, check-all, check-torch and bench install what is missing by themselves and say so; with RYND_INSTALL=0 they only say what is missing.
PREFIX ?= /usr/local
RELEASE := build/release
GENERATOR := $(if $(shell command -v ninja),-G Ninja,)
export RYND_INSTALL

.PHONY: all demo check check-all check-torch bench install wheel format packages packages-test clean

all: $(RELEASE)/CMakeCache.txt
	cmake --build $(RELEASE) --parallel

$(RELEASE)/CMakeCache.txt: CMakePresets.json
	@RYND_INSTALL=0 tools/install_packages build
	cmake --preset release $(GENERATOR) -DRYND_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX)

packages-test:
	@tools/install_packages build demo test
	@tools/make_venv

packages: packages-test

# A sub-make, because the packages decide which generator there is.
demo:
	@tools/install_packages build demo
	@$(MAKE) --no-print-directory all
	@tools/demo --ort-python $(if $(wildcard build/venv/bin/python),build/venv/bin/python,python3)

check: packages-test
	@tools/check

check-all: packages-test
	@{ tools/install_packages arm64 && tools/arm64_libraries; } || echo "Without these packages the stage arm64 is skipped"
	@tools/install_packages opencl || echo "Without these packages kernels of GPUs run in no simulator, and not on rusticl"
	@tools/make_venv cuda || echo "Without NVRTC the tests that compile for CUDA are skipped"
	@tools/make_venv opencl || echo "Without Intel's OpenCL the tests of GPUs run on the system's devices only"
	@tools/intel_compiler || echo "Without the compiler of Intel's GPUs their machine code is not read"
	@tools/check --all

check-torch: packages-test
	@tools/check_torch

bench: packages-test
	@$(MAKE) --no-print-directory all
	@if [ ! -x build/peers/bin/python ] && [ "$${RYND_INSTALL:-1}" != 0 ]; then echo "No engine is there to compare with: bench/setup"; bench/setup; fi
	@bench/compare

install: all
	cmake --install $(RELEASE) --prefix $(PREFIX)

wheel:
	@tools/install_packages build
	@tools/make_wheel

format:
	@tools/check_format --fix

clean:
	rm -rf build
