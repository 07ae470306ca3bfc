#include "lock_watch.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace demo {

using clock = std::chrono::steady_clock;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

lock_watch::lock_watch(zklock::client client, const std::string& path, std::function<void()> changed)
    : client_(client), mutex_(client, path), changed_(std::move(changed)), asked_(client.get_executor()),
      pause_(client.get_executor())
{
}

asio::awaitable<void> lock_watch::follow()
{
    while (!stopped_) {
        if (!wanted_) {
            seen_.reset();
            co_await asked_.wait();
            continue;
        }
        auto error = co_await look();
        if (error == zklock::errc::closed) {
            co_return;
        }
        if (error && !stopped_) {
            seen_.reset();
            tell(std::nullopt, error.message());
            co_await pause_.rest(1s);
        }
    }
}

/// Reads the queue, and waits until it is another.
asio::awaitable<error_code> lock_watch::look()
{
    asked_again_ = false;
    auto began = clock::now();
    // First the node, unless the last wait has told of it, then its children: one that comes in between ends the wait
    // below.
    if (!seen_) {
        auto found = co_await client_.exists(mutex_.path());
        if (!found) {
            co_return found.error();
        }
        seen_ = found.value();
    }
    if (!seen_) {
        tell(std::vector<zklock::contender>(), "");
        co_return co_await while_wanted(client_.wait_created(mutex_.path(), awaitable_tuple));
    }
    auto read = co_await mutex_.contenders();
    if (!read) {
        co_return read.error();
    }
    tell(std::move(read.value()), "");
    // A long queue is a lot to read: half of the time is left to those who are in it.
    co_await pause_.rest(std::max<clock::duration>(20ms, clock::now() - began));
    co_return co_await while_wanted(client_.wait_children_changed(mutex_.path(), *seen_, awaitable_tuple));
}

/// Waits for the change, but not longer than somebody wants to know of it.
template <class Node>
asio::awaitable<error_code> lock_watch::while_wanted(asio::awaitable<std::tuple<error_code, Node>> change)
{
    auto first = co_await (std::move(change) || asked_again());
    error_code error;
    if (const auto* changed = std::get_if<0>(&first)) {
        error = std::get<0>(*changed);
        seen_ = std::get<1>(*changed);
    }
    co_return error;
}

asio::awaitable<void> lock_watch::asked_again()
{
    // It is not started again when it was cancelled: then the bell has not rung.
    while (!asked_again_) {
        co_await asked_.wait();
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return;
        }
    }
}

void lock_watch::tell(std::optional<std::vector<zklock::contender>> contenders, std::string failure)
{
    if (wanted_) {
        contenders_ = std::move(contenders);
        failure_ = std::move(failure);
        changed_();
    }
}

void lock_watch::wanted(bool by_somebody)
{
    wanted_ = by_somebody;
    if (!wanted_) {
        contenders_.reset();
        failure_.clear();
    }
    asked_again_ = true;
    asked_.ring();
}

void lock_watch::stop()
{
    stopped_ = true;
    asked_again_ = true;
    asked_.ring();
    pause_.end();
}

} // namespace demo
