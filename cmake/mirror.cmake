# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=FOLDER -DTO=FOLDER -P mirror.cmake: copies a folder, and deletes the copies of files that it no longer has.
# TO may hold other files, too: TO.files lists the copies.
set(list ${TO}.files)
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/*)
list(FILTER files EXCLUDE REGEX "__pycache__")
if(EXISTS ${list})
  file(STRINGS ${list} stale)
  list(REMOVE_ITEM stale "" ${files})
  list(TRANSFORM stale PREPEND ${TO}/)
  file(REMOVE ${stale})
endif()
foreach(file IN LISTS files)
  get_filename_component(folder ${TO}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(COPY_FILE ${FROM}/${file} ${TO}/${file} ONLY_IF_DIFFERENT)
endforeach()
list(JOIN files "\n" text)
file(WRITE ${list} "${text}\n")
