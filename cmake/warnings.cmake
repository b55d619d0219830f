# SPDX-License-Identifier: Apache-2.0
# The warnings that every file of the project compiles without. CI turns them into errors.

add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla)
add_compile_options(-Wpointer-arith -Wwrite-strings -Wundef -Wformat=2)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wlogical-op -Wduplicated-cond)
endif()
if(RYND_WERROR)
  add_compile_options(-Werror)
endif()
