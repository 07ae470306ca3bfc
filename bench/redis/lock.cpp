#include "redis/lock.hpp"

#include <stdexcept>
#include <string_view>
#include <thread>

namespace zklock::bench {

namespace {

constexpr const char* release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
constexpr long long valid_ms = 30'000;

redisContext* connect(const std::string& address)
{
    const auto colon = address.rfind(':');
    if (colon == std::string::npos)
        throw std::runtime_error("not an address: " + address);
    return redisConnect(address.substr(0, colon).c_str(), std::stoi(address.substr(colon + 1)));
}

} // namespace

redis_connection::redis_connection(const std::string& address) : context_(connect(address), &redisFree)
{
    if (!context_)
        throw std::runtime_error("redis: out of memory");
    if (context_->err)
        throw std::runtime_error("redis at " + address + ": " + context_->errstr);
}

redis_connection::reply redis_connection::checked(redisReply* raw)
{
    reply answer{raw, &freeReplyObject};
    if (!answer)
        throw std::runtime_error(std::string("redis: ") + context_->errstr);
    if (answer->type == REDIS_REPLY_ERROR)
        throw std::runtime_error(std::string("redis: ") + answer->str);
    return answer;
}

redis_lock::redis_lock(redis_connection& connection, std::string key, std::chrono::microseconds poll)
    : connection_(connection), key_(std::move(key)), random_(std::random_device{}()), delay_us_(0, 2 * poll.count())
{
    script_ = connection_.call("SCRIPT LOAD %s", release_script)->str;
    value_ = std::to_string(random_()) + "-" + std::to_string(random_());
}

bool redis_lock::try_acquire()
{
    const auto answer = connection_.call("SET %s %s NX PX %lld", key_.c_str(), value_.c_str(), valid_ms);
    return answer->type == REDIS_REPLY_STATUS && std::string_view{answer->str} == "OK";
}

void redis_lock::acquire()
{
    while (!try_acquire())
        std::this_thread::sleep_for(std::chrono::microseconds{delay_us_(random_)});
}

void redis_lock::release()
{
    const auto answer = connection_.call("EVALSHA %s 1 %s %s", script_.c_str(), key_.c_str(), value_.c_str());
    if (answer->type != REDIS_REPLY_INTEGER || answer->integer != 1)
        throw std::runtime_error("redis: the lock was lost");
}

} // namespace zklock::bench
