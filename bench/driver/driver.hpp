#pragma once
#include "driver/histogram.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace zklock::bench {

/// One line that the harness sends: the workload's name and its parameters, as `crowd servers=… waiters=1000`.
class request {
public:
    explicit request(const std::string& line);

    std::string workload;

    [[nodiscard]] std::string text(const std::string& name) const; ///< throws when it is not there
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
    [[nodiscard]] std::int64_t number(const std::string& name) const;
    [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t otherwise) const;
    [[nodiscard]] std::chrono::milliseconds milliseconds(const std::string& name) const
    {
        return std::chrono::milliseconds{number(name)};
    }

private:
    std::map<std::string, std::string> values_;
};

/// What a workload found out.
struct report {
    std::uint64_t operations = 0;
    steady_clock::duration elapsed{};
    std::map<std::string, histogram> latencies; ///< by what was timed: acquire, cycle, handoff …
    std::map<std::string, double> figures;      ///< whatever else there is to tell
};

/// Something to be measured, in three steps. Between them the harness reads the servers' packet counters.
class workload {
public:
    virtual ~workload() = default;
    virtual void set_up() = 0; ///< connects and warms up
    virtual report measure() = 0;
    virtual void tear_down() = 0;
};

using workload_maker = std::function<std::unique_ptr<workload>(const request&)>;

/// Measures what standard input asks for until it ends; each step's end is told on standard output. Adds the
/// processor time that the process has used while it measured. To be returned from main.
int serve(const workload_maker& make);

/// CLOCK_MONOTONIC in nanoseconds, which other processes can compare with theirs.
double monotonic_ns();

} // namespace zklock::bench
