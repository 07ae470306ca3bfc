# cmake -DSOURCE=... -DBUILD=... -DCOMPILER=... -DGENERATOR=... -DSCRATCH=... -P pkg_config.cmake: programs that are
# compiled with what pkg-config says and nothing else, with the shared library and with the static one.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
find_program(PKG_CONFIG pkg-config REQUIRED)
set(here ${CMAKE_CURRENT_LIST_DIR})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(pkg_config out)
  execute_process(COMMAND ${PKG_CONFIG} ${ARGN} zklock OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(said UNIX_COMMAND "${said}")
  set(${out} "${said}" PARENT_SCOPE)
endfunction()

# An installed tree may be moved.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/before)
file(RENAME ${SCRATCH}/before ${SCRATCH}/prefix)
file(GLOB_RECURSE pc ${SCRATCH}/prefix/zklock.pc)
cmake_path(GET pc PARENT_PATH pc_dir)
cmake_path(GET pc_dir PARENT_PATH libraries)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})

pkg_config(version --modversion)
file(STRINGS ${SOURCE}/include/zklock/CHANGELOG.md sections REGEX "^## ")
list(GET sections 0 latest)
if(NOT latest MATCHES "^## ${version}( |$)")
  message(FATAL_ERROR "pkg-config says ${version}, CHANGELOG.md says ${latest}")
endif()

pkg_config(flags --cflags)
run(${COMPILER} -std=c++20 ${flags} -I${here}/poison -c ${here}/main.cpp -o ${SCRATCH}/main.o)
pkg_config(shared --libs)
run(${COMPILER} ${SCRATCH}/main.o ${shared} -o ${SCRATCH}/with_shared)
execute_process(COMMAND readelf --dynamic ${SCRATCH}/with_shared OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "NEEDED[^\n]*libzklock\\.so")
  message(FATAL_ERROR "the program is not linked to the shared library: ${said}")
endif()
set(ENV{LD_LIBRARY_PATH} ${libraries})
run(${SCRATCH}/with_shared)
unset(ENV{LD_LIBRARY_PATH})

# Where there is no shared one, the linker takes the static one, and needs what that needs.
file(GLOB shared_ones ${libraries}/libzklock.so*)
file(REMOVE ${shared_ones})
pkg_config(static --static --libs)
run(${COMPILER} ${SCRATCH}/main.o ${static} -o ${SCRATCH}/with_static)
run(${SCRATCH}/with_static)

# Absolute folders stay what they are, where no prefix is put before them.
set(absolute ${SCRATCH}/libraries)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/static_only -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DZKLOCK_TESTS=OFF -DZKLOCK_DEMO=OFF -DCMAKE_INSTALL_PREFIX=${SCRATCH}/elsewhere -DCMAKE_INSTALL_LIBDIR=${absolute})
set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/static_only/src)
pkg_config(libs --libs-only-L)
pkg_config(includes --cflags-only-I)
if(NOT "-L${absolute}" IN_LIST libs OR NOT "-I${SCRATCH}/elsewhere/include" IN_LIST includes)
  message(FATAL_ERROR "of an installation into ${absolute}, pkg-config says: ${libs} ${includes}")
endif()

# An installation that never had a shared one says so without being asked.
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/static_only -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DZKLOCK_TESTS=OFF -DZKLOCK_DEMO=OFF -DCMAKE_INSTALL_LIBDIR=lib)
set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/static_only/src)
pkg_config(libs --libs-only-l)
pkg_config(libs_static --static --libs-only-l)
if(NOT libs STREQUAL libs_static OR NOT "-lssl" IN_LIST libs OR libs MATCHES zookeeper)
  message(FATAL_ERROR "of an installation with the static library alone, pkg-config says: ${libs}")
endif()
# And one without a C client of its own needs that.
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/static_only -DZKLOCK_OWN_C_CLIENT=OFF)
pkg_config(libs --libs-only-l)
if(NOT "-lzookeeper_st" IN_LIST libs)
  message(FATAL_ERROR "of an installation without a C client of its own, pkg-config says: ${libs}")
endif()
