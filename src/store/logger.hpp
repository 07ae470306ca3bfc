#pragma once
#include "zklock/client_options.hpp"
#include "zklock/events.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::store {

using log_function = std::function<void(log_level, std::string_view)>;

/// A log function that tells beforehand what it drops.
struct leveled_log {
    log_level most = log_level::debug;
    log_function to;

    void operator()(log_level level, std::string_view line) const
    {
        if (level <= most)
            to(level, line);
    }
};

/// The least grave level of lines that the function does anything with; nothing without a function.
[[nodiscard]] std::optional<log_level> most_taken(const log_function&) noexcept;

/// A session, to be written as ZooKeeper writes it.
struct session_name {
    std::int64_t id = 0;
};

/// How often a line was left out since it was said last. If it was, a remark at its end tells so.
struct times_left_out {
    std::uint64_t times = 0;
};

/// What the parts of a client write to its log with. A line that nobody would read is not put together, and costs a
/// comparison.
class logger {
public:
    /// `to` has to live as long as this.
    explicit logger(const log_function& to);

    [[nodiscard]] bool on(log_level level) const noexcept { return level <= most_; }

    /// Writes a line made of texts, numbers, durations (as seconds), sessions and errors. Where memory fails there is a
    /// line less; and what the user's function throws ends here, because the log is where it would be told.
    template <class... Parts> void operator()(log_level level, const Parts&... parts) const noexcept
    {
        if (!on(level))
            return;
        try {
            to_(level, line(parts...));
        } catch (...) { // NOLINT: see above
        }
    }

    template <class... Parts> [[nodiscard]] static std::string line(const Parts&... parts)
    {
        std::string all;
        (add(all, parts), ...);
        return all;
    }
    static void add(std::string& line, std::string_view text) { line += text; }
    static void add(std::string& line, std::int64_t number);
    static void add(std::string& line, lease_clock::duration);
    static void add(std::string& line, session_name);
    static void add(std::string& line, const boost::system::error_code& why) { line += why.message(); }
    static void add(std::string& line, times_left_out);
    /// Adds a time, in UTC, to the millisecond.
    static void add(std::string& line, std::chrono::system_clock::time_point);

private:
    const log_function& to_;
    std::optional<log_level> most_;
};

} // namespace zklock::store
