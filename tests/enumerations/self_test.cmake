# cmake -DSCRATCH=<folder> -P self_test.cmake: check.cmake lets a small sound tree pass, and none where an enumeration
# lacks one of the three.
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
  foreach(header_and_namespace "format std" "fmt fmt")
    string(REPLACE " " ";" parts ${header_and_namespace})
    list(GET parts 0 header)
    list(GET parts 1 namespace)
    set(formatters "")
    foreach(name level2 event::kind late::kind)
      set(formatter "${namespace}::formatter<zklock::${name}>")
      string(APPEND formatters "template <>\nstruct ${formatter} : base<zklock::${name}> {};\n")
    endforeach()
    file(WRITE ${SCRATCH}/include/zklock/${header}.hpp "#pragma once\n${formatters}")
  endforeach()
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

# Takes from a header what matches there.
function(take_from header regex)
  file(READ ${SCRATCH}/include/zklock/${header} content)
  string(REGEX REPLACE "${regex}" "" without "${content}")
  if(without STREQUAL content)
    message(FATAL_ERROR "nothing in ${header} matches '${regex}'")
  endif()
  file(WRITE ${SCRATCH}/include/zklock/${header} "${without}")
endfunction()

make_sound_tree()
check(passes "the sound tree" "-- 3 enumerations")

foreach(enumeration "level2|level.hpp" "event::kind|event.hpp" "late::kind|event.hpp")
  string(REPLACE "|" ";" parts ${enumeration})
  list(GET parts 0 name)
  list(GET parts 1 header)
  make_sound_tree()
  take_from(${header} "std::string_view to_string.${name} ")
  check(fails "${name} without to_string()" "${header}: ${name} has no to_string")
  make_sound_tree()
  take_from(format.hpp "struct std::formatter<zklock::${name}>")
  check(fails "${name} without a formatter of the standard's" "${header}: ${name} has no std::formatter")
  make_sound_tree()
  take_from(fmt.hpp "struct fmt::formatter<zklock::${name}>")
  check(fails "${name} without a formatter of {fmt}'s" "${header}: ${name} has no fmt::formatter")
endforeach()

make_sound_tree()
file(REMOVE ${SCRATCH}/include/zklock/level.hpp)
check(fails "a header overlooked" "2 enumerations are found")
