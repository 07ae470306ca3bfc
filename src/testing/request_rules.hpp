#pragma once
#include "testing/request.hpp"
#include "zklock/testing/ensemble.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zklock::testing {

/// What a test has said of requests to come, and how many have come. From any thread.
class request_rules {
public:
    using kind = ensemble::request;
    using fate = ensemble::fate;

    void next(kind, std::string path_prefix, fate, unsigned times);
    void delay(kind, std::string path_prefix, std::chrono::nanoseconds);
    void clear();
    [[nodiscard]] std::size_t count(kind) const;

    /// One has come: counts it, and tells what becomes of it, if that is anything but usual.
    [[nodiscard]] std::optional<fate> take(const request&);
    /// How long its answer takes.
    [[nodiscard]] std::chrono::nanoseconds lateness(const request&) const;

private:
    struct pattern {
        kind what;
        std::string prefix;
        [[nodiscard]] bool matches(const request&) const;
    };
    struct doom {
        pattern whose;
        fate becomes;
        unsigned times;
    };
    struct delayed {
        pattern whose;
        std::chrono::nanoseconds by;
    };

    mutable std::mutex mutex_; // guards what follows
    std::vector<doom> dooms_;
    std::vector<delayed> delays_;
    std::map<kind, std::size_t> counted_;
};

} // namespace zklock::testing
