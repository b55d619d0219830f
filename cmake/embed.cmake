# SPDX-License-Identifier: Apache-2.0
# Texts that the library carries: programs that devices compile. include() it for the function, which makes a C source of each text:
#
#   ry_embed(SOURCES ry_gpu_text kernels/a.cl kernels/b.cl)     const char ry_gpu_text_a[], ry_gpu_text_b[], each ending with a NUL

set(RY_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(ry_embed sources prefix)
  set(made)
  foreach(text ${ARGN})
    get_filename_component(text ${text} ABSOLUTE)
    get_filename_component(name ${text} NAME_WE)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${prefix}_${name}.c)
    add_custom_command(
      OUTPUT ${source}
      COMMAND ${CMAKE_COMMAND} -D TEXT=${text} -D SOURCE=${source} -D SYMBOL=${prefix}_${name} -P ${RY_EMBED_SCRIPT}
      DEPENDS ${text} ${RY_EMBED_SCRIPT}
      COMMENT "Embedding ${name}"
      VERBATIM)
    list(APPEND made ${source})
  endforeach()
  set(${sources} ${made} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ ${TEXT} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
  # CMake's expressions call themselves for each repetition: none here is as long as the text
  if(bytes MATCHES "0x[89a-f]" OR bytes STREQUAL "")
    message(FATAL_ERROR "${TEXT}: a text to embed is ASCII, and not empty")
  endif()
  file(WRITE ${SOURCE} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n    ${bytes}0x00};\n")
endif()
