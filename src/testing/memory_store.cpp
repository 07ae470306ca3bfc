#include "testing/memory_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace zklock::testing {

using store::outcome;

memory_store::memory_store(std::shared_ptr<memory_ensemble> servers, std::string chroot,
                           runtime::store_surroundings around)
    : servers_(std::move(servers)), chroot_(std::move(chroot)), process_(::getpid()), around_(std::move(around))
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
    while (!waiting_.empty()) {
        const auto w = std::move(waiting_.front());
        waiting_.pop_front();
        answer a;
        a.result = outcome::unknown;
        call_back(w, a);
    }
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
    closed_ = std::move(closed);
    servers_->end_session(connection_);
    post([](memory_store& self) {
        self.answer_unknown();
        self.connection_ = 0;
        const auto told = std::move(self.closed_);
        self.stop(false);
        told();
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

std::string_view memory_store::own(std::string_view path) const noexcept
{
    if (path.empty() || !path.starts_with(chroot_))
        return path; // of nothing that was made
    path.remove_prefix(chroot_.size());
    return path.empty() ? "/" : path;
}

transaction memory_store::write(transaction::kind what, std::string_view path) const
{
    transaction t;
    t.what = what;
    t.path = full(path);
    return t;
}

void memory_store::submit(request r, callback call)
{
    r.number = ++last_number_;
    waiting_.push_back({r.number, lease_clock::now(), std::move(call), ending_ || closing_});
    if (waiting_.back().unsent)
        return; // its answer is on its way
    if (r.what != operation::ping)
        around_->count_request();
    servers_->send(connection_, std::move(r));
}

namespace {

request asks(operation what, std::string path, bool watch = false)
{
    request r;
    r.what = what;
    r.path = std::move(path);
    r.watch = watch;
    return r;
}

request writes(transaction t)
{
    request r;
    r.what = operation::write;
    r.write = std::move(t);
    return r;
}

shared_access shared(const access_list* access)
{
    return access ? std::make_shared<const access_list>(*access) : nullptr;
}

} // namespace

void memory_store::create(std::string_view path, std::string_view data, store::node_kind kind,
                          const access_list* access, create_done call)
{
    auto t = write(transaction::kind::create, path);
    t.data = data;
    t.node = kind;
    t.access = shared(access ? access : &around_->options.access);
    submit(writes(std::move(t)), std::move(call));
}

void memory_store::remove(std::string_view path, std::int32_t version, reply_done call)
{
    auto t = write(transaction::kind::remove, path);
    t.version = version;
    submit(writes(std::move(t)), std::move(call));
}

void memory_store::set(std::string_view path, std::string_view data, std::int32_t version, stat_done call)
{
    auto t = write(transaction::kind::set_data, path);
    t.data = data;
    t.version = version;
    submit(writes(std::move(t)), std::move(call));
}

void memory_store::batch(std::span<const store::batch_write> all, batch_done call)
{
    static constexpr transaction::kind kinds[] = {transaction::kind::create, transaction::kind::set_data,
                                                  transaction::kind::remove, transaction::kind::check_version};
    transaction t;
    t.what = transaction::kind::batch;
    for (const auto& each : all) {
        auto part = write(kinds[static_cast<int>(each.what)], each.path);
        part.data = each.data;
        part.node = each.created;
        part.version = each.version;
        if (part.what == transaction::kind::create)
            part.access = shared(each.access ? each.access : &around_->options.access);
        t.parts.push_back(std::move(part));
    }
    submit(writes(std::move(t)), std::move(call));
}

void memory_store::exists(std::string_view path, bool watch, stat_done call)
{
    submit(asks(operation::exists, full(path), watch), std::move(call));
}

void memory_store::get(std::string_view path, bool watch, get_done call)
{
    submit(asks(operation::get, full(path), watch), std::move(call));
}

void memory_store::children(std::string_view path, bool watch, children_done call)
{
    submit(asks(operation::children, full(path), watch), std::move(call));
}

void memory_store::get_acl(std::string_view path, access_done call)
{
    submit(asks(operation::get_acl, full(path)), std::move(call));
}

void memory_store::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version, reply_done call)
{
    auto t = write(transaction::kind::set_access, path);
    t.access = shared(&access);
    t.version = acl_version;
    submit(writes(std::move(t)), std::move(call));
}

void memory_store::unwatch(std::string_view path, reply_done call)
{
    submit(asks(operation::unwatch, full(path)), std::move(call));
}

void memory_store::sync(std::string_view path, reply_done call)
{
    submit(asks(operation::sync, full(path)), std::move(call));
}

// ---- answers

void memory_store::receive(std::uint64_t connection, answer a)
{
    post([connection, a = std::move(a)](memory_store& self) {
        if (self.connection_ == connection && !self.ending_ && !self.closing_)
            self.deliver(a);
    });
}

void memory_store::deliver(const answer& a)
{
    heard_ = lease_clock::now();
    if (a.number == 0)
        return observer_->on_node_event(a.event, own(a.path));
    const auto w = std::move(waiting_.front());
    waiting_.pop_front();
    call_back(w, a);
}

void memory_store::call_back(const waiting& w, const answer& a)
{
    const auto fill = [&](auto reply) {
        reply.result = a.result;
        reply.sent = w.sent;
        reply.undone = w.unsent;
        return reply;
    };
    const auto with_stat = [&](auto reply) {
        reply = fill(std::move(reply));
        reply.stat = a.stat;
        return reply;
    };
    std::visit(
        [&](const auto& call) {
            using type = std::decay_t<decltype(call)>;
            if constexpr (std::is_same_v<type, reply_done>) {
                call(fill(store::reply()));
            } else if constexpr (std::is_same_v<type, create_done>) {
                auto reply = with_stat(store::create_reply());
                reply.path = own(a.path);
                call(reply);
            } else if constexpr (std::is_same_v<type, stat_done>) {
                call(with_stat(store::stat_reply()));
            } else if constexpr (std::is_same_v<type, get_done>) {
                auto reply = with_stat(store::get_reply());
                reply.data = a.data;
                call(reply);
            } else if constexpr (std::is_same_v<type, children_done>) {
                auto reply = with_stat(store::children_reply());
                if (a.result == outcome::ok)
                    reply.names = &a.names;
                call(reply);
            } else if constexpr (std::is_same_v<type, access_done>) {
                auto reply = with_stat(store::access_reply());
                if (a.result == outcome::ok)
                    reply.access = a.access.get();
                call(reply);
            } else if constexpr (std::is_same_v<type, batch_done>) {
                auto reply = fill(store::batch_reply());
                std::vector<std::string_view> created;
                for (const auto& path : a.names)
                    created.push_back(own(path));
                reply.created = created;
                reply.set = a.set;
                reply.failed = a.failed;
                call(reply);
            }
        },
        w.call);
}

} // namespace zklock::testing
