#pragma once
#include "bridge/wire/inbox.hpp"
#include "store/logger.hpp"

#include <new>
#include <string>
#include <utility>

namespace zklock::bridge {

/// Puts a line where the caller's log function is called from, in its place among what else comes: never inside of the
/// C client. For lack of memory there may be a line less.
template <class... Parts>
void push_line(inbox& in, const store::logger& log, log_level level, const Parts&... parts) noexcept
{
    if (!log.on(level))
        return;
    try {
        std::string text;
        (store::logger::add(text, parts), ...);
        in.push(log_line{level, std::move(text)});
    } catch (const std::bad_alloc&) { // NOLINT: see above
    }
}

} // namespace zklock::bridge
