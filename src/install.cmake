# `cmake --install`, `find_package(zklock)` and `pkg-config zklock`. Of components there are four, which the Debian
# packages are made of: zklock_runtime (the shared library), zklock_development, zklock_testing and zklock_tools
# (programs).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zklock)

# Each kind of library has targets of its own, which zklock-config.cmake chooses from.
foreach(target ${zklock_targets})
  set(kind ${zklock_kind})
  if(target STREQUAL "zklock_other_kind")
    set(kind ${zklock_other_kind})
  endif()
  install(TARGETS ${target} EXPORT zklock-${kind}-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT zklock_runtime NAMELINK_COMPONENT zklock_development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT zklock_development)
  install(EXPORT zklock-${kind}-targets NAMESPACE zklock:: DESTINATION ${package_dir} COMPONENT zklock_development)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zklock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT zklock_development
  FILES_MATCHING PATTERN *.hpp PATTERN LICENSE PATTERN *.md # the user's guide, whose links to the headers hold there
  PATTERN testing EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zklock/testing DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/zklock
  COMPONENT zklock_testing)
install(TARGETS zklock_testing EXPORT zklock-testing-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT zklock_testing)
install(EXPORT zklock-testing-targets NAMESPACE zklock:: DESTINATION ${package_dir} COMPONENT zklock_testing)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libzklock-dev/examples
  COMPONENT zklock_development
  FILES_MATCHING PATTERN *.cpp PATTERN README.md)

set(zklock_built_with_boost ${Boost_VERSION_STRING})
configure_package_config_file(zklock-config.cmake.in zklock-config.cmake INSTALL_DESTINATION ${package_dir})
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(zklock-config-version.cmake COMPATIBILITY ${compatible})
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/zklock-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/zklock-config-version.cmake
  DESTINATION ${package_dir} COMPONENT zklock_development)
if(ZKLOCK_SASL)
  install(FILES find_kerberos.cmake DESTINATION ${package_dir} COMPONENT zklock_development)
endif()
if(zklock_c_client_library)
  install(FILES find_zookeeper_st.cmake DESTINATION ${package_dir} COMPONENT zklock_development)
endif()

include(packaging/pkg_config.cmake)
