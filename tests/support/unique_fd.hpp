#pragma once
#include "runtime/unique_fd.hpp"

namespace zklock::test {

using runtime::unique_fd;

} // namespace zklock::test
