# The driver of Redis; its client is hiredis.
find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)
if(NOT HIREDIS_INCLUDE_DIR OR NOT HIREDIS_LIBRARY)
  message(STATUS "bench: no driver of Redis without Debian's libhiredis-dev")
  return()
endif()

add_executable(bench_redis redis/main.cpp redis/lock.cpp)
target_include_directories(bench_redis SYSTEM PRIVATE ${HIREDIS_INCLUDE_DIR})
target_link_libraries(bench_redis PRIVATE bench_driver ${HIREDIS_LIBRARY} Threads::Threads)
