#include "users.hpp"

#include "queue/node_path.hpp"

#include <boost/asio/error.hpp>

namespace zklock::simulator {

using phase = use::phase;
using namespace std::chrono_literals;

acquisition_users::acquisition_users(stage& s)
    : promptly(s.the_plan.set.promptly()), stage_(s), calm_(is_calm(s.the_plan)), registers_(s)
{
    const auto& set = s.the_plan.set;
    const auto& placed = s.the_plan.faults;
    expects_faults_ = set.one_fault_in != 0 || set.scarce_memory != 0 || (placed && !placed->empty()) ||
                      10 * (2 * set.slowest_message() + set.follower_lag) > set.shortest_session();
    for (const auto& t : s.the_plan.steps) {
        refusals_ |= t.what == act::refuse;
        expects_faults_ |= t.what != act::acquire && t.what != act::list && t.what < act::remove_idle_containers;
    }
}

std::string acquisition_users::label(const use& u) const
{
    std::string text = u.tag + " on";
    for (const auto path : u.paths)
        text += ' ' + path_of(path);
    return text;
}

void acquisition_users::say(const use& u, const std::string& what)
{
    if (stage_.world.log.on())
        stage_.world.log.line(now(), "user", u.tag + ' ' + what);
}

bool acquisition_users::excused(const use& u) const
{
    return was_harmed(u.store->session_id(), u.given);
}

bool acquisition_users::was_harmed(std::int64_t session, const std::vector<held_lock>& given) const
{
    if (!killed_.empty() && contains(killed_, session))
        return true;
    return std::any_of(given.begin(), given.end(), [&](const held_lock& l) {
        return contains(deleted_, l.node) || contains(granted_unaware_, l.node);
    });
}

void acquisition_users::set_back()
{
    last_.clear(); // tokens begin again
    registers_.set_back();
    const auto is_there = [&](const auto& node) { return stage_.ensemble.leaders_tree().find(node) != nullptr; };
    for (use& u : uses_)
        for (const held_lock& l : u.given)
            is_there(l.node) ? u.back.node_is_back(contains(deleted_, l.node)) : deleted_.push_back(l.node);
    std::erase_if(deleted_, is_there);
}

bool acquisition_users::is_out_of_turn(const std::string& node) const
{
    return contains(out_of_turn_, node);
}

use* acquisition_users::maker_of(const std::string& node)
{
    const auto* const found = stage_.ensemble.leaders_tree().find(node);
    const auto at = found ? by_tag_.find(found->data.substr(0, found->data.find('\n'))) : by_tag_.end();
    return at == by_tag_.end() ? nullptr : at->second;
}

std::vector<std::string> acquisition_users::nodes_of(const use& u) const
{
    std::vector<std::string> nodes;
    for (const held_lock& l : u.given)
        nodes.push_back(l.node);
    return nodes;
}

bool acquisition_users::is_deleted(const use& u) const
{
    return std::any_of(u.given.begin(), u.given.end(), [&](const auto& l) { return contains(deleted_, l.node); });
}

bool acquisition_users::was_unaware(const use& u) const
{
    const auto unaware = [&](const held_lock& l) { return contains(granted_unaware_, l.node); };
    return std::any_of(u.given.begin(), u.given.end(), unaware);
}

mutex_options acquisition_users::options_of(const use& u, queue::contender_kind kind) const
{
    mutex_options options;
    options.identifier = u.tag;
    const agreed_options& agreed = stage_.the_plan.agreed(u.wish);
    options.names = agreed.names;
    options.parents = stage_.the_plan.set.parents_are_containers ? parent_kind::container : parent_kind::persistent;
    options.access = access_of_locks(stage_.the_plan);
    options.listener = u.heard;
    options.max_attempts = most_attempts(u);
    if (kind == queue::contender_kind::mutex) { // a shared mutex does not have these
        options.linger = agreed.linger;
        options.cohort = agreed.cohort;
        options.mark = stage_.the_plan.set.mark;
        options.also_heeds = stage_.the_plan.set.also_heeds;
    }
    return options;
}

// ---- what users do

void acquisition_users::perform(client& c, const step& s)
{
    if (s.what == act::acquire)
        begin(c, s);
}

void acquisition_users::begin(client& c, const step& s)
{
    ++begun_;
    auto& u = uses_.emplace_back();
    u.tag = "c" + std::to_string(s.who) + '.' + std::to_string(uses_.size());
    u.client = s.who;
    u.paths = {s.path};
    u.wish = s;
    u.where = &c.where;
    u.store = &c.store;
    choose(u);
    by_tag_.emplace(u.tag, &u);
    acquire(c, u);
    if (s.withdraw_after) {
        (void)c.where.call_at(c.where.now() + *s.withdraw_after, [this, &c, &u] { give_up(c, u); });
    }
}

void acquisition_users::give_up(client& c, use& u)
{
    if (u.now != phase::waiting)
        return;
    bool answer = false;
    if (!stage_.try_call(c, [&](recipes::session&) { answer = u.handle->withdraw(); }))
        return;
    say(u, answer ? "withdraws" : "is too late to withdraw");
    if (!answer) {
        u.gave_up_late = true;
        return;
    }
    u.now = phase::withdrawn;
    check_heard(u, lock_event::kind::failed, boost::asio::error::operation_aborted);
}

void acquisition_users::acquire(client& c, use& u)
{
    u.began = now();
    u.now = phase::waiting;
    u.lost = false;
    u.seen_lost.reset();
    u.given.clear();
    if (has_listeners(stage_.the_plan)) {
        const auto wrong = [this, &u](const std::string& what) { violate(u, what); };
        const auto told = [this, &u](const lock_event& e) {
            say(u, "hears: " + std::string(to_string(e.what)) + ' ' + e.node);
            heard(u, e);
        };
        u.heard = std::make_shared<heard_events>(most_attempts(u), passes_nodes_on(u), wrong, told);
    }
    if (u.wish.deadline && !u.wish.look_once)
        u.deadline = u.where->now() + *u.wish.deadline;
    say(u, label(u) + (u.owner != 0 ? ", owner " + std::to_string(u.owner) : std::string()) + ", wants it" +
               (u.wish.look_once ? ", looking once" : ""));
    note_other_options(u);
    check_begin(u);
    check_look_once(u);
    recipes::acquire_call call;
    call.mode = u.wish.look_once ? recipes::acquire_mode::look_once : recipes::acquire_mode::wait;
    call.deadline = u.deadline;
    call.done = [this, &c, &u](boost::system::error_code ec, const recipes::grant& g) {
        if (!stage_.may_tell(c))
            return;
        if (u.now != phase::waiting)
            return violate(u, "told of an end, though its wait had ended");
        ec ? failed(u, ec, g) : granted(c, u, g);
    };
    if (!stage_.try_call(c, [&](recipes::session&) { u.handle = start(c, u, std::move(call)); }))
        client_died(c); // now, or before in this step
}

/// Those of its client on one path have to agree on some options: one that comes with others is refused while they are
/// in use.
void acquisition_users::note_other_options(use& u)
{
    u.contradicted = false;
    u.must_be_refused = false;
    for (use& o : uses_) {
        const bool known = o.now == phase::waiting || o.now == phase::holding;
        const bool has_more = o.owner != 0 || o.paths.size() > 1; // its owner, or another part, until it is released
        const bool is_there = known || (has_more && o.now == phase::lost);
        if (o.where != u.where || !is_there || !share_a_path(o, u))
            continue;
        if (u.owner != 0 && o.owner == u.owner && o.now == phase::waiting)
            u.contradicted |= o.contradicted; // an owner's acquire joins that one
        if (o.wish.other_options == u.wish.other_options)
            continue;
        u.contradicted = true;
        u.must_be_refused |= o.believes();
        o.contradicted |= o.now == phase::waiting && has_more; // it may come there later
    }
}

void acquisition_users::granted(client& c, use& u, const recipes::grant& g)
{
    u.handle->on_lost([this, &c, &u] {
        if (stage_.may_tell(c))
            lost(u);
    });
    ++grants_;
    u.now = phase::holding;
    u.granted_at = now();
    u.given = g.parts ? *g.parts : std::vector{held_lock{path_of(u.paths.front()), g.node, g.fencing_token}};
    for (const auto& l : u.given) {
        say(u, "is granted " + l.node + ", token " + std::to_string(l.fencing_token));
        if (u.store->unaware_of_end(l.path))
            granted_unaware_.push_back(l.node);
    }
    if (!u.handle->held(u.where->now()))
        return violate(u, "granted, and not held");
    if (on_time(u) && knew_of_delete(u, now() - 1ms))
        violate(u, "granted, though the client knew that its node was deleted");
    if (u.deadline && u.where->now() > *u.deadline + promptly && on_time(u))
        violate(u, "granted after its deadline");
    if (u.given.size() != u.paths.size())
        return violate(u, "granted another number of locks");
    for (const auto path : u.paths) {
        const auto of_path = [&](const held_lock& l) { return l.path == path_of(path); };
        const auto found = std::find_if(u.given.begin(), u.given.end(), of_path);
        if (found == u.given.end())
            return violate(u, "granted without " + path_of(path));
        if (u.believes())
            check_lock(u, *found, path);
    }
    check_heard(u, lock_event::kind::acquired, {});
    check_granted(u);
    use_registers(c, u);
    (void)c.where.call_at(c.where.now() + u.wish.duration, [this, &c, &u] { release(c, u); });
}

void acquisition_users::check_lock(use& u, const held_lock& l, unsigned path)
{
    if (!queue::is_child_of(l.node, l.path))
        return violate(u, "granted " + l.node + " for " + l.path);
    check_node(u, l);
    if (stage_.network.is_let_go(uuid_in(l.node)))
        violate(u, "granted with a node that was let go");
    // Others deleted its node, and it has not been looked at since: that is the stated exception.
    if (excused(u) && stage_.ensemble.leaders_tree().find(l.node) == nullptr)
        return;
    check_before(u, l, path);
    if (!was_unaware(u))
        check_token(u, l, path);
    for (auto& other : uses_) {
        if (&other == &u || !contains(other.paths, path))
            continue;
        check_told(other);
        if (!exclude(u, other, path))
            continue;
        if (other.owner != 0 && other.owner == u.owner && other.client == u.client)
            continue;
        if (other.believes() && !excused(other) && !excused(u)) {
            violate(u, "granted while " + label(other) + " believes that it holds");
        }
    }
}

void acquisition_users::check_node(use& u, const held_lock& l)
{
    const auto& tree = stage_.ensemble.leaders_tree();
    const auto* const node = tree.find(l.node);
    if (node == nullptr) {
        if (!excused(u))
            violate(u, "granted without a node");
        return;
    }
    check_maker(u, l);
    check_owner(u, *node);
    if (l.fencing_token >> 12 != node->czxid)
        violate(u, "its token does not come from its node");
    auto& tokens = tokens_of_[l.node];
    if (!tokens.insert(l.fencing_token).second && u.owner == 0)
        violate(u, "its token was given before");
    if (const auto& agreed = stage_.the_plan.agreed(u.wish); agreed.linger == 0ms && tokens.size() > agreed.cohort)
        violate(u, "its node served more grants than a cohort has");
}

void acquisition_users::check_owner(const use& u, const znode_tree::node& granted)
{
    if (!stage_.ensemble.alive(granted.owner))
        violate(u, "granted to a session that is over");
    if (!has_access_of_locks(granted, stage_.the_plan))
        violate(u, "its node has another access list");
}

/// The node is its own, or was passed on to it by others of its client; an owner's holds have one node.
void acquisition_users::check_maker(use& u, const held_lock& l)
{
    const auto& data = stage_.ensemble.leaders_tree().find(l.node)->data;
    const auto* const maker = maker_of(l.node);
    if (maker == &u || data.starts_with(queue::revocation_request)) // which takes the place of the maker's name
        return;
    const bool of_its_kind = maker && maker->client == u.client && maker->wish.other_options == u.wish.other_options;
    const bool joined = maker && u.owner != 0 && maker->owner == u.owner;
    if (!joined && !(of_its_kind && passes_nodes_on(u)))
        violate(u, "granted with somebody else's node");
}

void acquisition_users::check_token(use& u, const held_lock& l, unsigned path)
{
    auto& last = last_[path];
    const bool same = u.owner != 0 && u.owner == last.owner && l.node == last.node;
    const bool next_turn = l.fencing_token != last.token && passes_nodes_on(u); // of a node passed on
    const bool again = same && !next_turn;
    const bool shares = reads(u, path);
    const auto bound = shares ? last.token : std::max(last.token, last.readers);
    if (again ? l.fencing_token != last.token : l.fencing_token <= bound) {
        violate(u, "the token is " + std::to_string(l.fencing_token) + " after " + std::to_string(bound));
    }
    if (shares)
        last.readers = std::max(last.readers, l.fencing_token);
    else
        last = {l.fencing_token, u.owner, l.node, last.readers};
}

void acquisition_users::check_look_once(use& u)
{
    if (!u.wish.look_once || !calm_)
        return;
    stage_.world.time.after(stage_.the_plan.set.a_while(), [this, &u, began = u.began] {
        if (u.now == phase::waiting && u.began == began)
            violate(u, "looks once, and waits on");
    });
}

void acquisition_users::check()
{
    for (auto& u : uses_) {
        check_told(u);
        check_releasing(u);
    }
}

/// A holder whose lease has ended has been told so, unless it did not run.
void acquisition_users::check_told(use& u)
{
    if (u.now != phase::holding || u.where->dead() || !on_time(u))
        return;
    const bool held = u.handle->held(u.where->now());
    if (!held && !u.seen_lost)
        u.seen_lost = now();
    if (u.seen_lost && now() > *u.seen_lost + promptly)
        violate(u, "lost, and it was not told");
    const auto until = u.handle->held_until();
    const bool known_lost = until == process::time_point(); // and the news is on its way
    if (now() <= u.granted_at + promptly)
        return;
    if (!known_lost && u.where->now() > until + promptly)
        violate(u, "its lease has ended, and it was not told");
    if (held && knew_of_delete(u, now() - promptly))
        violate(u, "the client knew that its node was deleted, and did not tell its holder");
}

/// Before then it was told of the delete of a node on which that use stands. (After a downgrade that has failed a
/// client looks at the writer's node first.)
bool acquisition_users::knew_of_delete(const use& u, instant before) const
{
    const auto knew = [&](const auto& node) {
        const auto told = u.store->told_deleted(node);
        return told && *told < before;
    };
    return !is_shared(stage_.the_plan.which) && std::ranges::any_of(nodes_of(u), knew);
}

void acquisition_users::release(client& c, use& u)
{
    if (!u.has_it())
        return;
    say(u, "releases");
    check_told(u);
    u.back = {*u.store, u.now == phase::holding && u.handle->held(u.where->now()), is_deleted(u)};
    u.now = phase::releasing;
    releases(c, u);
    const bool after_the_end = c.closed; // a call made then is answered all the same
    std::function<void(boost::system::error_code)> told = [this, &c, &u, after_the_end](const auto& ec) {
        scarce_memory::ends();
        if (!after_the_end && !stage_.may_tell(c))
            return;
        released(c, u, ec);
        ended(c, u);
    };
    (void)stage_.try_call(c, [&](recipes::session&) { u.handle->release(std::move(told)); });
}

void acquisition_users::client_died(client& c)
{
    for (auto& u : uses_) {
        if (u.client != c.number || u.where != &c.where)
            continue;
        u.now = phase::died;
        u.handle.reset();
    }
}

// ---- how it ends

bool acquisition_users::all_ended() const
{
    // What was withdrawn may have had parts, which are given back later.
    const auto told = [this](const use& u) {
        return !u.heard || u.now == phase::died || u.heard->all_ended(late_releases());
    };
    const auto busy = [&](const use& u) {
        return u.now == phase::waiting || u.has_it() || u.now == phase::releasing || !told(u);
    };
    return std::none_of(uses_.begin(), uses_.end(), busy);
}

bool acquisition_users::is_ours(const znode_tree::node& node) const
{
    return by_tag_.contains(node.data.substr(0, node.data.find('\n'))) && stage_.ensemble.alive(node.owner);
}

instant acquisition_users::holding_time() const
{
    instant all{0};
    const auto delays = 20 * instant(stage_.the_plan.set.slow_message());
    for (const auto& u : uses_)
        all += most_turns() * (instant(u.wish.duration) + delays);
    return all;
}

void acquisition_users::finish()
{
    for (auto& u : uses_) {
        check_told(u);
        if (u.heard && u.now != phase::died)
            u.heard->check_ended(late_releases() || u.back.early());
        switch (u.now) {
        case phase::waiting: violate(u, "left waiting"); break;
        case phase::holding:
        case phase::lost: violate(u, "holds, and its release was never run"); break;
        case phase::releasing: violate(u, "its release never ended"); break;
        default: break;
        }
    }
}

} // namespace zklock::simulator
