#pragma once
#include "bridge/connection/alarm.hpp"
#include "bridge/connection/connector.hpp"
#include "bridge/connection/dialer.hpp"
#include "bridge/connection/history_check.hpp"
#include "bridge/connection/server_socket.hpp"
#include "bridge/names/host_resolver.hpp"
#include "bridge/wire/delivery.hpp"
#include "bridge/wire/store_requests.hpp"
#include "bridge/wire/wire.hpp"
#include "counters/counters.hpp"
#include "runtime/stores_in_memory.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace zklock::bridge {

/// The store over the ZooKeeper C client, on an Asio strand. It keeps a wire connected until close(), as its connector
/// decides: has names resolved and servers dialed, waits for the socket and for time, corks and uncorks the requests of
/// a turn, and delivers what came in. It starts no thread (but for host names and files, see blocking_calls) and blocks
/// nobody. No function of its caller is ever called inside a call to it or to the wire. See make_connection().
///
/// Everything is called on the strand, except the constructor and attach(), which come before anything runs there.
/// Until it is closed or stopped, it keeps the executor in work.
class connection final : public store_requests,
                         public runtime::turns::finisher,
                         public dialer::owner,
                         public std::enable_shared_from_this<connection> {
public:
    using clock = connector::clock;

    connection(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns, client_options options,
               counters::counter& requests);

    /// Starts to connect. The observer must live until `closed` of close() is called, or stop().
    void attach(zklock::store::observer&) override;

    void close(std::function<void()> closed) override;
    void give_up_session() override;

    /// Nothing of the library is left then.
    void stop(bool told_of_fork = false) override;
    void cut() override;

    /// As the connector counts it.
    [[nodiscard]] std::optional<clock::duration> unconnected_for() const override
    {
        if (connector_.keeps_losing())
            return connector_.unserved_for(clock::now());
        if (connector_.now_in() == phase::connected)
            return std::nullopt;
        return connector_.unconnected_for(clock::now());
    }
    [[nodiscard]] std::map<std::string, std::string> failures() override;
    [[nodiscard]] const std::optional<boost::asio::ip::address>& local_address() const noexcept override
    {
        return dialer_.local_address();
    }
    [[nodiscard]] bool is_insecure() const noexcept override { return connector_.all_insecure(); }
    [[nodiscard]] bool waits_for_nothing() const noexcept override
    {
        return may_send() && unanswered() == 0 && inbox_.empty();
    }

private:
    using phase = connector::phase;

    // Connecting.
    void take(connector::step);
    void go_on(connector::step);
    void resolve();
    void go_on_with_attempt(const std::function<void()>&) override;
    void wire_changed() override { refresh(); }
    void tell_names();

    // The relay, while there is one.
    [[nodiscard]] interest send_by_relay();
    [[nodiscard]] bool receive_by_relay();
    void empty_the_pair() noexcept;

    // The socket and the clock.
    [[nodiscard]] interest next_interest() { return socket_.relay() ? send_by_relay() : wire_.next_interest(); }
    void read_soon();
    void refresh();
    void follow_wire();
    [[nodiscard]] history_check::verdict judge_history();
    void part_from_socket(bool told_of_fork = false);
    [[nodiscard]] std::shared_ptr<const void> keep() override { return shared_from_this(); }
    void wait_ended(bool for_writing, bool ready) override;
    void on_socket(bool writable);
    void wake_at(clock::time_point);
    void on_time();

    // The log.
    void note_unreachable();
    void note_reached();

    // Turns.
    void turn_ends() override;
    [[nodiscard]] bool is_over() const noexcept override { return !strand_ || finished_; }
    [[nodiscard]] bool may_send() const noexcept override;
    void hold_back() override;
    void send();

    // Delivery.
    void deliver_later() override;
    void deliver();
    void dispatch(message);

    // Closing.
    void flush();
    void hang_up();
    void drain();
    void finish_closing();

    /// Does that in a turn, unless this has been stopped, or is a forked process's copy.
    template <class F> void in_turn(F&& f)
    {
        if (strand_ && !wire_.is_forked())
            turns_->run(std::forward<F>(f));
    }
    template <class F> void post(F f)
    {
        boost::asio::post(*strand_,
                          [self = shared_from_this(), f = std::move(f)] { self->in_turn([&] { f(*self); }); });
    }
    /// A turn in which that is done, made before it is needed.
    [[nodiscard]] runtime::wake_up turn_of(void (connection::*what)())
    {
        return runtime::wake_up([this, what] { in_turn([&] { (this->*what)(); }); });
    }
    void post(runtime::wake_up& turn) { turn.post(*strand_, shared_from_this()); }

    const std::shared_ptr<runtime::turns> turns_;
    const client_options options_;
    counters::counter& made_; // requests
    inbox inbox_;
    wire wire_;
    std::optional<runtime::strand> strand_; // until it is stopped, as the next
    std::shared_ptr<host_resolver> resolver_;
    zklock::store::observer* observer_ = nullptr;
    connector connector_;
    history_check history_;
    bool unreachable_ = false; // as the log has told

    alarm alarm_;
    server_socket socket_{*this};
    dialer dialer_;
    runtime::wake_up send_ = turn_of(&connection::send);
    runtime::wake_up deliver_ = turn_of(&connection::deliver);
    runtime::wake_up farewell_ = turn_of(&connection::flush);

    bool held_back_ = false;   // requests of this turn, and of others until they are sent
    bool answers_due_ = false; // of requests that were sent before the first was held back
    bool refresh_due_ = false; // at the end of the turn
    bool giving_up_ = false;   // the epoch, at the end of the turn

    const runtime::real_client counted_;
    bool nudged_ = false;
    bool finished_ = false; // the answer to close() was given
    std::function<void()> closed_;
};

/// The options have been looked at, and have the form that check() in adapter/client gives them. The requests of a turn
/// leave together, at its end, or a posted turn later if answers were due. They are counted in `requests` until it is
/// stopped, which it is when the last pointer goes. What is under way may keep it in memory for a while.
[[nodiscard]] std::shared_ptr<connection>
make_connection(const runtime::strand&, const client_options&, counters::counter& requests,
                const std::shared_ptr<runtime::turns>& = std::make_shared<runtime::turns>());

} // namespace zklock::bridge
