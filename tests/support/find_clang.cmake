# zklock_find_clang(VARIABLE): a clang++ that can compile this project: the usual one, if it is not too old, or the oldest of
# those that Debian installs beside it, as clang++-16.
function(zklock_find_clang variable)
  set(least 16)
  set(names clang++)
  foreach(version RANGE ${least} 40)
    list(APPEND names clang++-${version})
  endforeach()
  function(zklock_clang_serves result program)
    execute_process(COMMAND ${program} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT version VERSION_GREATER_EQUAL 16) # which is least, above
      set(${result} FALSE PARENT_SCOPE)
    endif()
  endfunction()
  find_program(${variable} NAMES ${names} VALIDATOR zklock_clang_serves
    DOC "clang++, from ${least} on, for what only clang can build" REQUIRED)
endfunction()
