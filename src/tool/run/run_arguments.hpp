#pragma once
#include "tool/keeper/stop_times.hpp"
#include "tool/program/connection_arguments.hpp"
#include "tool/run/wanted_lock.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace zklock::tool {

/// What `run` and `lead` are told.
struct run_arguments {
    run_arguments() = default;

    connection_arguments connection;
    lock_choice lock;
    bool no_wait = false;
    std::optional<double> wait; ///< in seconds
    std::optional<int> conflict_status;
    bool exclusive = false; ///< said, and not only so by default
    bool shell = false;
    std::optional<double> kill_after;
    std::optional<double> hold_at_least;
    bool revocable = false;
    bool verbose = false;
    handoff_options handoff;
    std::vector<std::string> command;
};

/// Adds what both take; and what is for a lock that is waited for once.
void add_run_arguments(CLI::App& app, run_arguments& to);
void add_lock_arguments(CLI::App& app, run_arguments& to);

/// The same, looked at, and with what was not said filled in.
struct run_plan {
    run_plan() = default;

    client_options client;
    lock_choice lock;
    std::optional<std::chrono::milliseconds> wait; ///< zero: do not
    std::optional<int> conflict_status;
    std::chrono::milliseconds connect_timeout{}; ///< zero: for ever
    std::chrono::milliseconds hold_at_least{};   ///< counted from the grant
    stop_times stop;
    std::vector<std::string> command; ///< to be executed; empty: there is none
    bool revocable = false;
    bool verbose = false;
    bool json = false;
};

/// @throws usage_error
[[nodiscard]] run_plan plan_of(const run_arguments& given);

} // namespace zklock::tool
