# The driver of etcd: a Go program, with the library that comes with etcd 3.4 as Debian packages it. Nothing is fetched.
find_program(GO_EXECUTABLE go)
mark_as_advanced(GO_EXECUTABLE)
set(gopath /usr/share/gocode)
if(NOT GO_EXECUTABLE OR NOT EXISTS ${gopath}/src/go.etcd.io/etcd/clientv3/concurrency/mutex.go)
  message(STATUS "bench: no driver of etcd without Debian's golang-go and golang-etcd-server-dev (3.4)")
  return()
endif()

# One package at a time: other compilers run beside it.
file(GLOB go_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/etcd/*.go)
add_custom_command(OUTPUT bench_etcd
  COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOPATH=${gopath} GOPROXY=off GOFLAGS= CGO_ENABLED=0
    GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go-cache
    ${GO_EXECUTABLE} build -p 1 -o ${CMAKE_CURRENT_BINARY_DIR}/bench_etcd ${go_sources}
  DEPENDS ${go_sources} VERBATIM)
add_custom_target(bench_etcd_driver ALL DEPENDS bench_etcd)
