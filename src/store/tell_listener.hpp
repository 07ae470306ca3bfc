#pragma once
#include "store/logger.hpp"
#include "zklock/client_options.hpp"
#include "zklock/detail/event_sink.hpp"

#include <exception>
#include <new>

namespace zklock::store {

/// Tells a listener. If its executor throws, or there is no memory, that costs its events: the client goes on, and its
/// log hears of it.
template <class Event> void tell_listener(detail::event_sink<Event>& to, const Event& event, const logger& log) noexcept
{
    const auto refuses = [&log](const char* why) {
        log(log_level::warning, "the executor of a listener refuses its events: ", why);
    };
    try {
        to.notify(event);
    } catch (const std::bad_alloc&) { // perhaps the executor's
        log(log_level::warning, "a listener is not told of an event: there is no memory for it");
    } catch (const std::exception& why) {
        refuses(why.what());
    } catch (...) {
        refuses("something is thrown that is no std::exception");
    }
}

} // namespace zklock::store
