# cmake -DROOT=<repository> -P picture.cmake: the picture is drawn from its source, which has each of the layers
# that tests/layers knows.
cmake_policy(VERSION 3.25)
set(source ${ROOT}/src/reference/layers.dot)
set(picture ${ROOT}/src/layers.svg)
execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DPICTURE=${picture} -P ${ROOT}/src/reference/picture.cmake
  COMMAND_ERROR_IS_FATAL ANY)

file(READ ${source} drawn)
file(READ ${ROOT}/tests/layers/check.cmake text)
string(REGEX MATCHALL "\nset\\([a-z/]+_sees " layers "${text}")
list(TRANSFORM layers REPLACE "\nset\\(([a-z/]+)_sees " "\\1")
list(LENGTH layers count)
if(count LESS 15)
  message(FATAL_ERROR "tests/layers names few layers: ${layers}")
endif()
foreach(layer ${layers})
  if(layer MATCHES "^(demo|tool|examples|zklock)") # programs, and what all see
    continue()
  endif()
  cmake_path(GET layer FILENAME name)
  cmake_path(GET layer PARENT_PATH parent)
  if(NOT drawn MATCHES "[^a-z_]${name}[^a-z_]" OR (parent AND NOT drawn MATCHES "src/${parent}:"))
    message(FATAL_ERROR "layers.dot does not have ${layer}: draw it, and build the target zklock_picture")
  endif()
endforeach()
