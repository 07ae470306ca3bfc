#pragma once
#include "bridge/wire/inbox.hpp"
#include "store/logger.hpp"

#include <string>
#include <utility>

namespace zklock::bridge {

/// Puts a line where the caller's log function is called from, in its place among what else comes: never inside of the
/// C client.
template <class... Parts> void push_line(inbox& in, const store::logger& log, log_level level, const Parts&... parts)
{
    if (in.discards() || !log.on(level))
        return;
    std::string text;
    (store::logger::add(text, parts), ...);
    in.push(log_line{level, std::move(text)});
}

} // namespace zklock::bridge
