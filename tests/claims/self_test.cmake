# cmake -DSCRATCH=<folder> -P self_test.cmake: check.cmake lets a small sound tree pass, and none whose tables name what
# is not there.
cmake_policy(VERSION 3.25)

set(claims [=[
| locks lock | `lock_test` "it locks; nobody else [or so] does" "it unlocks, …" |
| they | are sold | `demo.sale`; `fast_test` "it is fast" |
| history is kept | `chaos/history.cpp` "each event" in `chaos` |
| the unit, too | `unit/fast_test` "at once" |
]=])
set(scenarios [=[
| 1 | a lock | `lock_test` (2) |
| 2 | a fast one | `fast_test` "it is …", and chaos |
| 3 | a quiet one | `chaos/quiet.cpp` "nothing"; `chaos/quiet.cpp` |
]=])

function(make_tree)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/tests/README.md "# Tests

| promise | checked by |
|---|---|
| something | `nobody_test` |

## What is claimed, and the test that shows it

Here it is.

| `what` is claimed | test |
|---|---|
${claims}
## The scenarios of a lock's life, and where they are played

| | scenario | test |
|---|---|---|
${scenarios}")
  file(WRITE ${SCRATCH}/tests/integration/lock_test.cpp
    "TEST_CASE(\"it locks; nobody else [or so] does\")\n{\n}\nTEST_CASE(\"it unlocks, \"\n          \"in the end\")\n")
  file(WRITE ${SCRATCH}/tests/integration/fast_test.cpp "TEST_CASE(\"it is fast\")\n")
  file(WRITE ${SCRATCH}/tests/unit/fast_test.cpp "TEST_CASE_FIXTURE(fixture, \"at once\")\n")
  file(WRITE ${SCRATCH}/tests/chaos/history.cpp "// each event; and its time\n")
  file(WRITE ${SCRATCH}/tests/chaos/quiet.cpp "// nothing\n")
  file(WRITE ${SCRATCH}/src/demo/tests/CMakeLists.txt "demo_test(sale bash sale.sh)\n")
endfunction()

# check(passes|fails WHAT TEXT): what it says has to contain the text, too.
function(check expected what text)
  make_tree()
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH} -DLEAST=4 -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
  string(FIND "${output}" "${text}" at)
  if(expected STREQUAL "passes" AND NOT status EQUAL 0 OR expected STREQUAL "fails" AND status EQUAL 0 OR at LESS 0)
    message(FATAL_ERROR "${what}: expected that it ${expected} with '${text}', but status ${status}\n${output}")
  endif()
endfunction()

# fails_with(FROM TO TEXT): a table in which the one stands for the other.
function(fails_with from to text)
  set(before "${claims}${scenarios}")
  string(REPLACE "${from}" "${to}" claims "${claims}")
  string(REPLACE "${from}" "${to}" scenarios "${scenarios}")
  if(before STREQUAL "${claims}${scenarios}")
    message(FATAL_ERROR "nowhere in the tables: ${from}")
  endif()
  check(fails "${to}" "${text}")
endfunction()

check(passes "the sound tree" "-- 4 claims")
fails_with("| `lock_test` \"it locks" "| `clock_test` \"it locks" "there is no clock_test")
fails_with("`lock_test` (2)" "`clock_test` (2)" "there is no clock_test")
fails_with("unit/fast_test" "unit/lock_test" "there is no unit/lock_test")
fails_with("\"at once\"" "\"it is fast\"" "unit/fast_test has no case \"it is fast\"")
fails_with("it unlocks, …" "it unlocks" "lock_test has no case \"it unlocks\"")
fails_with("it unlocks, …" "it locks twice …" "lock_test has no case \"it locks twice …\"")
fails_with("nobody else [or so] does" "nobody else does" "lock_test has no case")
fails_with("\"it is …\"" "\"it was …\"" "fast_test has no case \"it was …\"")
fails_with("`fast_test` \"it is fast\"" "`fast_test`" "fast_test is named without a case")
fails_with("`unit/fast_test` \"at once\"" "`unit/fast_test` and `chaos`" "unit/fast_test is named without a case")
fails_with("demo.sale" "demo.sal" "there is no demo.sal")
fails_with("chaos/history.cpp" "chaos/past.cpp" "there is no chaos/past.cpp")
fails_with("each event" "every event" "chaos/history.cpp has no text \"every event\"")
fails_with("\"nothing\"" "\"something\"" "chaos/quiet.cpp has no text \"something\"")
fails_with("`chaos/history.cpp` \"each event\"" "`chaos/history.cpp`"
  "chaos/history.cpp is named without a text that is in it")
fails_with("\"each event\" in `chaos`" "\"each event\" and `chaos/quiet.cpp`"
  "chaos/quiet.cpp is named without a text that is in it")
fails_with("`chaos`" "`chaos` \"each event\"" "chaos is a folder, and has no text")
fails_with("`unit/fast_test` \"at once\"" "everybody knows" "no test is named")
fails_with("| the unit, too | `unit/fast_test` \"at once\" |\n" "" "3 claims are found")
