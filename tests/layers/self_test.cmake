# cmake -DSCRATCH=<folder> -P self_test.cmake: check.cmake lets a small sound tree pass, and none of its faults.
cmake_policy(VERSION 3.25)

function(make_sound_tree)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/include/zklock/options.hpp "#include <string>\n")
  file(WRITE ${SCRATCH}/include/zklock/detail/built_alike.hpp "#include <boost/asio/detail/thread_info_base.hpp>\n")
  file(WRITE ${SCRATCH}/include/zklock/client.hpp
    "#include \"zklock/options.hpp\"\n#include \"zklock/detail/built_alike.hpp\"\n#include <boost/asio/post.hpp>\n")
  file(WRITE ${SCRATCH}/src/store/store.hpp "#include \"zklock/options.hpp\"\n")
  file(WRITE ${SCRATCH}/src/queue/queue.hpp "#include <vector>\n")
  file(WRITE ${SCRATCH}/src/counters/counters.hpp "#include \"zklock/options.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/lease/lease.hpp "#include \"queue/queue.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/handoffs/handoffs.hpp
    "#include \"store/store.hpp\"\n#include \"counters/counters.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/session/session.hpp
    "#include \"recipes/lease/lease.hpp\"\n#include \"recipes/handoffs/handoffs.hpp\"\n#include \"queue/queue.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/acquisition/waits.hpp "#include \"recipes/session/session.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/locks/mutex.hpp "#include \"recipes/acquisition/waits.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/requests/list.hpp "#include \"recipes/acquisition/waits.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/semaphore/permits.hpp "#include \"recipes/locks/mutex.hpp\"\n")
  file(WRITE ${SCRATCH}/src/recipes/composed/several.hpp "#include \"recipes/locks/mutex.hpp\"\n")
  file(WRITE ${SCRATCH}/src/runtime/turns.hpp "#include \"store/store.hpp\"\n")
  file(WRITE ${SCRATCH}/src/bridge/wire/wire.cpp
    "#include \"runtime/turns.hpp\"\n#include \"store/store.hpp\"\n#include <zookeeper/zookeeper.h>\n")
  file(WRITE ${SCRATCH}/src/bridge/tls/engine.cpp "#include <openssl/ssl.h>\n#include <boost/asio/ssl/context.hpp>\n")
  file(WRITE ${SCRATCH}/src/bridge/peers/secrets.cpp "#include <openssl/evp.h>\n#include \"runtime/turns.hpp\"\n")
  file(WRITE ${SCRATCH}/src/bridge/sasl/gssapi.cpp "#include <gssapi/gssapi_krb5.h>\n#include <openssl/crypto.h>\n")
  file(WRITE ${SCRATCH}/src/bridge/connection/connection.hpp "#include \"bridge/wire/wire.hpp\"\n")
  file(WRITE ${SCRATCH}/src/adapter/locks/mutex.cpp "#include \"adapter/client/client.hpp\"\n")
  file(WRITE ${SCRATCH}/src/adapter/client/client.hpp "#include \"runtime/turns.hpp\"\n")
  file(WRITE ${SCRATCH}/src/adapter/client/client.cpp
    "#include \"bridge/connection/connection.hpp\"\n#include \"recipes/composed/several.hpp\"\n#include \"zklock/client.hpp\"\n")
  file(WRITE ${SCRATCH}/bench/c_client/session.cpp "#include <zookeeper/zookeeper.h>\n")
endfunction()

function(check expected fault)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH} -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_VARIABLE output)
  if(expected STREQUAL "passes" AND NOT status EQUAL 0 OR expected STREQUAL "fails" AND status EQUAL 0)
    message(FATAL_ERROR "${fault}: expected that it ${expected}, but status ${status}\n${output}")
  endif()
endfunction()

make_sound_tree()
check(passes "the sound tree")

foreach(fault
    "src/queue/queue.hpp|store/store.hpp" "src/store/store.hpp|queue/queue.hpp" "src/bridge/wire/wire.cpp|recipes/locks/mutex.hpp"
    "src/recipes/acquisition/waits.hpp|bridge/wire/wire.cpp" "src/recipes/acquisition/waits.hpp|recipes/locks/mutex.hpp"
    "include/zklock/options.hpp|store/store.hpp"
    "src/recipes/lease/lease.hpp|recipes/session/session.hpp" "src/recipes/lease/lease.hpp|recipes/handoffs/handoffs.hpp"
    "src/recipes/handoffs/handoffs.hpp|recipes/session/session.hpp"
    "src/recipes/session/session.hpp|recipes/locks/mutex.hpp" "src/recipes/session/session.hpp|recipes/acquisition/waits.hpp"
    "src/recipes/locks/mutex.hpp|recipes/requests/list.hpp" "src/recipes/requests/list.hpp|recipes/locks/mutex.hpp"
    "src/recipes/locks/mutex.hpp|recipes/semaphore/permits.hpp" "src/recipes/locks/mutex.hpp|bridge/wire/wire.cpp"
    "src/recipes/semaphore/permits.hpp|recipes/composed/several.hpp"
    "src/recipes/composed/several.hpp|recipes/semaphore/permits.hpp"
    "src/recipes/locks/mutex.hpp|zookeeper/zookeeper.h" "tests/unit/x.cpp|zookeeper.h" "bench/x.cpp|zookeeper/zookeeper_log.h"
    "src/queue/queue.hpp|boost/asio.hpp" "src/recipes/locks/mutex.hpp|zklock/client.hpp" "src/elsewhere/x.cpp|vector"
    "src/runtime/turns.hpp|bridge/wire/wire.cpp" "src/counters/counters.hpp|store/store.hpp" "src/queue/queue.hpp|counters/counters.hpp"
    "src/bridge/wire/wire.cpp|openssl/ssl.h" "include/zklock/client.hpp|boost/asio/ssl/context.hpp"
    "src/bridge/peers/secrets.cpp|bridge/wire/wire.cpp" "src/bridge/wire/wire.cpp|bridge/peers/secrets.cpp"
    "src/bridge/wire/wire.cpp|bridge/connection/connection.hpp" "src/bridge/connection/connection.hpp|zookeeper/zookeeper.h"
    "src/adapter/client/client.cpp|bridge/wire/wire.cpp" "src/adapter/client/client.cpp|adapter/locks/mutex.cpp"
    "src/bridge/x.cpp|vector" "src/adapter/x.cpp|vector" "include/zklock/x.hpp|boost/asio/post.hpp"
    "src/adapter/client/client.cpp|boost/asio/ssl.hpp" "bench/x.cpp|openssl/err.h"
    "src/bridge/tls/engine.cpp|gssapi/gssapi_ext.h" "src/adapter/client/client.cpp|krb5/krb5.h"
    "src/recipes/elsewhere/x.cpp|vector" "src/recipes/x.cpp|vector")
  string(REPLACE "|" ";" parts ${fault})
  list(GET parts 0 file)
  list(GET parts 1 include)
  make_sound_tree()
  file(APPEND ${SCRATCH}/${file} "#include \"${include}\"\n")
  check(fails "${fault}")
endforeach()
