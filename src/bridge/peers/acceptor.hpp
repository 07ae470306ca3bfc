#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/token_bucket.hpp"
#include "counters/counters.hpp"
#include "runtime/forks.hpp"
#include "runtime/single_wait.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "runtime/unique_fd.hpp"
#include "store/logger.hpp"
#include "store/repeats.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace zklock::bridge::peering {

/// Accepts the connections of others. What goes wrong there (a port that is taken, no descriptor left) is logged, and
/// tried again after a pause.
class acceptor final : public std::enable_shared_from_this<acceptor> {
public:
    /// Whoever comes: as many at once as have a place, and then 4,000 a second. More than that wait in the kernel,
    /// which drops them when there are too many.
    static constexpr int most_at_once = 256;
    static constexpr std::chrono::microseconds accept_each{250};
    static constexpr int most_in_a_turn = 16;
    static constexpr std::chrono::milliseconds first_pause{100};
    static constexpr std::chrono::milliseconds longest_pause{5'000};

    /// Told in turns: a descriptor, and who is at the other end.
    using accepted = std::function<void(runtime::unique_fd, const endpoint&)>;

    /// `pauses` counts how often more came than is accepted. It is used until close().
    acceptor(const runtime::strand&, std::shared_ptr<runtime::turns>, const endpoint& at, const store::logger&,
             counters::counter& pauses, accepted);

    /// Listens, or will try again when due.
    void open(time_point now);
    /// Where it listens, with the port that the system has chosen; nothing while it does not.
    [[nodiscard]] const std::optional<endpoint>& bound() const noexcept { return bound_; }

    /// When it is to be looked at, if nothing happens.
    [[nodiscard]] time_point due() const noexcept { return due_; }
    void time_passed(time_point now);

    /// `to_parent`: this is a forked process, of which Asio was not told.
    void close(bool to_parent) noexcept;

private:
    using socket_type = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, runtime::strand>;

    [[nodiscard]] error_code bind();
    void await();
    void accept(time_point now);
    void let_wait(time_point now) noexcept;
    void pause(time_point now, const char* what, const error_code& why) noexcept;

    const std::shared_ptr<runtime::turns> turns_;
    const endpoint at_;
    const std::string at_text_;
    const store::logger& log_;
    counters::counter& pauses_;
    accepted accepted_;
    const unsigned forks_;
    socket_type socket_;
    std::optional<endpoint> bound_;
    token_bucket accepts_{most_at_once, accept_each};
    time_point due_ = time_point::max();
    std::chrono::milliseconds pause_ = first_pause;
    store::repeats failures_told_, floods_told_;
    std::optional<runtime::kept_from_children> not_for_children_;
    bool open_ = true;
    runtime::single_wait wait_;
};

} // namespace zklock::bridge::peering
