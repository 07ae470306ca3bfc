#include "simulated_store.hpp"

#include "mutants/mutants.hpp"

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

const char* name_of(const testing::request& r)
{
    static constexpr const char* writes[] = {"create", "remove", "set", "check", "batch", "set_permissions", "set_acl"};
    static constexpr const char* others[] = {"write", "exists", "get", "children", "get_acl", "unwatch", "sync"};
    return r.what == operation::write ? writes[static_cast<int>(r.write.what)] : others[static_cast<int>(r.what)];
}

} // namespace

bool simulated_store::may_submit(const std::string& name, const testing::request& r)
{
    if (state_ != state::open && state_ != state::ending) {
        world_.violate(name_ + ": " + name + " outside an epoch");
        return false;
    }
    const auto valid = [](const std::string& path) {
        return !path.empty() && path.front() == '/' && (path.size() == 1 || path.back() != '/');
    };
    const auto& parts = r.write.parts;
    const bool all_valid = r.writes(transaction::kind::batch)
                               ? !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                                               [&](const auto& part) { return valid(part.path); })
                               : valid(r.node());
    if (!all_valid)
        world_.violate(name_ + ": " + name + " has no valid path");
    for (const auto& part : parts) {
        if (part.what == transaction::kind::create && part.node == ::zklock::store::node_kind::container)
            world_.violate(name_ + ": a container in a batch");
    }
    return world_.violation.empty();
}

void simulated_store::submit(testing::request r, callback call)
{
    using kind = transaction::kind;
    if (r.writes(kind::set_data) && on_set)
        on_set(r.write.data);
    std::string name = name_of(r);
    if (!r.writes(kind::batch) || world_.log.on()) {
        name += r.node().empty() ? "" : " " + r.node();
        static constexpr const char* parts[] = {" +", " -", " =", " ?"};
        for (const auto& part : r.write.parts)
            name += parts[static_cast<int>(part.what)] + part.path;
    }
    if (!may_submit(name, r))
        return;
    r.number = ++last_request_;
    sent_ = process_.now();
    waiting w{r, sent_, std::move(call)};
    w.unsent = state_ == state::ending;
    const bool checks = r.writes(kind::batch) && r.write.parts.front().what == kind::check_version;
    only_looks_ = only_looks_ && telling_connected_ &&
                  (r.what == operation::exists || r.what == operation::children || r.what == operation::sync || checks);
    w.first = telling_connected_;
    synced_ = (synced_ && only_looks_) || (w.first && r.what == operation::sync);
    w.synced = synced_;
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
    if (doom == fate::stall) {
        const auto longest = static_cast<std::uint64_t>(3 * world_.set.session_timeout.count() / 2);
        blocked_until = std::max(
            blocked_until,
            world_.time.now() + std::chrono::milliseconds(1 + world_.choose.below(longest, stream::fate, number_)));
    }
    ensemble_.send(connection_, {std::move(r), doom});
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
        if (a.number == last_request_)
            finish_close();
        return;
    }
    if (state_ != state::open)
        return;
    for (const auto& path : a.ends_withheld)
        if (watched_.contains(path))
            unseen_ends_.insert(path);
    if (a.number == 0) {
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
    if (outstanding_.empty() || outstanding_.front().asked.number != a.number) {
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
    if (w.asked.what == operation::get)
        told_changed_.erase(w.asked.path);
    telling_connected_ = w.first && only_looks_;
    call_back(w, a);
    telling_connected_ = false;
}

void simulated_store::note_deleted(const waiting& w, const answer& a)
{
    using kind = transaction::kind;
    const auto& asked = w.asked;
    const auto& parts = asked.write.parts;
    if (a.result != outcome::no_node)
        return;
    if ((asked.what == operation::get && asked.watch) || asked.writes(kind::remove))
        told_deleted_.emplace(asked.node(), world_.time.now());
    else if (a.failed < parts.size() && parts[a.failed].what == kind::remove)
        told_deleted_.emplace(parts[a.failed].path, world_.time.now());
}

bool simulated_store::was_listed(const std::string& path, instant since) const
{
    const auto found = listed_.find(path);
    return found != listed_.end() && since <= found->second &&
           world_.time.now() <= found->second + instant(world_.set.promptly());
}

void simulated_store::note_watch(const waiting& w, const answer& a)
{
    const auto& asked = w.asked;
    const bool watches = asked.watch && (asked.what == operation::get || asked.what == operation::children);
    if (watches && asked.what == operation::get && a.result == outcome::ok) {
        watched_.insert(asked.path);
        unseen_ends_.erase(asked.path);
    }
    if (a.result != outcome::no_auth)
        return;
    using kind = transaction::kind;
    const auto& parts = asked.write.parts;
    const auto& write = a.failed < parts.size() ? parts[a.failed] : asked.write;
    const bool of_the_parent =
        asked.what == operation::write && (write.what == kind::create || write.what == kind::remove);
    if (!watches && !of_the_parent)
        return;
    std::string refused = of_the_parent ? write.path : asked.path;
    if (of_the_parent)
        refused.resize(refused.rfind('/'));
    watched_.erase(refused);
    unseen_ends_.erase(refused);
}

void simulated_store::note_doubt(const waiting& w, const answer& a)
{
    const auto& path = w.asked.node();
    const bool creates = w.asked.writes(transaction::kind::create);
    if (creates && a.result == outcome::ok) { // what was sent before has not made this one
        in_doubt_.erase(path);
        looked_in_vain_.erase(path);
    }
    if (a.result != outcome::unknown || w.unsent)
        return;
    if (creates) {
        in_doubt_[path] = 0;
        looked_in_vain_.erase(path);
    } else if (w.asked.writes(transaction::kind::set_data))
        in_doubt_.try_emplace(path, 0);
}

/// An answer to exists(), asked for as soon as the connection was there.
void simulated_store::look_at_doubt(const waiting& w, const answer& a)
{
    const auto doubt = in_doubt_.find(w.asked.path);
    if (doubt == in_doubt_.end() || doubt->second != 0)
        return;
    if (a.result == outcome::ok)
        doubt->second = a.stat.czxid;
    if (a.result == outcome::no_node)
        in_doubt_.erase(doubt);
    const bool in_vain = a.result == outcome::no_node && ensemble_.answers_from_the_past();
    if (in_vain || a.result == outcome::no_auth)
        looked_in_vain_.insert(w.asked.path);
}

void simulated_store::call_back(const waiting& w, const answer& a)
{
    const auto& asked = w.asked;
    if (world_.log.on() && asked.what != operation::ping) {
        say("reply to " + asked.node() + ": " +
            (a.result == outcome::unknown ? "unknown" : std::to_string(static_cast<int>(a.result))) +
            (a.path.empty() ? "" : " " + a.path));
    }
    const bool ok = a.result == outcome::ok;
    if (is_slow(w) || a.result == outcome::unknown || (!ok && asked.what == operation::sync))
        hindered_ = world_.time.now();
    note_doubt(w, a);
    if (asked.what == operation::exists) {
        const bool shown = ok || a.result == outcome::no_auth;
        if (w.first && w.synced)
            look_at_doubt(w, a);
        else if (!w.first && shown && on_look) // the first compare what the session wrote
            on_look(asked.path, ok ? &a.stat : nullptr);
    }
    if (asked.what == operation::children)
        for (const auto& name : a.names)
            listed_[asked.path + '/' + name] = world_.time.now();
    testing::call_back(w.call, {a.result, w.sent, w.unsent}, a, [this](auto f) { tell(f); });
}

} // namespace zklock::simulator
