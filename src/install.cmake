# `cmake --install` and `find_package(zklock)`.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zklock)

install(TARGETS zklock EXPORT zklock-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zklock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.hpp PATTERN README.md PATTERN MIGRATION.md) # the user's guide, whose links to the headers hold there
install(EXPORT zklock-targets NAMESPACE zklock:: DESTINATION ${package_dir})

set(zklock_built_with_boost ${Boost_VERSION_STRING})
configure_package_config_file(zklock-config.cmake.in zklock-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(zklock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/zklock-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/zklock-config-version.cmake
  find_zookeeper_st.cmake
  DESTINATION ${package_dir})
