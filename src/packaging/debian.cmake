# cpack -G DEB: libzklock0.2 (the shared library), libzklock-dev (headers, static library, CMake and pkg-config files),
# libzklock-testing-dev (zklock::testing) and zklock-tools (programs, where there are some). Made for the Debian that they
# are made on: templates of Boost are in all of them, so a program and the library have to be built with the same one.
# The development package wants it; and packages of programs depend on libzklock0.2-boost1.81, which the shared
# library's package provides.
if(NOT BUILD_SHARED_LIBS OR NOT ZKLOCK_BOTH_KINDS OR NOT ZKLOCK_INSTALL)
  message(FATAL_ERROR "ZKLOCK_PACKAGES goes with BUILD_SHARED_LIBS, ZKLOCK_BOTH_KINDS and ZKLOCK_INSTALL: "
    "`bash src/packaging/make` says them all.")
endif()

set(ZKLOCK_MAINTAINER "Who made this package <root@localhost>" CACHE STRING
  "Whom Debian packages name as their maintainer")

# package_of(OUT FILE): which of the installed packages has it.
function(package_of out file)
  file(REAL_PATH ${file} real)
  foreach(name ${file} ${real})
    execute_process(COMMAND dpkg-query --search ${name} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_QUIET)
    if(status EQUAL 0)
      string(REGEX REPLACE "[:,].*$" "" package "${said}")
      set(${out} ${package} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${file} is of no Debian package: a package that needs it could not say what it needs.")
endfunction()

# Who compiles against the static library needs what it was compiled against.
get_target_property(place Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
package_of(needed ${place}/boost/version.hpp)
set(development_needs "${needed}")
# Both kinds of library contain the C client, or they are linked to it.
package_of(c_client ${ZooKeeper_LIBRARY})
set(contained "")
if(zklock_c_client_library)
  list(APPEND development_needs ${c_client})
else()
  execute_process(COMMAND dpkg-query --show -f "\${source:Package} (= \${source:Version})" ${c_client}
    OUTPUT_VARIABLE source COMMAND_ERROR_IS_FATAL ANY)
  set(contained "\nStatic-Built-Using: ${source}") # CPack knows no such field: it goes along with another
endif()
if(ZKLOCK_TLS)
  package_of(needed ${OPENSSL_SSL_LIBRARY})
  list(APPEND development_needs ${needed})
endif()
if(ZKLOCK_SASL)
  package_of(needed ${Kerberos_KRB5_LIBRARY})
  list(APPEND development_needs ${needed})
endif()

# The same version on another Debian is another package: 0.2.0-1~deb12u1.
file(STRINGS /etc/os-release os REGEX "^(ID|VERSION_ID)=")
set(release 1)
if("${os}" MATCHES "(^|;)ID=debian" AND "${os}" MATCHES "VERSION_ID=\"?([0-9]+)")
  set(release 1~deb${CMAKE_MATCH_1}u1)
endif()

get_target_property(soversion zklock::shared SOVERSION)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME zklock)
set(CPACK_PACKAGE_CONTACT "${ZKLOCK_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each has its own
set(version "${PROJECT_VERSION}-${release}")

set(CPACK_COMPONENTS_ALL zklock_runtime zklock_development zklock_testing)
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_NAME libzklock${soversion})
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_SECTION "libs${contained}")
file(STRINGS ${place}/boost/version.hpp line REGEX "^#define BOOST_LIB_VERSION \"[0-9_]+\"")
string(REGEX REPLACE ".*\"([0-9_]+)\".*" "\\1" boost "${line}")
string(REPLACE _ . boost ${boost})
set(abi libzklock${soversion}-boost${boost})
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_PROVIDES ${abi})
# What dpkg-shlibdeps writes into the packages of programs. CPack would write one without that name.
set(shlibs ${PROJECT_BINARY_DIR}/packaging/shlibs)
file(CONFIGURE OUTPUT ${shlibs} CONTENT "libzklock ${soversion} libzklock${soversion} (>= ${version}), ${abi}\n")
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_CONTROL_EXTRA ${shlibs})
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ZKLOCK_RUNTIME_DESCRIPTION "distributed locks on ZooKeeper for Asio programs
Mutexes, shared mutexes, semaphores and elections among the processes that
share a ZooKeeper ensemble. Waiting blocks no thread, a granted lock carries
a fencing token, and a holder hears of its loss before the next has the lock.

This package has the shared library.")
set(libraries "${CPACK_DEBIAN_ZKLOCK_RUNTIME_PACKAGE_NAME} (= ${version})")

set(CPACK_DEBIAN_ZKLOCK_DEVELOPMENT_PACKAGE_NAME libzklock-dev)
set(CPACK_DEBIAN_ZKLOCK_DEVELOPMENT_PACKAGE_SECTION "libdevel${contained}")
list(JOIN development_needs ", " development_needs)
set(CPACK_DEBIAN_ZKLOCK_DEVELOPMENT_PACKAGE_DEPENDS "${libraries}, ${development_needs}")
set(CPACK_DEBIAN_ZKLOCK_DEVELOPMENT_PACKAGE_SUGGESTS "cmake (>= ${CMAKE_MINIMUM_REQUIRED_VERSION}), pkg-config")
set(CPACK_DEBIAN_ZKLOCK_DEVELOPMENT_DESCRIPTION "distributed locks on ZooKeeper for Asio programs (development)
This package has the headers with the user's guide, the static library, and
what CMake and pkg-config need to find them.")

set(CPACK_DEBIAN_ZKLOCK_TESTING_PACKAGE_NAME libzklock-testing-dev)
set(CPACK_DEBIAN_ZKLOCK_TESTING_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_ZKLOCK_TESTING_PACKAGE_DEPENDS "libzklock-dev (= ${version})")
set(CPACK_DEBIAN_ZKLOCK_TESTING_DESCRIPTION "distributed locks on ZooKeeper for Asio programs (unit tests)
A ZooKeeper ensemble in memory, for unit tests of programs that use zklock:
without servers, with faults on request, and with a clock that tests move.")

if(TARGET zklock_tool)
  list(APPEND CPACK_COMPONENTS_ALL zklock_tools)
  set(CPACK_DEBIAN_ZKLOCK_TOOLS_PACKAGE_NAME zklock-tools)
  set(CPACK_DEBIAN_ZKLOCK_TOOLS_PACKAGE_SECTION admin)
  set(CPACK_DEBIAN_ZKLOCK_TOOLS_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_ZKLOCK_TOOLS_DESCRIPTION "distributed locks on ZooKeeper for scripts and operators
The program zklock runs a command while it holds a lock that all machines
share, shows who holds it and who waits, and finds out what is wrong.")
  # It is linked to the shared library, which dpkg-shlibdeps finds where it is built.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
  set(CPACK_DEBIAN_ZKLOCK_TOOLS_PACKAGE_DEPENDS "${libraries}")
endif()
# Each says whose it is, and whose all that is which it contains.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright COMPONENT ${component}
    DESTINATION share/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
endforeach()
include(CPack)
