#pragma once
// The C client's own header, behind the names by which the library calls the copy that it contains.
#include "bridge/wire/c_client_names.h" // src/own_c_client.cmake

#include <zookeeper/zookeeper.h>
