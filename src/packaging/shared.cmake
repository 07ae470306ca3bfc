# What the shared library is, where there is one: its version, and what it lets others see.
#
# Before 1.0 a new minor version may change the interface, from 1.0 on only a new major one: that number is in its
# SONAME.
set(zklock_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(zklock_soversion 0.${PROJECT_VERSION_MINOR})
endif()
set(exports ${CMAKE_CURRENT_BINARY_DIR}/exports.map)
configure_file(packaging/exports.map.in ${exports} @ONLY)

foreach(target ${zklock_targets})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    continue()
  endif()
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${zklock_soversion}
    DEFINE_SYMBOL "" # both kinds are made of the same objects
    LINK_DEPENDS ${exports})
  # The objects are not compiled with -fvisibility=hidden: that would hide what of Asio has to be there only once.
  target_link_options(${target} PRIVATE -Wl,--version-script=${exports})
  if(NOT ZKLOCK_SANITIZE) # whose symbols are the program's
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endforeach()
