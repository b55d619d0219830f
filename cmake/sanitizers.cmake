# SPDX-License-Identifier: Apache-2.0
# Sanitizers and coverage for fuzzing, for the whole build at once: objects with and without them do not mix.

if(RYND_SANITIZE)
  # Reports name functions and lines; descriptions of variables, which nobody reads, are up to half of the time of compiling.
  add_compile_options(-fsanitize=${RYND_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${RYND_SANITIZE})
endif()
if(RYND_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RYND_FUZZ needs Clang, for libFuzzer; this compiler is ${CMAKE_C_COMPILER_ID}. Configure with -DCMAKE_C_COMPILER=clang.")
  endif()
  # Without the depth of the stack, which depends on the address at which a process has its stack: fuzzers would take other inputs in each run.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=stack-depth)
endif()
