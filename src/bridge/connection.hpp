#pragma once
#include "bridge/connector.hpp"
#include "bridge/delivery.hpp"
#include "bridge/host_list.hpp"
#include "bridge/host_resolver.hpp"
#include "bridge/turns.hpp"
#include "bridge/wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace zklock::bridge {

/// Keeps a wire connected, on a strand, as its connector decides: resolves, connects, waits for the socket and for time,
/// corks and uncorks the requests of a turn, and delivers what came in. No function of its caller is ever called inside
/// a call to it or to the wire.
class connection final : public turns::part, public std::enable_shared_from_this<connection> {
public:
    using strand_type = boost::asio::strand<boost::asio::any_io_executor>;

    connection(const strand_type& strand, std::shared_ptr<turns> turns, client_options options,
               std::vector<host_port> servers, std::string chroot);

    /// Starts to connect. `observer` must live until `closed` of close() is called, or stop().
    void start(store::observer& observer);

    /// Makes a request on the epoch that the caller knows of; `call` hands it to the wire.
    template <class Call> void submit(std::unique_ptr<request> r, Call call)
    {
        if (!may_send()) {
            strand_request(std::move(r));
            return;
        }
        turns_->run([&] {
            hold_back();
            call(wire_, std::move(r));
            if (!inbox_.empty())
                deliver_later();
        });
    }

    void close(std::function<void()> closed);
    void give_up() noexcept;

    /// Ends everything now, and calls nobody and uses no executor afterwards. Nothing of the library is left. In a
    /// forked process, the parent's connection is not touched. `told_of_fork`: Asio has made its own kernel objects for
    /// this one.
    void stop(bool told_of_fork = false);

    /// The caller knows of an open connection, and was told the answers to all that it asked.
    [[nodiscard]] bool waits_for_nothing() const noexcept
    {
        return may_send() && wire_.unanswered() == 0 && inbox_.empty();
    }

private:
    using clock = std::chrono::steady_clock;
    using timer_type = boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, strand_type>;
    using socket_type = boost::asio::posix::basic_stream_descriptor<strand_type>;

    using phase = connector::phase;

    struct io_objects {
        io_objects(const strand_type& s, const std::vector<host_port>& servers)
            : strand(s), timer(s), resolver(std::make_shared<host_resolver>(s, servers))
        {
        }
        strand_type strand;
        timer_type timer;
        std::shared_ptr<host_resolver> resolver;
        std::unique_ptr<socket_type> socket; // a duplicate: the library closes its own when it likes
        std::uint64_t socket_number = 0;
        ino_t socket_inode = 0;
        int library_socket = -1;           // what it is a duplicate of
        std::uint64_t connected_epoch = 0; // and which connection it had then, if any
        bool awaiting_read = false;
        bool awaiting_write = false;
        bool waited_for_writing = false; // since it was made
        bool corked = false;
    };

    // Connecting.
    void take(connector::step);
    void resolve();
    void attempt();
    void names_answered();
    [[nodiscard]] connector::names known_names() const;

    // The socket and the clock.
    void refresh();
    void follow_wire();
    [[nodiscard]] bool attempting_or_connected() const noexcept;
    [[nodiscard]] connector::loss loss_of_the_wire();
    bool adopt(int fd, bool anew);
    void drop_socket();
    void part_from_socket(bool told_of_fork = false);
    void leave_socket_to_parent(bool told_of_fork);
    void await_socket(bool write);
    void on_socket(bool writable);
    void wake_at(clock::time_point);
    void wake_no_more();
    void on_time();

    // Turns.
    void turn_ends() override;
    void turn_failed() override;
    void hold_back();
    void send();
    void post_send();
    void cork(bool on);
    [[nodiscard]] bool may_send() const noexcept;
    void strand_request(std::unique_ptr<request>);

    // Delivery.
    void deliver_later();
    void post_delivery();
    void deliver();
    template <class F> void guarded(F f);
    void dispatch(message);
    [[nodiscard]] message take_next() noexcept;

    // Closing.
    void flush();
    void hang_up();
    void drain();
    void finish_closing();

    template <class F> void post(F f)
    {
        boost::asio::post(io_->strand, [self = shared_from_this(), f = std::move(f)] {
            if (self->io_ && !self->wire_.is_forked())
                self->turns_->run([&] { f(*self); });
        });
    }

    const std::shared_ptr<turns> turns_;
    const client_options options_;
    inbox inbox_;
    wire wire_;
    std::optional<io_objects> io_;
    store::observer* observer_ = nullptr;
    connector connector_;
    const bool has_servers_;
    lease_clock::time_point attempt_began_{}; // of the present or last one

    std::optional<clock::time_point> waking_; // when the timer fires, due or not
    std::uint64_t timer_turn_ = 0;

    bool held_back_ = false;    // requests of this turn, and of others until they are sent
    bool send_posted_ = false;
    bool in_company_ = false;   // others were unanswered when the first was held back
    bool refresh_due_ = false;  // at the end of the turn
    bool giving_up_ = false;    // likewise: the epoch
    bool delivery_posted_ = false;
    bool known_open_ = false; // the epoch, as the caller knows it
    std::uint64_t known_epoch_ = 0;
    std::int64_t known_session_ = 0;
    std::size_t stranded_answered_ = 0;              // so many of the first
    std::vector<std::unique_ptr<request>> stranded_; // made after a loss that the caller has not been told yet

    bool nudged_ = false;
    bool finished_ = false; // the answer to close() was given
    std::function<void()> closed_;
    std::array<char, 4096> scratch_{};
};

} // namespace zklock::bridge
