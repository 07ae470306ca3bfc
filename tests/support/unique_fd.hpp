#pragma once
#include "bridge/wire/unique_fd.hpp"

namespace zklock::test {

using bridge::unique_fd;

} // namespace zklock::test
