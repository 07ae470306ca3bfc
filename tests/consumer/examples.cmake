# Takes the C++ examples out of a document, so that they are compiled by their letter. An example is a block of C++ after a
# line such as `<!-- example -->` or `<!-- example NAME -->`.

# example_in(DOCUMENT MARK OUT): the block after that line.
function(example_in document mark out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
  file(READ ${document} text)
  string(FIND "${text}" "<!-- ${mark} -->\n```cpp\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${document} has no C++ after <!-- ${mark} -->")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```cpp\n" begin)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# examples_of(DOCUMENT OUT): the names of all of them.
function(examples_of document out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
  file(STRINGS ${document} marks REGEX "^<!-- example [a-z_]+ -->$")
  list(TRANSFORM marks REPLACE "^<!-- example ([a-z_]+) -->$" "\\1")
  set(${out} "${marks}" PARENT_SCOPE)
endfunction()
