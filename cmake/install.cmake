# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where: libraries, headers, pkg-config file, CMake package. The command installs itself, its man page and its
# completion from cli/.

if(NOT TARGET rynd_shared)
  return()
endif()
include(CMakePackageConfigHelpers)

install(TARGETS rynd_shared rynd_static EXPORT rynd-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/rynd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT rynd-targets NAMESPACE rynd:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rynd)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/rynd-config.cmake.in ${CMAKE_BINARY_DIR}/rynd-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rynd)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rynd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/rynd-config.cmake ${CMAKE_BINARY_DIR}/rynd-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rynd)

# The .pc file finds its prefix from where it lies, so that an installed tree can be moved.
file(RELATIVE_PATH RYND_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" RYND_PC_PREFIX ${RYND_PC_PREFIX})
string(JOIN " " RYND_PC_LIBS_PRIVATE ${RYND_LINK_FLAGS})
configure_file(${CMAKE_SOURCE_DIR}/cmake/rynd.pc.in ${CMAKE_BINARY_DIR}/rynd.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/rynd.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
