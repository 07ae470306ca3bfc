#include "simulated_store.hpp"

#include "scarce_memory.hpp"

#include <algorithm>

namespace zklock::simulator {

using ::zklock::store::outcome;
using stream = choices::stream;
using namespace std::chrono_literals;

simulated_store::simulated_store(world& w, ensemble& e, process& p, unsigned number)
    : world_(w), ensemble_(e), process_(p), number_(number), name_("client" + std::to_string(number))
{
}

std::optional<instant> simulated_store::told_deleted(const std::string& path) const
{
    const auto at = told_deleted_.find(path);
    return at == told_deleted_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<instant> simulated_store::told_changed(const std::string& path) const
{
    const auto at = told_changed_.find(path);
    return at == told_changed_.end() ? std::nullopt : std::optional(at->second);
}

void simulated_store::say(const std::string& what)
{
    if (world_.log.on()) world_.log.line(world_.time.now(), name_, what);
}

// ---- requests

void simulated_store::attach(::zklock::store::observer& o)
{
    const plenty_of_memory here;
    if (attached_) return world_.violate(name_ + ": attach() twice");
    attached_ = true;
    observer_ = &o;
    process_.post([this] { attempt(); });
}

namespace {

request make_request(operation what, std::string_view path)
{
    request r;
    r.what = what;
    r.path = path;
    return r;
}

} // namespace

void simulated_store::create(std::string_view path, std::string_view data, ::zklock::store::node_kind kind,
                             create_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::create, path);
    r.data = data;
    r.kind = kind;
    submit(std::move(r), std::move(call));
}

void simulated_store::remove(std::string_view path, std::int32_t version, done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::remove, path);
    r.version = version;
    submit(std::move(r), std::move(call));
}

void simulated_store::set(std::string_view path, std::string_view data, std::int32_t version, stat_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::set, path);
    r.data = data;
    r.version = version;
    submit(std::move(r), std::move(call));
}

void simulated_store::batch(std::span<const ::zklock::store::batch_write> writes, batch_done call)
{
    const plenty_of_memory here;
    static constexpr transaction::kind kinds[] = {transaction::kind::create, transaction::kind::remove,
                                                  transaction::kind::set_data, transaction::kind::check_version};
    auto r = make_request(operation::batch, {});
    for (const auto& w : writes) {
        transaction part;
        part.what = kinds[static_cast<int>(w.what)];
        part.path = w.path;
        part.data = w.data;
        part.node = w.created;
        part.version = w.version;
        r.parts.push_back(std::move(part));
    }
    submit(std::move(r), std::move(call));
}

void simulated_store::exists(std::string_view path, stat_done call)
{
    const plenty_of_memory here;
    submit(make_request(operation::exists, path), std::move(call));
}

void simulated_store::get(std::string_view path, bool watch, get_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::get, path);
    r.watch = watch;
    submit(std::move(r), std::move(call));
}

void simulated_store::children(std::string_view path, bool watch, children_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::children, path);
    r.watch = watch;
    submit(std::move(r), std::move(call));
}

void simulated_store::unwatch(std::string_view path, done call)
{
    const plenty_of_memory here;
    submit(make_request(operation::unwatch, path), std::move(call));
}

void simulated_store::sync(std::string_view path, done call)
{
    const plenty_of_memory here;
    submit(make_request(operation::sync, path), std::move(call));
}

bool simulated_store::may_submit(const std::string& name, const request& r)
{
    if (state_ != state::open && state_ != state::ending) {
        world_.violate(name_ + ": " + name + " outside an epoch");
        return false;
    }
    const auto valid = [](const std::string& path) {
        return !path.empty() && path.front() == '/' && (path.size() == 1 || path.back() != '/');
    };
    const bool all_valid = r.what == operation::batch
                               ? !r.parts.empty() && std::all_of(r.parts.begin(), r.parts.end(),
                                                                 [&](const auto& part) { return valid(part.path); })
                               : valid(r.path);
    if (!all_valid) world_.violate(name_ + ": " + name + " has no valid path");
    for (const auto& part : r.parts) {
        if (part.what == transaction::kind::create && part.node == ::zklock::store::node_kind::container)
            world_.violate(name_ + ": a container in a batch");
    }
    return world_.violation.empty();
}

void simulated_store::submit(request r, callback call)
{
    const plenty_of_memory here;
    static constexpr const char* names[] = {"connect",  "create",  "remove", "set",  "batch", "exists", "get",
                                            "children", "unwatch", "sync",   "ping", "close_session"};
    std::string name = names[static_cast<int>(r.what)];
    if (r.what != operation::batch || world_.log.on()) {
        name += r.path.empty() ? "" : " " + r.path;
        static constexpr const char* parts[] = {" +", " -", " =", " ?"};
        for (const auto& part : r.parts) name += parts[static_cast<int>(part.what)] + part.path;
    }
    if (!may_submit(name, r)) return;
    r.xid = ++xid_;
    sent_ = process_.now();
    waiting w{r.xid, r.what, r.path, sent_, std::move(call), r.watch};
    w.stranded = state_ == state::ending;
    for (const auto& part : r.parts)
        w.paths.push_back(part.what == transaction::kind::remove ? part.path : std::string());
    outstanding_.push_back(std::move(w));
    if (state_ == state::ending) return; // the answer `unknown` is on its way
    const auto doom = fate_of_next();
    if (world_.log.on()) {
        static constexpr const char* dooms[] = {"", " [cut before the server acts]", " [cut before the reply]",
                                                " [cut while it travels]", " [stalled]"};
        say('#' + std::to_string(requests_) + ' ' + name + (r.watch ? " watched" : "") + dooms[static_cast<int>(doom)]);
    }
    r.doom = doom;
    if (doom == fate::stall) {
        const auto longest = static_cast<std::uint64_t>(3 * world_.set.session_timeout.count() / 2);
        blocked_until = std::max(
            blocked_until,
            world_.time.now() + std::chrono::milliseconds(1 + world_.choose.below(longest, stream::fate, number_)));
    }
    ensemble_.send(connection_, std::move(r));
    if (doom == fate::cut_between) cut();
}

fate simulated_store::fate_of_next()
{
    ++requests_;
    if (planned_) {
        const auto at = std::find_if(plan_.begin(), plan_.end(), [&](const auto& f) { return f.request == requests_; });
        return at == plan_.end() ? fate::none : at->what;
    }
    const auto odds = world_.set.one_fault_in;
    if (world_.quiet || odds == 0 || !world_.choose.one_in(odds, stream::fate, number_)) return fate::none;
    const auto what = static_cast<fate>(1 + world_.choose.below(4, stream::fate, number_));
    world_.fired.push_back({number_, requests_, what});
    return what;
}

void simulated_store::plan(std::vector<placed_fault> faults)
{
    planned_ = true;
    plan_ = std::move(faults);
}

// ---- what comes

void simulated_store::received(const connection_ptr& from, answer a)
{
    process_.post([this, from, a = std::move(a)] { deliver(from, a); });
}

void simulated_store::closed(const connection_ptr& which)
{
    process_.post([this, which] {
        if (connection_ != which) return;
        if (state_ == state::open) {
            say("loses its connection");
            end_epoch();
        } else if (state_ == state::opening) {
            attempt_later();
        } else if (state_ == state::closing) {
            finish_close();
        }
    });
}

void simulated_store::deliver(const connection_ptr& from, const answer& a)
{
    if (connection_ != from || !from->client_open) return;
    heard_ = process_.now();
    last_zxid_ = std::max(last_zxid_, a.zxid);
    if (state_ == state::opening) return deliver_connect(a);
    if (state_ == state::closing) {
        if (a.xid == xid_) finish_close();
        return;
    }
    if (state_ != state::open) return;
    if (a.xid == 0) {
        if (world_.log.on()) {
            static constexpr const char* names[] = {"created", "deleted", "data_changed", "children_changed"};
            say("event " + std::string(names[static_cast<int>(a.event)]) + ' ' + a.path);
        }
        if (a.event == ::zklock::store::event_kind::deleted) told_deleted_.emplace(a.path, world_.time.now());
        if (a.event != ::zklock::store::event_kind::children_changed) told_changed_[a.path] = world_.time.now();
        return tell([&] { observer_->on_node_event(a.event, a.path); });
    }
    if (outstanding_.empty() || outstanding_.front().xid != a.xid) {
        return world_.violate("simulator: a reply out of order");
    }
    auto w = std::move(outstanding_.front());
    outstanding_.pop_front();
    note_deleted(w, a);
    if (w.what == operation::get) told_changed_.erase(w.path);
    call_back(w, a);
}

void simulated_store::note_deleted(const waiting& w, const answer& a)
{
    if (a.result != outcome::no_node) return;
    if ((w.what == operation::get && w.watch) || w.what == operation::remove)
        told_deleted_.emplace(w.path, world_.time.now());
    else if (w.what == operation::batch && a.failed < w.paths.size() && !w.paths[a.failed].empty())
        told_deleted_.emplace(w.paths[a.failed], world_.time.now());
}

/// Calls a function of the library's, whose memory may fail.
template <class F> void simulated_store::tell(F f)
{
    try {
        const scarce_memory now(world_, number_);
        f();
    } catch (const std::bad_alloc&) {
        observer_->on_exception();
    }
}

void simulated_store::call_back(waiting& w, const answer& a)
{
    const auto fill = [&](auto&& reply) -> decltype(auto) {
        reply.result = a.result;
        reply.sent = w.sent;
        reply.undone = w.stranded;
        return std::forward<decltype(reply)>(reply);
    };
    if (world_.log.on() && w.what != operation::ping) {
        say("reply to " + w.path + ": " +
            (a.result == outcome::unknown ? "unknown" : std::to_string(static_cast<int>(a.result))) +
            (a.path.empty() ? "" : " " + a.path));
    }
    const bool ok = a.result == outcome::ok;
    const bool writes = w.what == operation::create || w.what == operation::set;
    if (writes && a.result == outcome::unknown && !w.stranded) in_doubt_.insert(w.path);
    if (auto* f = std::get_if<create_done>(&w.call)) {
        ::zklock::store::create_reply r;
        if (ok) {
            r.path = a.path;
            r.stat = a.stat;
        }
        if (*f) tell([&] { (*f)(fill(r)); });
    } else if (auto* s = std::get_if<stat_done>(&w.call)) {
        ::zklock::store::stat_reply r;
        if (ok) r.stat = a.stat;
        if (ok && w.what == operation::exists && on_look) on_look(w.path, a.stat);
        if (*s) tell([&] { (*s)(fill(r)); });
    } else if (auto* b = std::get_if<batch_done>(&w.call)) {
        ::zklock::store::batch_reply r;
        const std::vector<std::string_view> created(a.names.begin(), a.names.end());
        if (ok) {
            r.created = created;
            r.set = a.set;
        }
        r.failed = a.failed;
        if (*b) tell([&] { (*b)(fill(r)); });
    } else if (auto* g = std::get_if<get_done>(&w.call)) {
        ::zklock::store::get_reply r;
        if (ok) {
            r.data = a.data;
            r.stat = a.stat;
        }
        if (*g) tell([&] { (*g)(fill(r)); });
    } else if (auto* l = std::get_if<children_done>(&w.call)) {
        ::zklock::store::children_reply r;
        if (ok) {
            r.names = &a.names;
            r.stat = a.stat;
        }
        if (*l) tell([&] { (*l)(fill(r)); });
    } else if (auto* d = std::get_if<done>(&w.call); *d) {
        ::zklock::store::reply r;
        tell([&] { (*d)(fill(r)); });
    }
}

// ---- connections

void simulated_store::attempt()
{
    if (state_ == state::closed || state_ == state::closing) return;
    state_ = state::opening;
    asked_ = process_.now();
    const auto server = static_cast<unsigned>(world_.choose.below(ensemble_.size(), stream::connect, number_));
    connection_ = ensemble_.connect(*this, number_, server, session_, last_zxid_);
    say("connects to server" + std::to_string(server));
    const auto patience = process_.now() + world_.set.session_timeout / 3;
    (void)process_.call_at(patience, [this, which = connection_] {
        if (connection_ == which && state_ == state::opening) attempt_later();
    });
}

void simulated_store::attempt_later()
{
    ensemble_.close(connection_);
    connection_.reset();
    const auto longest = world_.quiet ? 20 : 20 + 100 * std::min<std::uint64_t>(attempts_++, 5);
    const auto wait = std::chrono::milliseconds(1 + world_.choose.below(longest, stream::connect, number_));
    (void)process_.call_at(process_.now() + wait, [this] {
        if (!connection_) attempt();
    });
}

void simulated_store::deliver_connect(const answer& a)
{
    if (a.session == 0) {
        say("learns that its session is over");
        session_ = last_zxid_ = 0;
        attempt_later();
        tell([&] { observer_->on_expired(); });
        return;
    }
    attempts_ = 0;
    session_ = a.session;
    session_timeout_ = a.session_timeout;
    state_ = state::open;
    sent_ = process_.now();
    say("is connected, session " + std::to_string(session_ & 0xff));
    const bool renewed = session_ != told_session_;
    told_session_ = session_;
    keep_alive();
    tell([&] { observer_->on_connected({session_, session_timeout_, renewed, asked_}); });
}

void simulated_store::keep_alive()
{
    const auto timeout = session_timeout_;
    (void)process_.call_at(process_.now() + timeout / 6, [this, timeout, which = connection_] {
        if (connection_ != which || state_ != state::open) return;
        if (process_.now() - heard_ >= 2 * timeout / 3) {
            say("has heard nothing for too long");
            return end_epoch();
        }
        if (process_.now() - sent_ >= timeout / 3 && outstanding_.empty()) {
            request r;
            r.xid = ++xid_;
            sent_ = process_.now();
            outstanding_.push_back({r.xid, operation::ping, {}, sent_, done{}});
            ensemble_.send(connection_, std::move(r));
        }
        keep_alive();
    });
}

void simulated_store::end_epoch()
{
    ensemble_.close(connection_);
    state_ = state::ending;
    process_.post([this] { end_epoch_step(); });
}

/// One answer at a time: other things may happen between them.
void simulated_store::end_epoch_step()
{
    if (state_ != state::ending) return;
    if (!outstanding_.empty()) {
        process_.post([this] { end_epoch_step(); });
        auto w = std::move(outstanding_.front());
        outstanding_.pop_front();
        answer a;
        a.result = outcome::unknown;
        return call_back(w, a);
    }
    state_ = state::opening;
    connection_.reset();
    (void)process_.call_at(
        process_.now() + std::chrono::milliseconds(world_.choose.below(20, stream::connect, number_)), [this] {
            if (!connection_) attempt();
        });
    tell([&] { observer_->on_disconnected(); });
}

void simulated_store::cut()
{
    const plenty_of_memory here;
    if (state_ != state::open) return;
    say("has its connection cut");
    ensemble_.close(connection_);
    process_.post([this, which = connection_] {
        if (connection_ == which && state_ == state::open) end_epoch();
    });
}

void simulated_store::block(instant duration)
{
    say("is cut off for " + std::to_string(duration / 1ms) + " ms");
    blocked_until = std::max(blocked_until, world_.time.now() + duration);
}

// ---- the end

void simulated_store::close(std::function<void()> closed)
{
    const plenty_of_memory here;
    if (on_closed_) return world_.violate(name_ + ": close() twice");
    say("closes");
    on_closed_ = std::move(closed);
    const bool was_open = state_ == state::open || state_ == state::ending;
    const bool can_say = state_ == state::open && connection_->client_open;
    state_ = state::closing;
    process_.post([this, was_open, can_say] {
        while (!outstanding_.empty()) {
            auto w = std::move(outstanding_.front());
            outstanding_.pop_front();
            answer a;
            a.result = outcome::unknown;
            call_back(w, a);
        }
        if (was_open && world_.set.disconnect_told_at_close) tell([&] { observer_->on_disconnected(); });
        if (!can_say) return finish_close();
        request r;
        r.what = operation::close_session;
        r.xid = ++xid_;
        ensemble_.send(connection_, std::move(r));
        (void)process_.call_at(process_.now() + 1500ms, [this] { finish_close(); });
    });
}

void simulated_store::finish_close()
{
    if (state_ != state::closing) return;
    state_ = state::closed;
    if (connection_) ensemble_.close(connection_);
    say("is closed");
    process_.post([this] { std::exchange(on_closed_, [] {})(); });
}

void simulated_store::abandon()
{
    state_ = state::closed;
    if (connection_) ensemble_.close(connection_);
}

} // namespace zklock::simulator
