# Finds Boost's headers, of ZKLOCK_BOOST_VERSION or later, if there are any: by Boost's own files where there are such.
# CMake's module, of which newer CMakes warn, finds headers that were just unpacked, too.
string(CONCAT ZKLOCK_NO_BOOST
  "Boost's headers, of version ${ZKLOCK_BOOST_VERSION} or later, were not found. On Debian: apt-get install "
  "libboost-dev, or on Debian 12 libboost1.81-dev. Elsewhere -DCMAKE_PREFIX_PATH=... or -DBOOST_ROOT=... tells where they "
  "are.")
find_package(Boost ${ZKLOCK_BOOST_VERSION} CONFIG QUIET)
if(NOT Boost_FOUND)
  find_package(Boost ${ZKLOCK_BOOST_VERSION} QUIET)
elseif(NOT Boost_VERSION_STRING) # which the module sets
  set(Boost_VERSION_STRING ${Boost_VERSION})
endif()
