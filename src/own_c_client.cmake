# The C client as a part of the library. Its symbols are local there, and have aliases that only the library calls it
# by: so no other copy in the process, such as one that comes with libzookeeper_mt, can take its place. It is made of
# the archive beside ${ZooKeeper_LIBRARY} when CMake configures. Sets
#   zklock_c_client_object   the C client in one object; empty where it could not be made, or is not wanted
#   zklock_c_client_library  what to link to in place of it; empty if there is the object
#   zklock_c_client_prefix   what the aliases begin with; empty if there are none
#   zklock_c_client_include  has bridge/wire/c_client_names.h, which tells the compiler of the aliases
set(zklock_c_client_include ${CMAKE_CURRENT_BINARY_DIR}/c_client)

# own_c_client(WHY PREFIX ARCHIVE): makes the object, or says why it could not.
function(own_c_client why prefix archive)
  if(NOT EXISTS ${archive})
    set(${why} "there is no ${archive}" PARENT_SCOPE)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  execute_process(COMMAND ${CMAKE_NM} --defined-only --extern-only ${archive} OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9a-f]+ [A-Za-z] [^\n]+" names "${listed}")
  list(TRANSFORM names REPLACE "^.* " "")
  set(others ${names})
  list(FILTER others EXCLUDE REGEX "^[A-Za-z_][A-Za-z0-9_]*$")
  list(FILTER names INCLUDE REGEX "^((zoo|ZOO|zookeeper|ZOOKEEPER)_|is_unrecoverable$)") # what is called
  if(others OR NOT "zoo_state" IN_LIST names) # such others are the compiler's, in sections that a linker merges
    set(${why} "${archive} defines, says ${CMAKE_NM}: ${listed}" PARENT_SCOPE)
    return()
  endif()

  set(scratch ${zklock_c_client_include}/scratch)
  list(TRANSFORM names REPLACE "(.+)" "--defsym=${prefix}\\1=\\1\n" OUTPUT_VARIABLE aliases)
  list(TRANSFORM names REPLACE "(.+)" "${prefix}\\1\n" OUTPUT_VARIABLE global)
  list(TRANSFORM names REPLACE "(.+)" "#pragma redefine_extname \\1 ${prefix}\\1\n" OUTPUT_VARIABLE pragmas)
  foreach(list aliases global pragmas)
    string(REPLACE ";" "" ${list} "${${list}}")
    file(WRITE ${scratch}/${list} "${${list}}")
  endforeach()
  # What is left for a later optimisation has the names of before.
  foreach(command
      "${CMAKE_LINKER};-r;-o;c_client.o;--whole-archive;${archive};@aliases"
      "${CMAKE_OBJCOPY};--keep-global-symbols=global;--remove-section=.gnu.lto_*;c_client.o")
    execute_process(COMMAND ${command} WORKING_DIRECTORY ${scratch}
      RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
      set(${why} "${command}: ${status}: ${said}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  # It may need what nobody knows of, or have been compiled for programs alone; and the compiler has to know the pragma.
  file(WRITE ${scratch}/try.cpp "#include \"pragmas\"\n"
    "extern \"C\" int zoo_state(void*);\nint state(void* handle) { return zoo_state(handle); }\n")
  set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_SHARED_LINKER_FLAGS}")
  set(plain -fno-sanitize=all)
  try_compile(linked ${scratch}/try SOURCES ${scratch}/try.cpp COMPILE_DEFINITIONS -fPIC ${plain}
    LINK_OPTIONS -shared -Wl,-z,defs ${plain} LINK_LIBRARIES ${scratch}/c_client.o OUTPUT_VARIABLE said)
  if(NOT linked)
    set(${why} "${said}" PARENT_SCOPE)
    return()
  endif()
  file(COPY_FILE ${scratch}/c_client.o ${zklock_c_client_include}/c_client.o ONLY_IF_DIFFERENT)
  set(zklock_c_client_object ${zklock_c_client_include}/c_client.o PARENT_SCOPE)
  set(zklock_c_client_prefix ${prefix} PARENT_SCOPE)
  set(zklock_c_client_pragmas "${pragmas}" PARENT_SCOPE)
endfunction()

set(zklock_c_client_object "")
set(zklock_c_client_library "")
set(zklock_c_client_prefix "")
set(zklock_c_client_pragmas "")
set(why "ZKLOCK_OWN_C_CLIENT is off")
if(ZKLOCK_OWN_C_CLIENT)
  cmake_path(REPLACE_EXTENSION ZooKeeper_LIBRARY LAST_ONLY .a OUTPUT_VARIABLE archive)
  own_c_client(why zklock_c_client_ ${archive})
endif()
if(zklock_c_client_object)
  message(STATUS "zklock contains a C client of its own: ${archive}")
else()
  set(zklock_c_client_library zklock::zookeeper_st)
  message(STATUS
    "zklock is linked to ${ZooKeeper_LIBRARY}: no other copy of the C client may be in the process (${why})")
endif()
file(CONFIGURE OUTPUT ${zklock_c_client_include}/bridge/wire/c_client_names.h
  CONTENT "// Written by src/own_c_client.cmake.\n@zklock_c_client_pragmas@" @ONLY)
