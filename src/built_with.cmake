# Who links to zklock is compiled with the macros of Asio and of the standard library that it was built with itself.
# (Where they differ all the same, the program does not link: include/zklock/detail/built_alike.hpp.)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
get_directory_property(definitions COMPILE_DEFINITIONS)
get_directory_property(options COMPILE_OPTIONS)
list(TRANSFORM definitions PREPEND " -D")
list(JOIN options " " options)
string(REGEX MATCHALL "-D *(BOOST_ASIO_[A-Z_]+|_GLIBCXX_DEBUG[A-Z_]*|_GLIBCXX_USE_CXX11_ABI)(=[^ ]*)?" built_with
  "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${options} ${definitions}")
list(TRANSFORM built_with REPLACE "^-D *" "")
list(REMOVE_DUPLICATES built_with)
target_compile_definitions(zklock INTERFACE ${built_with})
