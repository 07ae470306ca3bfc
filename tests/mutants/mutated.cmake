# Copies of sources with known bugs in them, each to be switched on at run time.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(zklock_mutants_folder ${CMAKE_CURRENT_LIST_DIR})
# The core, with its headers.
get_target_property(zklock_core_files zklock_core SOURCES)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.hpp)
list(FILTER headers INCLUDE REGEX "/src/(bridge|counters|queue|recipes|runtime|store)/")
list(APPEND zklock_core_files ${headers})
# What connector/ and peers/ compile once more.
set(zklock_connector_files connect_cycle.cpp connect_cycle.hpp connect_pauses.hpp connector.cpp connector.hpp)
list(TRANSFORM zklock_connector_files PREPEND ${PROJECT_SOURCE_DIR}/src/bridge/connection/)
file(GLOB zklock_peers_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src/bridge/peers
  ${PROJECT_SOURCE_DIR}/src/bridge/peers/*.hpp)
list(APPEND zklock_peers_files
  addresses.cpp connect_bounds.cpp inbound.cpp node_id.cpp offers.cpp outbound.cpp settings.cpp)
list(TRANSFORM zklock_peers_files PREPEND ${PROJECT_SOURCE_DIR}/src/bridge/peers/)

# zklock_below_src(NAMES FILE...): the files' names below the folder src.
function(zklock_below_src names)
  set(below "")
  foreach(file ${ARGN})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${file})
    list(APPEND below ${name})
  endforeach()
  set(${names} ${below} PARENT_SCOPE)
endfunction()

# zklock_mutated(SOURCES TABLE FILE...): puts the mutants of TABLE.table, beside this file, into copies of the files,
# which are below the folder src. Gives the copies, and in SOURCES_folder where to look for their headers.
function(zklock_mutated sources table)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutated/${table})
  zklock_below_src(names ${ARGN})
  list(TRANSFORM names PREPEND ${folder}/ OUTPUT_VARIABLE copies)
  list(APPEND copies ${folder}/mutant_names.inc)
  set(table ${zklock_mutants_folder}/${table}.table)
  set(mutate ${zklock_mutants_folder}/mutate.py)
  add_custom_command(OUTPUT ${copies}
    COMMAND Python3::Interpreter ${mutate} ${table} ${folder} ${PROJECT_SOURCE_DIR}/src ${names}
    DEPENDS ${mutate} ${table} ${ARGN}
    COMMENT "Putting mutants into copies of the sources" VERBATIM)
  set(${sources} ${copies} PARENT_SCOPE)
  set(${sources}_folder ${folder} PARENT_SCOPE)
endfunction()
