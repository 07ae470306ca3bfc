#include "bridge/connection.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// After so many packets the executor's other work has its turn.
constexpr int packets_at_once = 64;
constexpr std::chrono::milliseconds shortest_attempt{500};
constexpr std::chrono::seconds longest_first_attempt{10}; // however long the session: who is silent is soon told of
constexpr std::chrono::hours longest_backoff{24};
// Longer than a resolver that works takes: a cycle begins with all servers, in any order. Those of which it does not know
// by then join it later.
constexpr std::chrono::milliseconds time_for_names{200};

/// Nobody waits longer than that, and what is longer need not fit the clock.
client_options with_bounded_backoff(client_options o)
{
    o.connect_backoff = std::min<std::chrono::milliseconds>(o.connect_backoff, longest_backoff);
    o.connect_backoff_limit = std::min<std::chrono::milliseconds>(o.connect_backoff_limit, longest_backoff);
    return o;
}

} // namespace

connection::connection(const strand_type& strand, std::shared_ptr<turns> turns, client_options options,
                       std::vector<host_port> servers, std::string chroot)
    : turns_(std::move(turns)), options_(with_bounded_backoff(std::move(options))), servers_(std::move(servers)),
      wire_(inbox_, options_, std::move(chroot)), io_(std::in_place, strand, servers_)
{
}

void connection::start(store::observer& observer)
{
    observer_ = &observer;
    if (!io_ || servers_.empty())
        return;
    backoff_ = options_.connect_backoff;
    post([](connection& c) { c.resolve(); });
}

// ---- connecting

void connection::resolve()
{
    if (phase_ != phase::resting)
        return;
    phase_ = phase::resolving;
    waited_for_names_ = false;
    due_ = clock::now() + time_for_names;
    wake_at(due_);
    io_->resolver->resolve(
        [weak = weak_from_this()](const host_port& server, const std::string& why) {
            if (auto self = weak.lock(); self && self->options_.log)
                self->inbox_.emplace_back(log_line{log_level::warning, "cannot resolve " + server.host + ": " + why});
        },
        [weak = weak_from_this()] {
            if (auto self = weak.lock(); self && self->io_ && !self->wire_.is_forked())
                self->turns_->run([&] { self->names_answered(); });
        });
}

/// What comes too late for the beginning of a cycle still has its turn in it.
void connection::names_answered()
{
    if (phase_ == phase::resolving) {
        if (!io_->resolver->busy() || waited_for_names_)
            try_known_addresses();
    } else if (phase_ == phase::resting || phase_ == phase::connecting || phase_ == phase::connected) {
        for (const auto& address : io_->resolver->found())
            join_cycle(address);
    }
    deliver();
}

/// The system's resolver may take minutes. Meanwhile the servers whose addresses are known get their chance.
void connection::try_known_addresses()
{
    auto known = io_->resolver->found();
    if (!io_->resolver->complete()) {
        for (const auto& address : addresses_)
            if (std::ranges::find(known, address) == known.end())
                known.push_back(address);
        if (known.empty()) { // for the first answer, whenever it comes
            waited_for_names_ = true;
            due_ = clock::now() + attempt_limit();
            wake_at(due_);
            return;
        }
        if (options_.log)
            inbox_.emplace_back(
                log_line{log_level::warning, "host names are still being resolved; trying known addresses"});
    }
    begin_cycle(std::move(known));
}

void connection::join_cycle(const std::string& address)
{
    if (std::ranges::find(addresses_, address) != addresses_.end())
        return;
    const bool all_tried = attempts_ >= addresses_.size();
    if (!addresses_.empty())
        next_address_ %= addresses_.size();
    const bool at_one = phase_ != phase::resting; // then it is the one after that
    addresses_.insert(addresses_.begin() + static_cast<std::ptrdiff_t>(next_address_ + (at_one ? 1 : 0)), address);
    if (phase_ == phase::resting && all_tried)
        rest(clock::duration::zero());
}

void connection::begin_cycle(std::vector<std::string> found)
{
    std::shuffle(found.begin(), found.end(), random_);
    if (!found.empty())
        addresses_ = std::move(found); // else those of the last time are the best guess
    phase_ = phase::resting;
    next_address_ = 0;
    attempts_ = 0;
    if (addresses_.empty())
        attempt_failed();
    else
        attempt();
}

void connection::attempt()
{
    last_attempt_ = clock::now();
    asked_ = lease_clock::now();
    ++attempts_;
    if (!wire_.connect(addresses_[next_address_ % addresses_.size()])) {
        follow_wire();
        return;
    }
    phase_ = phase::connecting;
    due_ = last_attempt_ + attempt_limit();
    refresh();
}

/// A server that swallows everything must not cost the session: the others get their chance in the third of the
/// time-out that is left when a dead connection is noticed. If nobody answers, each cycle is more patient.
auto connection::attempt_limit() const -> clock::duration
{
    clock::duration longest = options_.session_timeout * 2 / 3;
    const auto servers = static_cast<int>(std::max<std::size_t>(addresses_.size(), 1));
    auto first = std::clamp<clock::duration>(options_.session_timeout / (3 * servers), shortest_attempt,
                                             longest_first_attempt);
    return std::min(longest, first * (1 << std::min(silent_cycles_, 8u)));
}

void connection::attempt_failed()
{
    phase_ = phase::resting;
    ++next_address_;
    if (attempts_ < addresses_.size()) {
        rest(clock::duration::zero());
        return;
    }
    silent_cycles_ += std::exchange(silence_, false); // a refusal comes at once, and calls for no patience
    rest(jittered(as_the_session_allows(backoff_)));
    backoff_ = std::min<clock::duration>(backoff_ * 2, options_.connect_backoff_limit);
}

/// A server did answer. The next attempt comes at once, unless the last was a moment ago.
void connection::reconnect(bool to_the_same)
{
    phase_ = phase::resting;
    next_address_ += to_the_same ? 0 : 1;
    attempts_ = 0;
    silent_cycles_ = 0;
    silence_ = false;
    backoff_ = options_.connect_backoff;
    auto earliest = last_attempt_ + jittered(as_the_session_allows(options_.connect_backoff));
    rest(std::max(earliest - clock::now(), clock::duration::zero()));
}

void connection::rest(clock::duration how_long)
{
    due_ = clock::now() + how_long;
    wake_at(due_);
}

/// While the session may live, what it holds depends on how soon it is found out that the servers are back.
auto connection::as_the_session_allows(clock::duration d) const -> clock::duration
{
    const bool may_live = known_open_ || clock::now() < session_ends_;
    return may_live ? std::min<clock::duration>(d, session_timeout_ / 8) : d;
}

auto connection::jittered(clock::duration d) -> clock::duration
{
    return std::chrono::duration_cast<clock::duration>(d * std::uniform_real_distribution<>{0.5, 1.0}(random_));
}

// ---- the socket and the clock

/// Asks the library what it waits for, and waits for that.
void connection::refresh()
{
    if (!wire_.has_socket()) {
        follow_wire();
        return;
    }
    auto next = wire_.next_wish();
    follow_wire();
    if (!wire_.has_socket() || !io_ || phase_ == phase::resting)
        return;
    // Where Asio once waited for writing, the kernel goes on telling it about that, with each answer that is waited
    // for.
    const bool anew = !next.write && io_->waited_for_writing && !io_->corked;
    if (!adopt(next.fd, anew)) {
        wire_.sever();
        follow_wire();
        return;
    }
    await_socket(next.write);
    auto until = clock::now() + next.within;
    wake_at(phase_ == phase::connected ? until : std::min(until, due_));
}

/// Brings the phase in line with what became of the wire.
void connection::follow_wire()
{
    if (!inbox_.empty())
        deliver_later();
    if (wire_.has_socket()) {
        if (phase_ == phase::connecting && wire_.is_connected())
            phase_ = phase::connected;
        return;
    }
    switch (phase_) {
    case phase::resting: // the attempt failed before it began
    case phase::connecting:
    case phase::connected:
        drop_socket();
        if (wire_.refused()) {
            phase_ = phase::closed;
            wake_no_more(); // or the executor would have work until then
        } else if (wire_.take_expiry())
            reconnect(true);
        else if (phase_ == phase::connected)
            reconnect(false);
        else {
            silence_ = silence_ || clock::now() >= last_attempt_ + attempt_limit();
            attempt_failed();
        }
        break;
    case phase::flushing:
        finish_closing();
        break;
    case phase::resolving:
    case phase::draining:
    case phase::closed:
        break;
    }
}

/// Makes Asio watch the library's present socket. The library replaces it at will, mostly by one of the same number;
/// but not while it is connected without a new epoch. `anew`: even if it watches it already, and if there is a
/// descriptor left.
bool connection::adopt(int fd, bool anew)
{
    const std::uint64_t epoch = wire_.is_connected() ? wire_.epoch() : 0;
    if (!anew && io_->socket && epoch != 0 && epoch == io_->connected_epoch && fd == io_->library_socket)
        return true;
    struct stat status{};
    if (::fstat(fd, &status) != 0)
        return false;
    io_->connected_epoch = epoch;
    io_->library_socket = fd;
    const bool watched = io_->socket && status.st_ino == io_->socket_inode;
    if (watched && !anew)
        return true;
    const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own == -1 && watched)
        return true;
    drop_socket();
    if (own == -1)
        return false;
    io_->socket = std::make_unique<socket_type>(io_->strand);
    error_code ec;
    io_->socket->assign(own, ec);
    if (ec) {
        ::close(own);
        io_->socket.reset();
        return false;
    }
    io_->socket_inode = status.st_ino;
    return true;
}

void connection::drop_socket()
{
    if (!io_)
        return;
    ++io_->socket_number; // what still comes for the old one is ignored
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
        if (std::exchange((*io_).*awaiting, true))
            return;
        io_->socket->async_wait(what, [self = shared_from_this(), number = io_->socket_number, awaiting,
                                       writable](const error_code& ec) {
            if (!self->io_ || number != self->io_->socket_number || ec == asio::error::operation_aborted)
                return;
            (*self->io_).*awaiting = false;
            self->turns_->run([&] { self->on_socket(writable); });
        });
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
    if (phase_ == phase::flushing && nudged_) {
        hang_up();
        return;
    }
    bool more = wire_.process(writable, packets_at_once);
    follow_wire();
    refresh_due_ = true; // also when a function throws out of the executor
    deliver();
    if (!io_ || !io_->socket)
        return;
    if (phase_ == phase::flushing) {
        flush();
        return;
    }
    if (more && !io_->awaiting_read) {
        io_->awaiting_read = true; // by the post
        post([number = io_->socket_number](connection& c) {
            if (number != c.io_->socket_number)
                return;
            c.io_->awaiting_read = false;
            c.on_socket(false);
        });
    }
}

/// Has the timer fire by then. A timer that fires earlier is left as it is, and set again when it does.
void connection::wake_at(clock::time_point when)
{
    if (waking_ && *waking_ <= when)
        return;
    waking_ = when;
    io_->timer.expires_at(when);
    io_->timer.async_wait([self = shared_from_this(), turn = ++timer_turn_](const error_code& ec) {
        if (ec || !self->io_ || turn != self->timer_turn_)
            return;
        self->waking_.reset();
        self->turns_->run([&] { self->on_time(); });
    });
}

void connection::wake_no_more()
{
    waking_.reset();
    ++timer_turn_;
    io_->timer.cancel();
}

void connection::on_time()
{
    if (wire_.is_forked())
        return;
    bool due = clock::now() >= due_;
    switch (phase_) {
    case phase::resting:
        if (!due)
            wake_at(due_);
        else if (attempts_ < addresses_.size())
            attempt();
        else
            resolve();
        break;
    case phase::connecting:
        if (due)
            wire_.give_up();
        refresh();
        break;
    case phase::connected:
        refresh();
        break;
    case phase::flushing:
    case phase::draining:
        if (due)
            finish_closing();
        else
            wake_at(due_);
        break;
    case phase::resolving:
        if (due)
            try_known_addresses();
        else
            wake_at(due_);
        break;
    case phase::closed:
        break;
    }
    deliver();
}

} // namespace zklock::bridge
