#pragma once
#include <hiredis/hiredis.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>

namespace zklock::bench {

/// A connection of its own to a Redis server. Each call waits for the answer; what went wrong is thrown.
class redis_connection {
public:
    explicit redis_connection(const std::string& address); ///< HOST:PORT

    using reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;
    template <class... Arguments> reply call(const char* format, Arguments... arguments)
    {
        return checked(static_cast<redisReply*>(redisCommand(context_.get(), format, arguments...)));
    }

private:
    reply checked(redisReply* raw);
    std::unique_ptr<redisContext, decltype(&redisFree)> context_;
};

/// The lock of one server as Redis documents it (the command SET, "Patterns", and "Distributed locks"): SET with NX, PX
/// and a value that nobody else has; a script that deletes the key only with that value; who does not get it tries
/// again after a random delay.
class redis_lock {
public:
    /// `poll`: the mean of the delay.
    redis_lock(redis_connection& connection, std::string key, std::chrono::microseconds poll);

    void acquire();
    void release(); ///< throws if it had been lost

private:
    [[nodiscard]] bool try_acquire();

    redis_connection& connection_;
    std::string key_, script_, value_;
    std::mt19937_64 random_;
    std::uniform_int_distribution<std::int64_t> delay_us_;
};

} // namespace zklock::bench
