#include "bridge/connection.hpp"
#include "bridge/log_lines.hpp"

#include <boost/asio/bind_allocator.hpp>

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// After so many packets the executor's other work comes first.
constexpr int packets_at_once = 64;

connector::settings settings_of(const client_options& o)
{
    return {o.session_timeout, o.connect_backoff, o.connect_backoff_limit};
}

/// The resolver's addresses: what follows the last colon is the port.
tcp::endpoint endpoint_of(const std::string& address)
{
    const auto colon = address.rfind(':');
    return {asio::ip::make_address(address.substr(0, colon)),
            static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1)))};
}

/// Closes the descriptor unless it becomes the socket's.
template <class Socket> error_code take_over(int descriptor, const tcp& protocol, Socket& socket)
{
    error_code ec;
    try {
        socket.assign(protocol, descriptor, ec);
    } catch (...) {
        ::close(descriptor);
        throw;
    }
    if (ec)
        ::close(descriptor);
    return ec;
}

/// Asio's own open() would leave the socket to programs that are started meanwhile.
template <class Socket> error_code open_for(const tcp::endpoint& server, Socket& socket)
{
    const tcp protocol = server.protocol();
    const int descriptor =
        ::socket(protocol.family(), protocol.type() | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol.protocol());
    if (descriptor == -1)
        return {errno, boost::system::system_category()};
    error_code ec = take_over(descriptor, protocol, socket);
    if (!ec)
        socket.set_option(tcp::no_delay(true), ec);
    return ec;
}

} // namespace

connection::target::target(const client_options& options)
{
    auto parsed = parse_servers(options.servers);
    auto root = parse_chroot(options.chroot);
    if (!parsed)
        error = parsed.error();
    else if (!root)
        error = root.error();
    if (error)
        return;
    servers = std::move(parsed.value());
    chroot = std::move(root.value());
}

connection::connection(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns, client_options options,
                       counters::counter& requests)
    : turns_(std::move(turns)), options_(std::move(options)), target_(options_), requests_(requests),
      wire_(inbox_, options_, target_.chroot), io_(std::in_place, strand, target_.servers),
      connector_(settings_of(options_), std::random_device{}())
{
}

owned_connection make_connection(const runtime::strand& strand, const client_options& options,
                                 counters::counter& requests,
                                 const std::shared_ptr<runtime::turns>& turns)
{
    auto made = std::make_shared<connection>(strand, turns, options, requests);
    turns->add(made);
    connection* const c = made.get();
    return {c, stops_connection{std::move(made)}};
}

void connection::attach(zklock::store::observer& observer)
{
    observer_ = &observer;
    inbox_.reserve(1); // for the end of it all
    if (io_ && !target_.servers.empty())
        post([](connection& c) {
            c.begun_ = true;
            c.take(c.connector_.begin(clock::now()));
        });
}

// ---- connecting

void connection::take(connector::step next)
{
    undone_ = next; // until it is done
    if (connector_.take_names_missing())
        push_line(inbox_, log_, log_level::warning, "host names are still being resolved",
                  next == connector::step::attempt ? "; trying known addresses" : "");
    note_unreachable();
    switch (next) {
    case connector::step::wait: break;
    case connector::step::resolve: resolve(); break;
    case connector::step::attempt: attempt(); break;
    case connector::step::give_up:
        wire_.give_up();
        refresh();
        break;
    case connector::step::finish: finish_closing(); break;
    }
    undone_.reset();
    if (const auto due = connector_.due())
        wake_at(*due);
}

/// Where there is no step to take, the library has to be asked.
void connection::go_on(connector::step next)
{
    if (next == connector::step::wait && attempting_or_connected())
        refresh();
    else
        take(next);
}

void connection::resolve()
{
    io_->resolver->resolve(
        [weak = weak_from_this()](const host_port& server, const std::string& why) {
            if (auto self = weak.lock())
                push_line(self->inbox_, self->log_, log_level::warning, "cannot resolve ", server.host, ": ", why);
        },
        [weak = weak_from_this()] {
            if (auto self = weak.lock(); self && self->io_ && !self->wire_.is_forked())
                self->turns_->run([&] { self->names_answered(); });
        });
    take(connector_.names_known(known_names(), clock::now()));
}

void connection::names_answered()
{
    take(connector_.names_known(known_names(), clock::now()));
    deliver();
}

connector::names connection::known_names() const
{
    const host_resolver& resolver = *io_->resolver;
    return {resolver.found(), resolver.busy(), resolver.complete()};
}

void connection::attempt()
{
    if (wire_.begin(connector_.address()))
        dial();
    else
        follow_wire();
}

/// Makes the TCP connection that the wire is to have.
void connection::dial()
{
    drop_socket();
    const tcp::endpoint server = endpoint_of(connector_.address());
    auto made = std::make_unique<socket_type>(io_->strand);
    if (const error_code ec = open_for(server, *made)) {
        wire_.unreached(ec);
        follow_wire();
        return;
    }
    io_->socket = std::move(made);
    auto done = [self = shared_from_this(), generation = io_->socket_generation](const error_code& ec) {
        if (self->io_ && generation == self->io_->socket_generation && ec != asio::error::operation_aborted)
            self->turns_->run([&] { self->dialed(ec); });
    };
    io_->socket->async_connect(server, asio::bind_allocator(of_write_.get(), std::move(done)));
    io_->waited_for_writing = true;
}

void connection::dialed(const error_code& ec)
{
    if (wire_.is_forked() || !wire_.is_dialing())
        return; // it is the parent's, or has had its time
    attempt_began_ = lease_clock::now();
    if (ec)
        wire_.unreached(ec);
    if (!ec && wire_.connect(io_->socket->native_handle()))
        refresh();
    else
        follow_wire();
    deliver();
}

// ---- the log

/// Servers that are started again, or elect a leader, refuse for a while: that is not told as an error.
void connection::note_unreachable() noexcept
{
    if (unreachable_ || !log_.on(log_level::error) || !connector_.all_failed())
        return;
    const auto since = lease_clock::now() - unconnected_since_;
    if (since < options_.session_timeout / 3)
        return;
    unreachable_ = true;
    try {
        std::string failures;
        for (const auto& [address, line] : this->failures())
            failures.append(failures.empty() ? "" : "; ").append(line);
        push_line(inbox_, log_, log_level::error, "no ZooKeeper server of ", options_.servers,
                  " can be reached, for ", since, " now", failures.empty() ? "" : ": ", failures);
    } catch (const std::bad_alloc&) { // NOLINT: a line less
    }
}

std::map<std::string, std::string> connection::failures()
{
    auto all = wire_.failures();
    if (io_)
        for (const auto& [host, why] : io_->resolver->unresolved())
            all.emplace(host, "cannot resolve " + host + ": " + why);
    if (auto now = wire_.attempt())
        all.insert(*std::move(now)); // unless one has ended
    return all;
}

void connection::note_reached() noexcept
{
    if (std::exchange(unreachable_, false))
        push_line(inbox_, log_, log_level::warning, "a ZooKeeper server is reached again, after ",
                  lease_clock::now() - unconnected_since_);
}

// ---- the socket and the clock

/// Asks the library what it waits for, and waits for that.
void connection::refresh()
{
    undone_ = connector::step::wait; // until it is done
    wait_for_wire();
    undone_.reset();
    refresh_due_ = false;
}

void connection::wait_for_wire()
{
    if (!wire_.has_socket()) {
        follow_wire();
        return;
    }
    auto next = wire_.next_interest();
    follow_wire();
    if (!wire_.has_socket() || !io_)
        return;
    // Where Asio once waited for writing, the kernel goes on telling it about that, with each answer that is waited
    // for.
    if (!next.write && io_->waited_for_writing && !io_->corked)
        watch_anew();
    await_socket(next.write);
    wake_at(std::min(clock::now() + next.within, connector_.due().value_or(clock::time_point::max())));
}

/// Tells the connector what became of the wire.
void connection::follow_wire()
{
    if (!inbox_.empty())
        deliver_later();
    if (wire_.is_dialing())
        return;
    if (wire_.has_socket()) {
        if (connector_.now_in() == phase::connecting && wire_.is_connected()) {
            connector_.opened(wire_.granted());
            note_reached();
        }
        return;
    }
    if (attempting_or_connected()) {
        drop_socket();
        if (connector_.now_in() == phase::connected)
            unconnected_since_ = lease_clock::now();
        take(connector_.lost(loss_of_the_wire(), clock::now()));
        if (connector_.now_in() == phase::closed)
            wake_no_more(); // or the executor would have work until then
    } else if (connector_.now_in() == phase::flushing) {
        finish_closing();
    }
}

bool connection::attempting_or_connected() const noexcept
{
    return connector_.now_in() == phase::connecting || connector_.now_in() == phase::connected;
}

connector::loss connection::loss_of_the_wire()
{
    if (wire_.refused())
        return connector::loss::credentials;
    return wire_.take_expiry() ? connector::loss::session : connector::loss::connection;
}

/// Has Asio watch the connection by another duplicate, unless there is no descriptor left.
void connection::watch_anew()
{
    auto made = std::make_unique<socket_type>(io_->strand);
    const int own = ::fcntl(io_->socket->native_handle(), F_DUPFD_CLOEXEC, 0);
    if (own == -1 || take_over(own, endpoint_of(connector_.address()).protocol(), *made))
        return;
    drop_socket();
    io_->socket = std::move(made);
}

void connection::drop_socket()
{
    if (!io_)
        return;
    ++io_->socket_generation; // what still comes for the old one is ignored
    io_->socket.reset();
    io_->awaiting_read = io_->awaiting_write = io_->waited_for_writing = false;
    io_->corked = false;
}

/// Leaves nothing unread, because closing a socket with unread data resets it, and what the library sent last may be
/// lost.
void connection::part_from_socket(bool told_of_fork)
{
    if (io_ && wire_.is_forked()) {
        leave_socket_to_parent(told_of_fork);
        return;
    }
    if (io_ && io_->socket) {
        int own = io_->socket->native_handle();
        cork(false);
        ::shutdown(own, SHUT_WR);
        while (::recv(own, scratch_.data(), scratch_.size(), MSG_DONTWAIT) > 0) {
        }
    }
    drop_socket();
}

void connection::await_socket(bool write)
{
    auto wait = [this](socket_type::wait_type what, bool io_objects::*awaiting, bool writable) {
        if ((*io_).*awaiting)
            return;
        auto ready = [self = shared_from_this(), generation = io_->socket_generation, awaiting,
                      writable](const error_code& ec) {
            if (!self->io_ || generation != self->io_->socket_generation || ec == asio::error::operation_aborted)
                return;
            (*self->io_).*awaiting = false;
            self->turns_->run([&] { self->on_socket(writable); });
        };
        auto& memory = writable ? of_write_ : of_read_;
        io_->socket->async_wait(what, asio::bind_allocator(memory.get(), std::move(ready)));
        (*io_).*awaiting = true; // not if it has thrown
    };
    wait(socket_type::wait_read, &io_objects::awaiting_read, false);
    if (write) {
        io_->waited_for_writing = true;
        wait(socket_type::wait_write, &io_objects::awaiting_write, true);
    }
}

void connection::on_socket(bool writable)
{
    if (wire_.is_forked())
        return; // it is the parent's
    if (connector_.now_in() == phase::flushing && nudged_) {
        hang_up();
        return;
    }
    refresh_due_ = true; // also when a function throws out of the executor
    bool more = wire_.process(writable, packets_at_once);
    follow_wire();
    deliver();
    if (!io_ || !io_->socket)
        return;
    if (connector_.now_in() == phase::flushing) {
        flush();
        return;
    }
    if (more && !io_->awaiting_read) {
        post([generation = io_->socket_generation](connection& c) {
            if (generation != c.io_->socket_generation)
                return;
            c.io_->awaiting_read = false;
            c.on_socket(false);
        });
        io_->awaiting_read = true; // by the post
    }
}

/// Has the timer fire by then. A timer that fires earlier is left as it is, and set again when it does.
void connection::wake_at(clock::time_point when)
{
    if (waking_ && *waking_ <= when)
        return;
    waking_.reset(); // if it throws
    io_->timer.expires_at(when);
    auto fired = [self = shared_from_this(), generation = ++timer_generation_](const error_code& ec) {
        if (ec || !self->io_ || generation != self->timer_generation_)
            return;
        self->waking_.reset();
        self->turns_->run([&] { self->on_time(); });
    };
    io_->timer.async_wait(asio::bind_allocator(of_wait_.get(), std::move(fired)));
    waking_ = when;
}

/// An exception came between, in the turn of the last one that fired, or as it was set again.
bool connection::lacks_timer() const
{
    return begun_ && !waking_ && connector_.due();
}

void connection::wake_no_more()
{
    waking_.reset();
    ++timer_generation_;
    io_->timer.cancel();
}

void connection::on_time()
{
    if (wire_.is_forked())
        return;
    const auto next = undone_ ? *undone_ : connector_.time_passed(clock::now());
    if (next == connector::step::wait && connector_.now_in() == phase::flushing)
        flush(); // which an exception has ended
    else
        go_on(next);
    deliver();
}

} // namespace zklock::bridge
