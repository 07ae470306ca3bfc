#include "testing/memory_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace zklock::testing {

memory_store::memory_store(std::shared_ptr<memory_ensemble> servers, runtime::store_surroundings around)
    : servers_(std::move(servers)), chroot_(around.options.chroot), process_(::getpid()), around_(std::move(around))
{
}

void memory_store::post(std::function<void(memory_store&)> f)
{
    const std::scoped_lock lock(posting_);
    if (around_)
        around_->post([self = shared_from_this(), f = std::move(f)] {
            if (self->around_)
                f(*self);
        });
}

lease_clock::time_point memory_store::next_deadline() const
{
    return around_->next_deadline();
}
void memory_store::look_again()
{
    around_->look_again();
}

// ---- connections

void memory_store::attach(store::observer& observer)
{
    observer_ = &observer;
    lost_at_ = lease_clock::now();
    attempt_later({});
}

void memory_store::attempt_later(lease_clock::duration pause)
{
    around_->scheduler.cancel(attempt_timer_);
    attempt_timer_ = around_->scheduler.call_at(lease_clock::now() + pause, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || !self->around_)
            return;
        self->attempt_timer_ = 0;
        self->attempt();
    });
}

void memory_store::may_connect()
{
    post([](memory_store& self) {
        self.pause_ = first_pause;
        self.attempt();
    });
}

void memory_store::attempt()
{
    if (closing_ || connection_ != 0)
        return;
    const auto asked = lease_clock::now();
    const auto made = servers_->connect(shared_from_this(), session_, around_->options.session_timeout);
    if (made.connection != 0)
        return begin_epoch(made, asked);
    if (!made.expired)
        return attempt_later(std::exchange(pause_, std::min(2 * pause_, longest_pause)));
    session_ = 0;
    attempt_later({});
    observer_->on_expired();
}

void memory_store::begin_epoch(const memory_ensemble::connected& made, lease_clock::time_point asked)
{
    connection_ = made.connection;
    session_ = made.session;
    timeout_ = made.timeout;
    heard_ = asked;
    lost_at_.reset();
    pause_ = first_pause;
    const bool renewed = std::exchange(told_session_, session_) != session_;
    keep_alive();
    observer_->on_connected({session_, timeout_, renewed, asked, false});
}

/// Pings, and hangs up on servers that say nothing for too long, as the C client does.
void memory_store::keep_alive()
{
    static_cast<void>(
        around_->scheduler.call_at(lease_clock::now() + timeout_ / 6, [weak = weak_from_this(), which = connection_] {
            const auto self = weak.lock();
            if (!self || !self->around_ || self->connection_ != which || self->ending_ || self->closing_)
                return;
            if (lease_clock::now() - self->heard_ >= 2 * self->timeout_ / 3) {
                self->servers_->hang_up(which);
                return self->end_epoch();
            }
            if (self->waiting_.empty())
                self->submit({}, {});
            self->keep_alive();
        }));
}

void memory_store::lose(std::uint64_t connection)
{
    post([connection](memory_store& self) {
        if (self.connection_ == connection && !self.ending_ && !self.closing_)
            self.end_epoch();
    });
}

void memory_store::end_epoch()
{
    ending_ = true;
    post([](memory_store& self) { self.epoch_ended(); });
}

void memory_store::answer_unknown()
{
    answer a;
    a.result = store::outcome::unknown;
    while (!waiting_.empty())
        answer_first(a);
}

void memory_store::epoch_ended()
{
    if (closing_)
        return;
    answer_unknown();
    connection_ = 0;
    ending_ = false;
    lost_at_ = lease_clock::now();
    attempt_later({});
    observer_->on_disconnected();
    if (std::exchange(gives_up_, false)) {
        session_ = 0;
        observer_->on_expired();
    }
}

void memory_store::give_up_session()
{
    servers_->end_session(connection_);
    gives_up_ = true;
    end_epoch();
}

void memory_store::close(std::function<void()> closed)
{
    closing_ = true;
    servers_->end_session(connection_);
    post([closed = std::move(closed)](memory_store& self) {
        self.answer_unknown();
        self.connection_ = 0;
        self.stop(false);
        closed();
    });
}

void memory_store::stop(bool)
{
    if (::getpid() != process_)
        return; // the parent's threads may have held the locks
    if (const auto connection = std::exchange(connection_, 0))
        servers_->end_session(connection);
    std::optional<runtime::store_surroundings> dropped; // without the lock
    const std::scoped_lock lock(posting_);
    if (around_)
        dropped.emplace(std::move(*around_));
    around_.reset();
}

void memory_store::cut()
{
    if (const auto connection = std::exchange(connection_, 0))
        servers_->hang_up(connection);
    stop(false);
}

std::optional<lease_clock::duration> memory_store::unconnected_for() const
{
    if (!lost_at_)
        return std::nullopt;
    return lease_clock::now() - *lost_at_;
}

std::map<std::string, std::string> memory_store::failures()
{
    auto why = servers_->why_unreachable(session_);
    if (connection_ != 0 || why.empty())
        return {};
    return {{servers_->name(), std::move(why)}};
}

// ---- requests

std::string memory_store::full(std::string_view path) const
{
    return path == "/" && !chroot_.empty() ? chroot_ : chroot_ + std::string(path);
}

void memory_store::take_chroot_off(std::string& path) const
{
    if (path.empty() || !path.starts_with(chroot_))
        return; // of nothing that was made
    path.erase(0, chroot_.size());
    if (path.empty())
        path = "/";
}

/// With what only the client's store knows.
void memory_store::complete(transaction& t) const
{
    const bool creates = t.what == transaction::kind::create;
    const bool has_no_name = creates && t.path == "/"; // but its number
    t.path = full(t.path);
    if (has_no_name && !chroot_.empty())
        t.path += '/';
    if (creates && !t.access)
        t.access = std::make_shared<const access_list>(around_->options.access);
    for (auto& part : t.parts)
        complete(part);
}

void memory_store::submit(request r, callback call)
{
    r.number = ++last_number_;
    if (r.what == operation::write)
        complete(r.write);
    else
        r.path = full(r.path);
    waiting_.push_back({lease_clock::now(), std::move(call), ending_ || closing_});
    if (waiting_.back().unsent)
        return; // its answer is on its way
    if (r.what != operation::ping)
        around_->count_request();
    servers_->send(connection_, std::move(r));
}

// ---- answers

void memory_store::receive(std::uint64_t connection, answer a)
{
    post([connection, a = std::move(a)](memory_store& self) {
        if (self.connection_ == connection && !self.ending_ && !self.closing_)
            self.deliver(a);
    });
}

void memory_store::deliver(answer a)
{
    heard_ = lease_clock::now();
    take_chroot_off(a.path);
    for (auto& name : a.names)
        take_chroot_off(name);
    if (a.number == 0)
        return observer_->on_node_event(a.event, a.path);
    answer_first(a);
}

void memory_store::answer_first(const answer& a)
{
    const auto w = std::move(waiting_.front());
    waiting_.pop_front();
    call_back(w.call, {a.result, w.sent, w.unsent}, a, [](auto call) { call(); });
}

} // namespace zklock::testing
