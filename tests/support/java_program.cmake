# Java programs that use Curator: what is measured beside the library, and what shares its paths in tests.
include_guard(DIRECTORY)
find_package(Java 17 REQUIRED COMPONENTS Development)

# All that they need when they run; ZooKeeper's own lock recipe among it.
set(zklock_java_classpath
  curator-recipes curator-framework curator-client zookeeper zookeeper-jute zookeeper-recipes-lock guava slf4j-api
  slf4j-nop netty-codec netty-resolver metrics-core snappy-java)
list(TRANSFORM zklock_java_classpath REPLACE "(.+)" "/usr/share/java/\\1.jar")
list(JOIN zklock_java_classpath : zklock_java_classpath)

# zklock_java_program(TARGET DIRECTORY SOURCE...): compiles into DIRECTORY, and writes the file `classpath` there:
# `java @DIRECTORY/classpath CLASS` runs it.
function(zklock_java_program target directory)
  add_custom_command(OUTPUT ${directory}/compiled
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${directory}/classes
    COMMAND ${Java_JAVAC_EXECUTABLE} -Xlint:all,-path,-classfile -Werror -cp ${zklock_java_classpath}
      -d ${directory}/classes ${ARGN}
    COMMAND ${CMAKE_COMMAND} -E touch ${directory}/compiled
    DEPENDS ${ARGN} VERBATIM)
  file(CONFIGURE OUTPUT ${directory}/classpath CONTENT "-cp \"${directory}/classes:${zklock_java_classpath}\"\n")
  add_custom_target(${target} ALL DEPENDS ${directory}/compiled)
endfunction()
