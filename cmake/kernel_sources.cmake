# SPDX-License-Identifier: Apache-2.0
# What each kernel is compiled from, as one number: measured records are of it (kernels/kernel_source.h). include() it for the function, which makes a C
# source with a table: of each file with rows of kernels its name, and a hash of
#
#   - its text, and the texts that it includes within kernels/, and of headers their sources, all the way down
#   - of a method's folder (cpu/igemm) all files, as of move/
#   - of a GPU's kernels the texts that they name, and those that are put before each, the devices' dialects among them
#   - `how`: the compiler and the kind of build
#
# Coefficients and the sources that use them (*_cost.c, *_costs.inc) are left out: they say how long a kernel takes, not what it does.
#
#   ry_kernel_sources(SOURCE how src/kernels)

set(RY_SOURCES_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(ry_kernel_sources source how root)
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS ${root}/*.c ${root}/*.h ${root}/*.inc ${root}/*.cl)
  list(FILTER texts EXCLUDE REGEX "_costs?\\.(c|h|inc)$")
  file(GLOB dialects CONFIGURE_DEPENDS ${root}/../device/*/dialect.*)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/kernel_sources.c)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D HOW=${how} -D SOURCE=${made} -P ${RY_SOURCES_SCRIPT}
    DEPENDS ${texts} ${dialects} ${RY_SOURCES_SCRIPT}
    COMMENT "Hashing what kernels are compiled from"
    VERBATIM)
  set(${source} ${made} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()
cmake_minimum_required(VERSION 3.25)

# Paths are from ROOT on: cpu/igemm/igemm_isa.c.
file(GLOB_RECURSE all RELATIVE ${ROOT} ${ROOT}/*/*.c ${ROOT}/*/*.h ${ROOT}/*/*.inc ${ROOT}/*/*.cl)
list(FILTER all EXCLUDE REGEX "_costs?\\.(c|h|inc)$")
list(FILTER all EXCLUDE REGEX "_kernels\\.inc$|/emulated\\.inc$")
list(SORT all)

# Of each file: includes_<file>, hash_<file>; of each header of parts/ its users there.
foreach(file ${all})
  file(STRINGS ${ROOT}/${file} lines REGEX "^ *# *include \"kernels/")
  string(REGEX MATCHALL "kernels/[^\"]+" included "${lines}")
  list(TRANSFORM included REPLACE "^kernels/" "")
  set(includes_${file})
  foreach(target ${included})
    if(target IN_LIST all)
      list(APPEND includes_${file} ${target})
      list(APPEND includers_${target} ${file})
      if(file MATCHES "^cpu/parts/.*\\.c$" AND target MATCHES "^cpu/parts/")
        list(APPEND users_${target} ${file})
      endif()
    endif()
  endforeach()
  file(SHA256 ${ROOT}/${file} hash_${file})
  get_filename_component(folder ${file} DIRECTORY)
  list(APPEND folder_${folder} ${file})
endforeach()

set(methods ${all})
list(FILTER methods INCLUDE REGEX "^(cpu/[a-z0-9]+|move)/")
list(FILTER methods EXCLUDE REGEX "^cpu/(simd|parts)/")

# What a file brings with it beside what it includes.
function(find_others file others)
  set(found ${users_${file}})
  get_filename_component(folder ${file} DIRECTORY)
  if(file IN_LIST methods)
    list(APPEND found ${folder_${folder}})
  elseif(file MATCHES "\\.h$")
    string(REGEX REPLACE "\\.h$" "" stem ${file})
    foreach(own ${stem}.c ${stem}_isa.c)
      if(own IN_LIST all)
        list(APPEND found ${own})
      endif()
    endforeach()
  elseif(file MATCHES "^gpu/.*\\.c$")
    list(APPEND found gpu/gpu_program.c gpu/functions.cl common/elementary.cl gpu/fault.cl)
    file(STRINGS ${ROOT}/${file} lines REGEX "ry_gpu_text_")
    string(REGEX MATCHALL "ry_gpu_text_[a-z0-9_]+" names "${lines}")
    foreach(name ${names})
      string(REPLACE "ry_gpu_text_" "gpu/" text ${name}.cl)
      if(text IN_LIST all)
        list(APPEND found ${text})
      endif()
    endforeach()
  endif()
  set(${others} ${found} PARENT_SCOPE)
endfunction()

foreach(file ${all})
  find_others(${file} others_${file})
endforeach()

file(GLOB paths ${ROOT}/../device/*/dialect.*)
list(SORT paths)
set(dialects)
foreach(path ${paths})
  file(SHA256 ${path} hash)
  string(APPEND dialects "\n${hash}")
endforeach()

set(rows)
foreach(file ${all})
  set(kernels)
  set(closure ${file})
  if(file MATCHES "/moves\\.inc$")
    # its rows are expanded where it is included, and are rows of this file to the compiler
    set(kernels TRUE)
    list(APPEND closure ${includers_${file}})
  elseif(file MATCHES "\\.c$")
    file(STRINGS ${ROOT}/${file} kernels REGEX "^ *(RY_[A-Z]+_KERNELS?[A-Z_]*|RY_REF_[A-Z_]+|[A-Z0-9_]*KERNELS?[A-Z0-9_]*)\\(|ry_kernel ry_" LIMIT_COUNT 1)
  endif()
  if(NOT kernels)
    continue()
  endif()
  set(next ${closure})
  while(next)
    list(POP_FRONT next at)
    foreach(target ${includes_${at}} ${others_${at}})
      if(NOT seen_${file}_${target})
        set(seen_${file}_${target} TRUE)
        list(APPEND closure ${target})
        list(APPEND next ${target})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES closure)
  list(SORT closure)
  set(content "${HOW}")
  foreach(target ${closure})
    string(APPEND content "\n${target} ${hash_${target}}")
  endforeach()
  if(file MATCHES "^gpu/")
    string(APPEND content "${dialects}")
  endif()
  string(SHA256 hash "${content}")
  string(SUBSTRING ${hash} 0 16 hash)
  get_filename_component(name ${file} NAME)
  list(APPEND rows "    {\"${name}\", UINT64_C(0x${hash})},")
endforeach()
list(SORT rows)
string(REPLACE ";" "\n" rows "${rows}")
file(WRITE ${SOURCE} "#include \"kernels/kernel_source.h\"\n\nconst ry_source_row ry_source_rows[] = {\n${rows}\n};\nconst size_t ry_source_row_count = sizeof ry_source_rows / sizeof *ry_source_rows;\n")
