# Makes zklock::zookeeper_st, ZooKeeper's single-threaded C client. Also used by the installed package.
if(NOT TARGET zklock::zookeeper_st)
  find_library(ZooKeeper_LIBRARY zookeeper_st REQUIRED)
  add_library(zklock::zookeeper_st UNKNOWN IMPORTED GLOBAL)
  set_target_properties(zklock::zookeeper_st PROPERTIES IMPORTED_LOCATION ${ZooKeeper_LIBRARY})
endif()
