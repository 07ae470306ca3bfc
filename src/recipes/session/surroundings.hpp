#pragma once
#include "counters/counters.hpp"
#include "store/logger.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <functional>
#include <string>
#include <utility>

namespace zklock::recipes {

/// What a session is given, for itself and for its recipes.
struct surroundings {
    surroundings(store::node_store& servers, store::scheduler& time, counters::connection_counters& counted,
                 const client_options& asked_for, std::function<std::string()> uuids)
        : store(servers), scheduler(time), counters(counted), options(asked_for), new_uuid(std::move(uuids))
    {
    }
    surroundings(const surroundings&) = delete; // the log refers to the options
    surroundings& operator=(const surroundings&) = delete;

    store::node_store& store;
    store::scheduler& scheduler;
    counters::connection_counters& counters;
    const client_options options;
    const store::logger log{options.log};
    const std::function<std::string()> new_uuid; ///< 36 fresh characters
};

} // namespace zklock::recipes
