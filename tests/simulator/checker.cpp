#include "checker.hpp"

#include "peer_network.hpp"
#include "stage.hpp"

#include <algorithm>
#include <charconv>

namespace zklock::simulator {

using phase = contender_record::phase;
using namespace std::chrono_literals;

namespace {

bool contains(const auto& list, const auto& what)
{
    return std::find(list.begin(), list.end(), what) != list.end();
}

std::string name_in(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

} // namespace

std::optional<std::int64_t> contender_sequence(std::string_view name)
{
    // The last ones are only there where they are heeded.
    static constexpr std::string_view marks[] = {"-lock-",    "__lock__", "__WRIT__", "__READ__",
                                                 "__rlock__", own_mark,   other_mark, ""};
    for (const std::string_view mark : marks) {
        const auto at = mark.empty() ? 0 : name.rfind(mark);
        if (at == name.npos)
            continue;
        const auto digits = name.substr(at + mark.size());
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc{} && end == digits.data() + digits.size() && digits.size() >= 10)
            return number;
    }
    return std::nullopt;
}

bool is_reader(std::string_view name)
{
    return name.find("__READ__") != name.npos || name.find("__rlock__") != name.npos;
}

bool contender_record::believes() const
{
    return now == phase::holding && !where->dead() && handle->held(where->now());
}

checker::checker(world& w, const ensemble& e, const plan& p) : world_(w), ensemble_(e), plan_(p)
{
    const auto slowest = 2 * p.set.slowest_message() + p.set.follower_lag;
    expects_faults_ = p.set.one_fault_in != 0 || p.set.scarce_memory != 0 || (p.faults && !p.faults->empty()) ||
                      10 * slowest > p.set.shortest_session();
    only_silences_ = p.set.peers == peer_life::alive && p.set.one_peer_fault_in == 0 && p.set.one_fault_in == 0 &&
                     p.set.scarce_memory == 0 && !p.set.leases_may_end_in_calm();
    for (const auto& s : p.steps) {
        only_silences_ &=
            s.what == act::acquire || s.what == act::list || s.what == act::block || s.what == act::set_register;
        if (s.what != act::acquire && s.what != act::list && s.what < act::remove_idle_containers)
            expects_faults_ = true;
        if (s.what == act::refuse)
            expects_refusals_ = true;
    }
}

std::string checker::label(const contender_record& c) const
{
    return c.tag + " on " + path_of(c.path) + (c.given.node.empty() ? "" : " (" + name_in(c.given.node) + ')');
}

void checker::say(const contender_record& c, const std::string& what)
{
    if (world_.log.on())
        world_.log.line(world_.time.now(), "user", c.tag + ' ' + what);
}

contender_record& checker::begin(contender_record r)
{
    records_.push_back(std::move(r));
    auto& c = records_.back();
    by_tag_.emplace(c.tag, &c);
    say(c, "wants " + path_of(c.path) + (c.wish.look_once ? ", looking once" : ""));
    for (const auto& o : records_) {
        if (o.where != c.where || o.path != c.path || o.wish.other_options == c.wish.other_options)
            continue;
        c.may_be_refused |= o.now == phase::waiting || o.now == phase::holding;
        c.has_to_be_refused |= o.believes();
    }
    if (c.wish.look_once && is_calm(plan_)) {
        world_.time.after(plan_.set.a_while(), [this, &c] {
            if (c.now == phase::waiting)
                world_.violate(label(c) + ": looks once, and waits on");
        });
    }
    return c;
}

bool checker::excused(const contender_record& c) const
{
    if (contains(deleted_, c.given.node) || contains(granted_unaware_, c.given.node))
        return true;
    return !killed_.empty() && contains(killed_, c.store->session_id());
}

contender_record* checker::owner_of(const std::string& node)
{
    const auto* n = ensemble_.leaders_tree().find(node);
    if (n == nullptr)
        return nullptr;
    const auto at = by_tag_.find(n->data.substr(0, n->data.find('\n')));
    return at == by_tag_.end() ? nullptr : at->second;
}

void checker::granted(contender_record& c, const recipes::grant& g)
{
    say(c, "is granted " + name_in(g.node) + ", token " + std::to_string(g.fencing_token));
    if (c.now != phase::waiting) {
        return world_.violate(label(c) + ": granted, though its wait had ended (" +
                              std::to_string(static_cast<int>(c.now)) + ')');
    }
    ++grants_;
    c.now = phase::holding;
    c.given = g;
    c.granted_at = world_.time.now();
    if (c.store->unaware_of_end(path_of(c.path)))
        granted_unaware_.push_back(g.node);
    const bool on_time = c.where->paused_until() + promptly_ < world_.time.now();
    if (c.deadline && c.where->now() > *c.deadline + promptly_ && on_time) {
        world_.violate(label(c) + ": granted after its deadline");
    }
    if (g.node.rfind('/') != path_of(c.path).size() || !g.node.starts_with(path_of(c.path))) {
        return world_.violate(label(c) + ": granted with the node " + g.node);
    }
    if (c.store->told_deleted(g.node) && on_time && world_.time.now() - *c.store->told_deleted(g.node) > 1ms) {
        world_.violate(label(c) + ": granted, though the client knew that its node was deleted");
    }
    // Whoever is told of a release by its predecessor may be so before the servers tell of the end of its own node.
    if (contains(deleted_waiting_, g.node) && plan_.set.peers != peer_life::alive) {
        world_.violate(label(c) + ": granted, though others deleted its node while it waited for another client");
    }
    if (c.has_to_be_refused)
        world_.violate(label(c) + ": granted, though another one of its client held with other options when it came");
    if (!c.believes())
        return world_.violate(label(c) + ": granted, and not held");
    if (let_go_.contains(uuid_in(g.node)))
        world_.violate(label(c) + ": granted with a node that was let go");
    check_grant_in_tree(c);
    check_holders(c);
}

/// The node a contender was granted with is its own, or was passed on to it by others of its client, within bounds.
void checker::check_node_owner(contender_record& c)
{
    const auto& agreed = plan_.agreed(c.wish);
    const auto* maker = owner_of(c.given.node);
    const bool reused = maker != &c && agreed.passes_nodes_on();
    const bool of_its_kind = maker && maker->client == c.client && maker->wish.other_options == c.wish.other_options;
    if (maker != &c && !(reused && of_its_kind))
        world_.violate(label(c) + ": granted with somebody else's node");
    if (++grants_on_[c.given.node] > agreed.cohort && agreed.linger == 0ms)
        world_.violate(label(c) + ": its node served more grants than a cohort has");
}

/// A grant that is believed must be true at the leader.
void checker::check_grant_in_tree(contender_record& c)
{
    const auto& tree = ensemble_.leaders_tree();
    const auto* node = tree.find(c.given.node);
    if (node == nullptr) {
        if (!excused(c))
            world_.violate(label(c) + ": granted without a node");
        return;
    }
    check_node_owner(c);
    if (!has_access_of_locks(*node, plan_))
        world_.violate(label(c) + ": its node has another access list");
    if (!ensemble_.alive(node->owner))
        world_.violate(label(c) + ": granted to a session that is over");
    if (c.given.fencing_token >> 12 != node->czxid) {
        world_.violate(label(c) + ": the token does not come from the node's czxid " + std::to_string(node->czxid));
    }
    if (!tokens_[c.path].insert(c.given.fencing_token).second)
        world_.violate(label(c) + ": its token was given before");
    const bool unaware = contains(granted_unaware_, c.given.node);
    auto& last = last_token_[c.path];
    if (c.given.fencing_token <= last && !unaware) {
        world_.violate(label(c) + ": the token does not exceed " + std::to_string(last));
    }
    if (!unaware)
        last = std::max(last, c.given.fencing_token);

    const auto own = contender_sequence(name_in(c.given.node));
    std::optional<instant> overtakes; ///< somebody, whose word came then: the last of them
    for (const auto& name : tree.children(path_of(c.path))) {
        const auto sequence = contender_sequence(name);
        if (!sequence || !own || *sequence >= *own)
            continue;
        const auto other_node = path_of(c.path) + '/' + name;
        if (contains(out_of_turn_, other_node))
            continue;
        const auto* other = owner_of(other_node);
        const bool same_session = tree.find(other_node)->owner == node->owner;
        if (const auto told = !same_session && told_let_go ? told_let_go(c.client, other_node) : std::nullopt) {
            overtakes = std::max(overtakes.value_or(*told), *told);
        } else if (!same_session && !unaware) {
            world_.violate(label(c) + ": granted too early, " + name + " of another session is lower");
        } else if (same_session && other != nullptr && other->now == phase::holding && other->believes()) {
            world_.violate(label(c) + ": granted while " + other->tag + " holds");
        }
    }
    world_.overtaking_grants += overtakes.has_value();
    if (overtakes && lacks_own_watch(ensemble_, *c.store, c.given.node, *overtakes))
        world_.violate(label(c) + ": granted by a certificate, and its own node is not watched");
    // Strictly first come, first served within the client too. A waiter may own an orphan that is being deleted.
    std::map<const contender_record*, std::int64_t> newest;
    for (const auto& name : tree.children(path_of(c.path))) {
        const auto* other = owner_of(path_of(c.path) + '/' + name);
        if (other != nullptr && other->client == c.client && other->now == phase::waiting) {
            auto& n = newest[other];
            n = std::max(n, contender_sequence(name).value_or(0));
        }
    }
    for (const auto& [other, sequence] : newest) {
        if (own && sequence < *own)
            world_.violate(label(c) + ": granted before " + other->tag + ", which came first");
    }
}

void checker::check_holders(contender_record& c)
{
    for (auto& other : records_) {
        if (&other == &c || other.path != c.path || other.now != phase::holding)
            continue;
        check_told(other);
        if (other.believes() && !excused(other) && !excused(c)) {
            world_.violate(label(c) + ": granted while " + label(other) + " believes that it holds");
        }
    }
}

void checker::check()
{
    for (auto& c : records_)
        check_told(c);
    for (auto& c : records_)
        check_releasing(c);
    if (only_silences_)
        check_waiting();
}

/// Nobody waits for the end of a session that should be over, while the servers cannot be asked.
void checker::check_releasing(contender_record& c)
{
    const auto& set = world_.set;
    const auto margin = std::max(set.session_timeout / 4, set.tick);
    const auto limit = margin + set.tick + set.session_timeout + promptly_; // it has to notice that first
    if (c.now != phase::releasing || c.where->dead() || c.where->paused_until() + limit > world_.time.now())
        return;
    if (c.store->silent(limit))
        world_.violate(label(c) + ": its session should be over, and its release still waits");
}

/// A holder whose lease has ended has been told so, unless it did not run.
void checker::check_told(contender_record& c)
{
    if (c.now != phase::holding || c.where->dead() || c.where->paused_until() + promptly_ > world_.time.now())
        return;
    const auto until = c.handle->held_until();
    const bool known_lost = until == process::time_point(); // and the news is on its way
    if (known_lost && !c.seen_lost)
        c.seen_lost = world_.time.now();
    if (c.seen_lost && world_.time.now() > *c.seen_lost + promptly_) {
        world_.violate(label(c) + ": lost, and it was not told");
    }
    if (!known_lost && c.where->now() > until + promptly_ && world_.time.now() > c.granted_at + promptly_) {
        world_.violate(label(c) + ": its lease has ended and it was not told");
    }
    const auto told = c.store->told_deleted(c.given.node);
    if (told && world_.time.now() > *told + promptly_ && world_.time.now() > c.granted_at + promptly_) {
        world_.violate(label(c) + ": the client knew that its node was deleted, and did not tell its holder");
    }
}

void checker::withdrawn(contender_record& c, bool answer)
{
    say(c, answer ? "withdraws" : "is too late to withdraw");
    if (answer)
        c.now = phase::withdrawn;
}

void checker::lost(contender_record& c)
{
    say(c, "is told that the lock is lost");
    if (c.lost)
        return world_.violate(label(c) + ": lost twice");
    c.lost = true;
    if (c.now != phase::holding)
        return world_.violate(label(c) + ": lost while it does not hold");
    if (c.believes())
        return world_.violate(label(c) + ": lost, and yet its lease goes on");
    if (!expects_faults_ && !world_.set.leases_may_end_in_calm())
        return world_.violate(label(c) + ": lost, though nothing ever went wrong");
    check_loss(c);
    c.now = phase::lost;
}

void checker::releasing(contender_record& c)
{
    say(c, "releases");
    check_told(c);
    if (c.now != phase::holding)
        return;
    c.back = {*c.store, c.handle->held(c.where->now()), contains(deleted_, c.given.node)};
    c.now = phase::releasing;
}

void checker::released(contender_record& c, boost::system::error_code ec)
{
    say(c, "has released" + (ec ? ": " + ec.message() : std::string()));
    if (c.now == phase::releasing) {
        c.now = phase::released;
        c.back.ended(*c.store);
        const auto* node = ensemble_.leaders_tree().find(c.given.node);
        // A client that closes without a connection cannot know.
        // Where nodes are used again, the lock is given back and the node may stay.
        const bool goes = !plan_.agreed(c.wish).passes_nodes_on();
        // A leader that was given up may say of a session that has begun since that it is over.
        const bool may_be_misled = ensemble_.answers_from_the_past();
        if (!ec && goes && node != nullptr && ensemble_.alive(node->owner) && !contains(closing_, c.client) &&
            !c.back.early() && !may_be_misled) {
            world_.violate(label(c) + ": released, and its node is still there");
        }
        if (ec && !expects_faults_)
            world_.violate(label(c) + ": its release failed: " + ec.message());
        if (const auto fault = c.back.fault_of(ec, *c.store, ensemble_, goes, excused(c)); !fault.empty())
            world_.violate(label(c) + ": " + std::string(fault));
    } else if (c.now == phase::lost) {
        c.now = phase::released;
        if (ec != make_error_code(errc::lost))
            world_.violate(label(c) + ": lost, and released without that error");
    } else {
        world_.violate(label(c) + ": released twice");
    }
}

void checker::listed(unsigned client, unsigned path, std::int64_t session, boost::system::error_code ec,
                     const std::vector<contender>& queue)
{
    const auto who = "contenders() of client" + std::to_string(client) + " on " + path_of(path);
    if (ec) {
        if (!expects_faults_ && ec != make_error_code(errc::closed))
            world_.violate(who + ": " + ec.message());
        return;
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        if (i != 0 && queue[i].sequence < queue[i - 1].sequence)
            world_.violate(who + ": not in order");
        const auto sequence = contender_sequence(name_in(queue[i].node));
        if (!sequence || *sequence != queue[i].sequence)
            world_.violate(who + ": lists " + queue[i].node);
        if (session != 0 && queue[i].ours != (queue[i].session_id == session))
            world_.violate(who + ": wrong about whose " + queue[i].node + " is");
    }
}

void checker::set_back()
{
    tokens_.clear();
    last_token_.clear();
    const auto is_back = [&](const auto& node) { return ensemble_.leaders_tree().find(node) != nullptr; };
    for (auto& c : records_) {
        if (c.given.node.empty())
            continue;
        if (is_back(c.given.node))
            c.back.node_is_back(contains(deleted_, c.given.node));
        else
            deleted_.push_back(c.given.node); // by whom the servers were set back
    }
    std::erase_if(deleted_, is_back);
    deleted_waiting_.clear();
}

void checker::client_died(unsigned client)
{
    for (auto& c : records_) {
        if (c.client != client)
            continue;
        c.now = phase::died;
        c.handle.reset();
    }
}

void checker::deleted_by_others(const std::string& node)
{
    deleted_.push_back(node);
    const auto* const c = owner_of(node);
    if (c == nullptr)
        return;
    // After another delete the client may still think that the contender is not its first.
    const auto last = last_deleted_.find(c->path);
    const bool alone =
        last == last_deleted_.end() || last->second + 2 * instant(plan_.set.session_timeout) < world_.time.now();
    if (alone && waits_for_another(node))
        deleted_waiting_.push_back(node);
    last_deleted_[c->path] = world_.time.now();
}

/// Its contender waits, is the first of its client, and another client is before it.
bool checker::waits_for_another(const std::string& node)
{
    const auto* const c = owner_of(node);
    if (c == nullptr || c->now != phase::waiting)
        return false;
    const auto& tree = ensemble_.leaders_tree();
    const auto own = contender_sequence(name_in(node));
    bool another = false;
    for (const auto& name : tree.children(path_of(c->path))) {
        const auto sequence = contender_sequence(name);
        if (!sequence || *sequence >= *own || contains(out_of_turn_, path_of(c->path) + '/' + name))
            continue;
        if (tree.find(path_of(c->path) + '/' + name)->owner == tree.find(node)->owner)
            return false;
        another = true;
    }
    return another;
}

bool checker::all_ended() const
{
    return std::none_of(records_.begin(), records_.end(), [](const auto& c) {
        return c.now == phase::waiting || c.now == phase::holding || c.now == phase::releasing || c.now == phase::lost;
    });
}

bool checker::is_ours(const znode_tree::node& node) const
{
    return by_tag_.contains(node.data.substr(0, node.data.find('\n'))) && ensemble_.alive(node.owner);
}

void checker::finish()
{
    for (auto& c : records_) {
        check_told(c);
        if (c.heard && c.now != phase::died)
            c.heard->check_ended(expects_refusals_ || c.back.early());
        switch (c.now) {
        case phase::waiting: world_.violate(label(c) + ": left waiting"); break;
        case phase::holding: world_.violate(label(c) + ": holds, and its release was never run"); break;
        case phase::releasing:
        case phase::lost: world_.violate(label(c) + ": its release never ended"); break;
        default: break;
        }
    }
}

} // namespace zklock::simulator
