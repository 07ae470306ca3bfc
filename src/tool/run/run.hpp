#pragma once
#include "tool/run/run_arguments.hpp"

namespace zklock::tool {

/// `zklock run`: runs a command while a lock is held, or holds it until a signal comes. Gives the exit status.
int run(const run_plan& plan);

/// `zklock lead`: runs a command whenever the lock is held, until a signal comes. Gives the exit status.
int lead(const run_plan& plan);

} // namespace zklock::tool
