# SPDX-License-Identifier: Apache-2.0
# Toolchain for 64-bit Arm on a machine of another kind: Debian's cross compiler; programs run by qemu-user. The target's libraries are those that
# tools/arm64_libraries unpacks into build/arm64-libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(libraries ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-libraries)
set(CMAKE_C_FLAGS_INIT "-isystem ${libraries}/usr/include")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu ${libraries})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
