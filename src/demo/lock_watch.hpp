#pragma once
#include "background.hpp"

#include <zklock/client.hpp>
#include <zklock/events.hpp>
#include <zklock/mutex.hpp>
#include <zklock/node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace demo {

namespace asio = boost::asio;

/// Follows who holds a lock and who waits for it, for any number of those who want to know, and only while there are
/// some. The servers tell of each change: nothing is asked again and again.
class lock_watch {
public:
    /// `changed` is called whenever there is something else to tell.
    lock_watch(zklock::client, const std::string& path, std::function<void()> changed);

    /// Until stop(); what waits for a connection then ends when the client is closed.
    asio::awaitable<void> follow();
    void stop();

    /// Whether somebody wants to know. What was known is forgotten when nobody does.
    void wanted(bool);

    /// In the order of the queue; nothing as long as it is not known.
    [[nodiscard]] const std::optional<std::vector<zklock::contender>>& contenders() const { return contenders_; }
    /// Why the last look has failed; empty if it has not.
    [[nodiscard]] const std::string& failure() const { return failure_; }

private:
    asio::awaitable<boost::system::error_code> look();
    template <class Node>
    asio::awaitable<boost::system::error_code>
    while_wanted(asio::awaitable<std::tuple<boost::system::error_code, Node>> change);
    asio::awaitable<void> asked_again();
    void tell(std::optional<std::vector<zklock::contender>>, std::string failure);

    zklock::client client_;
    zklock::mutex mutex_;
    std::function<void()> changed_;
    bell asked_;
    nap pause_;
    std::optional<std::vector<zklock::contender>> contenders_;
    std::string failure_;
    std::optional<zklock::node_stat> seen_; ///< the lock's node, as it was found before its contenders were read
    bool wanted_ = false;
    bool asked_again_ = false; ///< something else is wanted than when the last look began
    bool stopped_ = false;
};

} // namespace demo
