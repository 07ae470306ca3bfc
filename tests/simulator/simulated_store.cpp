#include "simulated_store.hpp"

#include "mutants/mutants.hpp"
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
    if (world_.log.on())
        world_.log.line(world_.time.now(), name_, what);
}

// ---- requests

void simulated_store::attach(::zklock::store::observer& o)
{
    const plenty_of_memory here;
    if (attached_)
        return world_.violate(name_ + ": attach() twice");
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

shared_access shared(const access_list* access)
{
    return access ? std::make_shared<const access_list>(*access) : nullptr;
}

} // namespace

void simulated_store::create(std::string_view path, std::string_view data, ::zklock::store::node_kind kind,
                             const access_list* access, create_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::create, path);
    r.data = data;
    r.kind = kind;
    r.access = shared(access);
    submit(std::move(r), std::move(call));
}

void simulated_store::remove(std::string_view path, std::int32_t version, reply_done call)
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
    if (on_set)
        on_set(r.data);
    r.version = version;
    submit(std::move(r), std::move(call));
}

void simulated_store::batch(std::span<const ::zklock::store::batch_write> writes, batch_done call)
{
    const plenty_of_memory here;
    static constexpr transaction::kind kinds[] = {transaction::kind::create, transaction::kind::set_data,
                                                  transaction::kind::remove, transaction::kind::check_version};
    auto r = make_request(operation::batch, {});
    for (const auto& w : writes) {
        transaction part;
        part.what = kinds[static_cast<int>(w.what)];
        part.path = w.path;
        part.data = w.data;
        part.node = w.created;
        part.version = w.version;
        part.access = shared(w.access);
        r.parts.push_back(std::move(part));
    }
    submit(std::move(r), std::move(call));
}

void simulated_store::exists(std::string_view path, bool watch, stat_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::exists, path);
    r.watch = watch;
    submit(std::move(r), std::move(call));
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

void simulated_store::get_acl(std::string_view path, access_done call)
{
    const plenty_of_memory here;
    submit(make_request(operation::get_acl, path), std::move(call));
}

void simulated_store::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version,
                              reply_done call)
{
    const plenty_of_memory here;
    auto r = make_request(operation::set_acl, path);
    r.access = shared(&access);
    r.version = acl_version;
    submit(std::move(r), std::move(call));
}

void simulated_store::unwatch(std::string_view path, reply_done call)
{
    const plenty_of_memory here;
    submit(make_request(operation::unwatch, path), std::move(call));
}

void simulated_store::sync(std::string_view path, reply_done call)
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
    if (!all_valid)
        world_.violate(name_ + ": " + name + " has no valid path");
    for (const auto& part : r.parts) {
        if (part.what == transaction::kind::create && part.node == ::zklock::store::node_kind::container)
            world_.violate(name_ + ": a container in a batch");
    }
    return world_.violation.empty();
}

void simulated_store::submit(request r, callback call)
{
    const plenty_of_memory here;
    static constexpr const char* names[] = {"connect", "create", "remove",   "set",          "batch",
                                            "exists",  "get",    "children", "get_acl",      "set_acl",
                                            "unwatch", "sync",   "ping",     "close_session"};
    std::string name = names[static_cast<int>(r.what)];
    if (r.what != operation::batch || world_.log.on()) {
        name += r.path.empty() ? "" : " " + r.path;
        static constexpr const char* parts[] = {" +", " -", " =", " ?"};
        for (const auto& part : r.parts)
            name += parts[static_cast<int>(part.what)] + part.path;
    }
    if (!may_submit(name, r))
        return;
    r.xid = ++xid_;
    sent_ = process_.now();
    waiting w{r.xid, r.what, r.path, sent_, std::move(call), r.watch};
    w.unsent = state_ == state::ending;
    const bool checks = r.what == operation::batch && r.parts.front().what == transaction::kind::check_version;
    only_looks_ = only_looks_ && telling_connected_ &&
                  (r.what == operation::exists || r.what == operation::children || r.what == operation::sync || checks);
    w.first = telling_connected_;
    synced_ = (synced_ && only_looks_) || (w.first && r.what == operation::sync);
    w.synced = synced_;
    for (const auto& part : r.parts)
        w.writes.push_back({part.what, part.path});
    outstanding_.push_back(std::move(w));
    if (state_ == state::ending)
        return; // the answer `unknown` is on its way
    const auto doom = fate_of_next();
    if (world_.log.on()) {
        static constexpr const char* dooms[] = {"", " [cut before the server acts]", " [cut before the reply]",
                                                " [cut while it travels]", " [stalled]"};
        say('#' + std::to_string(requests_) + ' ' + name + (r.watch ? " watched" : "") + dooms[static_cast<int>(doom)]);
    }
    if (world_.set.requests_noted)
        world_.requests.push_back({world_.time.now(), name_ + ": " + name});
    r.doom = doom;
    if (doom == fate::stall) {
        const auto longest = static_cast<std::uint64_t>(3 * world_.set.session_timeout.count() / 2);
        blocked_until = std::max(
            blocked_until,
            world_.time.now() + std::chrono::milliseconds(1 + world_.choose.below(longest, stream::fate, number_)));
    }
    ensemble_.send(connection_, std::move(r));
    if (doom == fate::cut_between)
        cut();
}

fate simulated_store::fate_of_next()
{
    ++requests_;
    if (planned_) {
        const auto at = std::find_if(plan_.begin(), plan_.end(), [&](const auto& f) { return f.request == requests_; });
        return at == plan_.end() ? fate::none : at->what;
    }
    const auto odds = world_.set.one_fault_in;
    if (world_.quiet || odds == 0 || !world_.choose.one_in(odds, stream::fate, number_))
        return fate::none;
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
        if (connection_ != which)
            return;
        if (state_ == state::open) {
            say("loses its connection");
            end_epoch();
        } else if (state_ == state::opening) {
            attempt_failed(bridge::session_answer::hung_up);
        } else if (state_ == state::closing) {
            finish_close();
        }
    });
}

void simulated_store::deliver(const connection_ptr& from, const answer& a)
{
    if (connection_ != from || !from->client_open)
        return;
    const bool serves = history_.asks() == bridge::session_question::service;
    const bool is_over = a.session == 0 || !mutants::on(mutants::id::restored_session_goes_on);
    if (state_ == state::opening && !serves && is_over)
        return question_answered(a);
    if (silent({}))
        overdue_until_ = process_.now();
    heard_ = process_.now();
    last_zxid_ = std::max(last_zxid_, a.zxid);
    if (state_ == state::opening)
        return deliver_connect(a);
    if (state_ == state::closing) {
        if (a.xid == xid_)
            finish_close();
        return;
    }
    if (state_ != state::open)
        return;
    for (const auto& path : a.ends_withheld)
        if (watched_.contains(path))
            unseen_ends_.insert(path);
    if (a.xid == 0) {
        if (world_.log.on()) {
            static constexpr const char* names[] = {"created", "deleted", "data_changed", "children_changed"};
            say("event " + std::string(names[static_cast<int>(a.event)]) + ' ' + a.path);
        }
        if (a.event == ::zklock::store::event_kind::deleted)
            told_deleted_.emplace(a.path, world_.time.now());
        if (a.event != ::zklock::store::event_kind::children_changed)
            told_changed_[a.path] = world_.time.now();
        return tell([&] { observer_->on_node_event(a.event, a.path); });
    }
    if (outstanding_.empty() || outstanding_.front().xid != a.xid) {
        if (world_.set.eager_access_check && (a.result == outcome::no_auth || a.result == outcome::invalid_acl)) {
            say("hangs up: a refusal has come out of order");
            return end_epoch();
        }
        return world_.violate("simulator: a reply out of order");
    }
    auto w = std::move(outstanding_.front());
    outstanding_.pop_front();
    note_deleted(w, a);
    note_watch(w, a);
    if (w.what == operation::get)
        told_changed_.erase(w.path);
    telling_connected_ = w.first && only_looks_;
    call_back(w, a);
    telling_connected_ = false;
}

void simulated_store::note_deleted(const waiting& w, const answer& a)
{
    if (a.result != outcome::no_node)
        return;
    if ((w.what == operation::get && w.watch) || w.what == operation::remove)
        told_deleted_.emplace(w.path, world_.time.now());
    else if (w.what == operation::batch && a.failed < w.writes.size() &&
             w.writes[a.failed].what == transaction::kind::remove)
        told_deleted_.emplace(w.writes[a.failed].path, world_.time.now());
}

bool simulated_store::was_listed(const std::string& path, instant since) const
{
    const auto found = listed_.find(path);
    return found != listed_.end() && since <= found->second &&
           world_.time.now() <= found->second + instant(world_.set.promptly());
}

void simulated_store::note_watch(const waiting& w, const answer& a)
{
    const bool watches = w.watch && (w.what == operation::get || w.what == operation::children);
    if (watches && w.what == operation::get && a.result == outcome::ok) {
        watched_.insert(w.path);
        unseen_ends_.erase(w.path);
    }
    if (a.result != outcome::no_auth)
        return;
    using kind = transaction::kind;
    const auto part = w.what == operation::batch && a.failed < w.writes.size() ? &w.writes[a.failed] : nullptr;
    const bool of_the_parent = w.what == operation::create || w.what == operation::remove ||
                               (part && (part->what == kind::create || part->what == kind::remove));
    if (!watches && !of_the_parent)
        return;
    std::string refused = part ? part->path : w.path;
    if (of_the_parent)
        refused.resize(refused.rfind('/'));
    watched_.erase(refused);
    unseen_ends_.erase(refused);
}

void simulated_store::note_doubt(const waiting& w, const answer& a)
{
    const bool creates = w.what == operation::create;
    if (creates && a.result == outcome::ok) { // what was sent before has not made this one
        in_doubt_.erase(w.path);
        looked_in_vain_.erase(w.path);
    }
    if (a.result != outcome::unknown || w.unsent)
        return;
    if (creates) {
        in_doubt_[w.path] = 0;
        looked_in_vain_.erase(w.path);
    } else if (w.what == operation::set)
        in_doubt_.try_emplace(w.path, 0);
}

/// An answer to exists(), asked for as soon as the connection was there.
void simulated_store::look_at_doubt(const waiting& w, const answer& a)
{
    const auto doubt = in_doubt_.find(w.path);
    if (w.what != operation::exists || doubt == in_doubt_.end() || doubt->second != 0)
        return;
    if (a.result == outcome::ok)
        doubt->second = a.stat.czxid;
    if (a.result == outcome::no_node)
        in_doubt_.erase(doubt);
    const bool in_vain = a.result == outcome::no_node && ensemble_.answers_from_the_past();
    if (in_vain || a.result == outcome::no_auth)
        looked_in_vain_.insert(w.path);
}

void simulated_store::call_back(waiting& w, const answer& a)
{
    const auto fill = [&](auto&& reply) -> decltype(auto) {
        reply.result = a.result;
        reply.sent = w.sent;
        reply.undone = w.unsent;
        return std::forward<decltype(reply)>(reply);
    };
    if (world_.log.on() && w.what != operation::ping) {
        say("reply to " + w.path + ": " +
            (a.result == outcome::unknown ? "unknown" : std::to_string(static_cast<int>(a.result))) +
            (a.path.empty() ? "" : " " + a.path));
    }
    const bool ok = a.result == outcome::ok;
    if (is_slow(w) || a.result == outcome::unknown || (!ok && w.what == operation::sync))
        hindered_ = world_.time.now();
    note_doubt(w, a);
    if (auto* f = std::get_if<create_done>(&w.call)) {
        ::zklock::store::create_reply r;
        if (ok) {
            r.path = a.path;
            r.stat = a.stat;
        }
        if (*f)
            tell([&] { (*f)(fill(r)); });
    } else if (auto* s = std::get_if<stat_done>(&w.call)) {
        ::zklock::store::stat_reply r;
        if (ok)
            r.stat = a.stat;
        const bool shown = ok || a.result == outcome::no_auth;
        const bool compares = w.first && !w.synced; // what the session wrote, before the epoch begins
        if (w.first && w.synced)
            look_at_doubt(w, a);
        else if (!compares && shown && w.what == operation::exists && on_look)
            on_look(w.path, ok ? &a.stat : nullptr);
        if (*s)
            tell([&] { (*s)(fill(r)); });
    } else if (auto* b = std::get_if<batch_done>(&w.call)) {
        ::zklock::store::batch_reply r;
        const std::vector<std::string_view> created(a.names.begin(), a.names.end());
        if (ok) {
            r.created = created;
            r.set = a.set;
        }
        r.failed = a.failed;
        if (*b)
            tell([&] { (*b)(fill(r)); });
    } else if (auto* g = std::get_if<get_done>(&w.call)) {
        ::zklock::store::get_reply r;
        if (ok) {
            r.data = a.data;
            r.stat = a.stat;
        }
        if (*g)
            tell([&] { (*g)(fill(r)); });
    } else if (auto* l = std::get_if<children_done>(&w.call)) {
        ::zklock::store::children_reply r;
        if (ok) {
            r.names = &a.names;
            r.stat = a.stat;
            for (const auto& name : a.names)
                listed_[w.path + '/' + name] = world_.time.now();
        }
        if (*l)
            tell([&] { (*l)(fill(r)); });
    } else if (auto* access = std::get_if<access_done>(&w.call)) {
        ::zklock::store::access_reply r;
        if (ok) {
            r.access = a.access.get();
            r.stat = a.stat;
        }
        if (*access)
            tell([&] { (*access)(fill(r)); });
    } else if (auto* d = std::get_if<reply_done>(&w.call); *d) {
        ::zklock::store::reply r;
        tell([&] { (*d)(fill(r)); });
    }
}

} // namespace zklock::simulator
