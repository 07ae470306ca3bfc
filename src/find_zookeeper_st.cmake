# Makes zklock::zookeeper_st, ZooKeeper's single-threaded C client, if there is one. Also used by the installed package.
string(CONCAT ZKLOCK_NO_C_CLIENT
  "ZooKeeper's single-threaded C client (zookeeper/zookeeper.h, libzookeeper_st) was not found. On Debian and Ubuntu: "
  "apt-get install libzookeeper-st-dev. Elsewhere -DCMAKE_PREFIX_PATH=... tells where it is.")
if(NOT TARGET zklock::zookeeper_st)
  find_library(ZooKeeper_LIBRARY zookeeper_st)
  if(ZooKeeper_LIBRARY)
    add_library(zklock::zookeeper_st UNKNOWN IMPORTED GLOBAL)
    set_target_properties(zklock::zookeeper_st PROPERTIES IMPORTED_LOCATION ${ZooKeeper_LIBRARY})
  endif()
endif()
