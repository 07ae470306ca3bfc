#pragma once
#include <string>

namespace zklock::tool {

/// Writes a text to stderr, and never waits for its reader: a process that does sends no heartbeats, and does not end.
/// What there is no room for is left out. Belongs to one thread.
void write_to_stderr(std::string text);

} // namespace zklock::tool
