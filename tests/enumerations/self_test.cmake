# cmake -DSCRATCH=<folder> -P self_test.cmake: check.cmake lets a small sound tree pass, and none where an enumeration
# lacks its names, or has others.
cmake_policy(VERSION 3.25)

function(make_sound_tree)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/include/zklock/level.hpp [=[
#pragma once
#include <string_view>
namespace zklock {
enum class declared : int;
enum class level2 : int { low, high };
[[nodiscard]] constexpr std::string_view to_string(level2 e) noexcept { return e == level2::low ? "low" : "high"; }
} // namespace zklock
]=])
  file(WRITE ${SCRATCH}/include/zklock/event.hpp [=[
#pragma once
#include "zklock/level.hpp"
namespace zklock {
struct sink;
struct event {
    struct place;
    class source;
    level2 level;
    enum class kind {
        begun,
        ended,
    };
};
[[nodiscard]] constexpr std::string_view to_string(event::kind e) noexcept
{
    return e == event::kind::begun ? "begun" : "ended";
}
class late final
    : public event {
public:
    enum kind { soon, never };
};
[[nodiscard]] constexpr std::string_view to_string(late::kind e) noexcept { return e == late::soon ? "soon" : "never"; }
} // namespace zklock
]=])
endfunction()

# check(passes|fails WHAT REGEX): what it says has to match, too.
function(check expected what regex)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH} -DLEAST=3 -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
  if(expected STREQUAL "passes" AND NOT status EQUAL 0 OR expected STREQUAL "fails" AND status EQUAL 0
      OR NOT output MATCHES "${regex}")
    message(FATAL_ERROR "${what}: expected that it ${expected} with '${regex}', but status ${status}\n${output}")
  endif()
endfunction()

# Puts something in the place of what matches in a header.
function(change header regex by)
  file(READ ${SCRATCH}/include/zklock/${header} content)
  string(REGEX REPLACE "${regex}" "${by}" changed "${content}")
  if(changed STREQUAL content)
    message(FATAL_ERROR "nothing in ${header} matches '${regex}'")
  endif()
  file(WRITE ${SCRATCH}/include/zklock/${header} "${changed}")
endfunction()

make_sound_tree()
check(passes "the sound tree" "-- 3 enumerations")

foreach(enumeration "level2|level.hpp" "event::kind|event.hpp" "late::kind|event.hpp")
  string(REPLACE "|" ";" parts ${enumeration})
  list(GET parts 0 name)
  list(GET parts 1 header)
  make_sound_tree()
  change(${header} "std::string_view to_string.${name} " "")
  check(fails "${name} without to_string()" "${header}: to_string.. of ${name} has ''")
endforeach()
foreach(by "\"high\" : \"low\"" "\"low\" : \"height\"" "\"low\" : \"unknown\"")
  make_sound_tree()
  change(level.hpp "\"low\" : \"high\"" "${by}")
  check(fails "names that are ${by}" "level.hpp: to_string.. of level2 has '")
endforeach()

make_sound_tree()
file(REMOVE ${SCRATCH}/include/zklock/level.hpp)
check(fails "a header overlooked" "2 enumerations are found")
