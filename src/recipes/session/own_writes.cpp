#include "recipes/session/own_writes.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace zklock::recipes {
namespace {

using store::outcome;

constexpr std::size_t most_parents = 16;
constexpr std::size_t most_looks = 64; // at children of all of them: nobody hears of the epoch before

/// Which leader's transaction it is.
constexpr std::int64_t leader_of(std::int64_t zxid) noexcept
{
    return zxid >> 32;
}

/// Empty if it has none, as those of kazoo's permits.
std::string_view number_of(std::string_view name) noexcept
{
    constexpr std::size_t longest_uuid = 36;
    if (name.size() <= longest_uuid)
        return {};
    return name.substr(name.size() - std::min(name.size(), queue::sequence_digits));
}

/// By its last characters, one parent is soon told from another.
std::uint64_t end_of(std::string_view parent) noexcept
{
    std::uint64_t end = 0;
    parent.substr(parent.size() - std::min(parent.size(), sizeof end)).copy(reinterpret_cast<char*>(&end), sizeof end);
    return end;
}

std::size_t key_of(std::string_view name) noexcept
{
    return std::hash<std::string_view>()(queue::uuid_part(name)); // a writer that becomes a reader keeps it
}

} // namespace

void own_writes::made(std::string_view node, std::int64_t czxid)
{
    largest_ = std::max(largest_, czxid);
    note(node, state::made);
    writes_.front().numbered = czxid != 0;
}

void own_writes::found(std::string_view node, std::int64_t changed)
{
    largest_ = std::max(largest_, changed);
    const auto its = last_at(queue::parent_of(node));
    if (its == writes_.end()) {
        note(node, state::made);
        writes_.front().after = changed;
        writes_.front().numbered = changed != 0;
        writes_.front().ordered = false;
    } else {
        showed(its, changed);
    }
}

/// What was written last there is still asked for, and proves what was written before it. What else the change showed
/// is proved by the parent alone.
void own_writes::showed(std::list<write>::iterator its, std::int64_t changed) noexcept
{
    if (its != writes_.begin()) {
        to_front(its);
        its->ordered = false;
    }
    its->found = std::max(its->found, changed);
    its->numbered = its->numbered && changed != 0;
}

void own_writes::numbered(std::string_view asked, std::int64_t czxid) noexcept
{
    largest_ = std::max(largest_, czxid);
    const auto its = last_at(queue::parent_of(asked));
    if (its == writes_.end() || its->numbered || !its->node.starts_with(asked))
        return;
    its->after = czxid;
    its->numbered = true;
}

void own_writes::removed(std::string_view node)
{
    note(node, state::removed);
}

/// Answers come in order: so the last write there was done by then.
void own_writes::listed(std::string_view parent, const store::children_reply& answer)
{
    if (answer.result == outcome::no_node)
        return all_found_gone(parent);
    if (answer.result != outcome::ok)
        return;
    const std::int64_t changed = answer.stat.pzxid;
    largest_ = std::max(largest_, changed);
    const auto its = last_at(parent);
    if (its == writes_.end() || (its->numbered && its->now != state::all_removed))
        return;
    its->found = std::max(its->found, changed);
    its->numbered = true;
    its->now = std::min(its->now, state::removed);
}

/// When that was is not known. So it proves of the write before no more than what is known of that.
void own_writes::found_gone(std::string_view node, std::int64_t changed)
{
    largest_ = std::max(largest_, changed);
    const auto its = last_at(queue::parent_of(node));
    const write before = its != writes_.end() ? *its : write();
    const bool is_last = before.node == node;
    const bool dated = changed != 0 || is_last || before.now < state::removed;
    note(node, state::removed);
    write& gone = writes_.front();
    gone.found = std::max({before.found, is_last ? 0 : before.after, changed});
    gone.after = is_last ? before.after : 0;
    gone.numbered = changed != 0 || before.numbered;
    if (!dated)
        gone.now = state::all_removed;
    gone.ordered = false;
}

void own_writes::not_found(std::string_view parent, std::string_view asked, std::int64_t changed)
{
    const std::string node = queue::child_of(parent, asked);
    deleted(node);
    const auto its = last_at(parent);
    if (its != writes_.end())
        return showed(its, changed);
    if (writes_.size() < most_parents) // or else what is known of the others says more
        writes_.push_front({.node = node,
                            .parents_end = end_of(parent),
                            .numbered = changed != 0,
                            .ordered = false,
                            .found = changed,
                            .now = changed != 0 ? state::removed : state::all_removed});
}

void own_writes::delete_answered(std::string_view node, outcome result)
{
    if (result == outcome::ok)
        removed(node);
    if (result == outcome::no_node)
        found_gone(node);
}

bool own_writes::all_gone(std::string_view parent, bool ordered)
{
    const auto its = last_at(parent);
    if (its == writes_.end())
        return false;
    to_front(its);
    its->now = state::all_removed;
    its->ordered = ordered;
    return true;
}

void own_writes::all_found_gone(std::string_view parent)
{
    all_gone(parent, false);
}

void own_writes::lost_to_others(std::string_view node)
{
    found_gone(node);
    writes_.front().ordered = true; // events and answers come in their order
    known_by_event_ = true;
}

void own_writes::all_lost_to_others(std::string_view parent)
{
    if (all_gone(parent, true)) // as above
        known_by_event_ = true;
}

auto own_writes::last_at(std::string_view parent) -> std::list<write>::iterator
{
    return std::ranges::find_if(writes_, [parent, end = end_of(parent)](const write& w) {
        return w.parents_end == end && queue::is_child_of(w.node, parent);
    });
}

void own_writes::to_front(std::list<write>::iterator its) noexcept
{
    writes_.splice(writes_.begin(), writes_, its);
}

void own_writes::note(std::string_view node, state now)
{
    const std::string_view parent = queue::parent_of(node);
    auto its = last_at(parent);
    if (its == writes_.end()) {
        if (writes_.size() < most_parents)
            writes_.emplace_back();
        its = std::prev(writes_.end());
        *its = {.node = std::move(its->node)}; // whose memory is used again
    }
    to_front(its);
    its->node = node;
    its->parents_end = end_of(parent);
    its->after = largest_;
    its->found = 0;
    its->ordered = true;
    if (now == state::made)
        its->numbered = true; // that of a delete is known if that of its create is
    const bool all = now == state::removed && its->now == state::all_removed;
    its->now = all ? state::all_removed : now; // until another is made
    known_by_event_ = false;
    if (now == state::removed)
        deleted(node);
}

void own_writes::deleted(std::string_view node)
{
    const std::size_t key = key_of(queue::name_of(node));
    const bool told_before = !deleted_.empty() && deleted_.back() == key; // by an event
    if (told_before)
        return;
    deleted_.push_back(key);
    if (deleted_.size() > most_deleted)
        deleted_.pop_front();
}

void own_writes::may_be_gone(std::string_view node) noexcept
{
    const auto its = last_at(queue::parent_of(node));
    if (its != writes_.end() && its->now == state::made && its->node == node)
        its->now = state::may_be_gone;
}

void own_writes::session_began() noexcept
{
    writes_.clear();
    deleted_.clear();
    known_by_event_ = false;
    largest_ = 0;
}

// --- when the session goes on ----------------------------------------------------------------------------------------

void own_writes::compare(std::function<void()> known)
{
    known_ = std::move(known);
    asked_.assign(writes_.rbegin(), writes_.rend());
    looks_left_ = most_looks;
    looks_due_ = 0;
    ask();
}

/// What an answer leads to, unless the epoch is as good as over.
template <class Answer> auto own_writes::take(void (own_writes::*next)(const Answer&))
{
    return [this, next](const Answer& answer) {
        if (!session_.over() && answer.result != outcome::unknown)
            (this->*next)(answer);
    };
}

void own_writes::ask()
{
    if (asked_.empty())
        return all_known();
    session_.store.exists(asked_.back().node, false, take(&own_writes::on_node));
}

void own_writes::ask_for_next()
{
    asked_.pop_back();
    ask();
}

void own_writes::all_known()
{
    asked_.clear();
    std::exchange(known_, nullptr)();
}

void own_writes::on_node(const store::stat_reply& seen)
{
    write& w = asked_.back();
    const bool there = seen.result == outcome::ok || seen.result == outcome::no_auth;
    if (seen.result == outcome::no_node)
        return look_above(queue::parent_of(w.node));
    const bool is_back = there && w.now >= state::removed;
    if (is_back)
        return session_.distrust_servers(w.node, "has been deleted, and is back");
    w.there = there;
    if (there && w.found != 0)
        return look_above(queue::parent_of(w.node));
    const bool proves_it = there && w.ordered;
    proves_it ? all_known() : ask_for_next();
}

void own_writes::look_above(std::string_view node)
{
    above_ = node.empty() ? "/" : node;
    session_.store.exists(above_, false, take(&own_writes::on_above));
}

void own_writes::on_above(const store::stat_reply& seen)
{
    const write& w = asked_.back();
    if (seen.result == outcome::no_node && above_ != "/")
        return look_above(queue::parent_of(std::string(above_)));
    if (seen.result != outcome::ok)
        return ask_for_next();
    const bool lacks_found = seen.stat.pzxid < w.found;
    if (lacks_found)
        return session_.distrust_servers(queue::parent_of(w.node), "is without a change that this client has seen");
    const std::int64_t known = std::max(w.after, w.found);
    const bool later = w.now >= state::removed || !w.numbered; // the write is
    const bool lost = w.after != 0 && seen.stat.pzxid < w.after + (later ? 1 : 0);
    const bool by_same_leader = known != 0 && leader_of(seen.stat.pzxid) == leader_of(known);
    if (lost)
        return session_.distrust_servers(w.node, w.now >= state::removed ? "has been made and deleted, and that is lost"
                                                                         : "is missing");
    if (by_same_leader && w.numbered && w.now != state::all_removed) {
        const auto its = last_at(queue::parent_of(w.node));
        if (!w.there && w.now == state::made && its != writes_.end() && its->node == w.node)
            its->now = state::removed; // by others
        return w.ordered ? all_known() : ask_for_next();
    }
    const auto parent = queue::parent_of(w.node);
    if (above_ != parent && session_.listeners().misses_child(parent, {}))
        return session_.distrust_servers(parent, "is missing, and with it a node of this client");
    if (above_ != parent)
        return ask_for_next();
    session_.store.children(above_, false, take(&own_writes::on_children));
}

/// Those of the backup have smaller numbers than those made since, but for readers, which may be later than their
/// numbers.
void own_writes::on_children(const store::children_reply& seen)
{
    if (seen.result != outcome::ok)
        return ask_for_next();
    const std::set<std::string_view> names(seen.names->begin(), seen.names->end());
    const bool lacks_one = session_.listeners().misses_child(above_, names);
    if (lacks_one)
        return session_.distrust_servers(above_, "is without a node of this client");
    children_.clear();
    for (const std::string_view name : names)
        if (queue::uuid_of(name) && !session_.owns_child(above_, name))
            children_.emplace_back(name);
    const std::unordered_set<std::size_t> deleted(deleted_.begin(), deleted_.end());
    const auto back = std::find_if(children_.begin(), children_.end(),
                                   [&](const std::string& name) { return deleted.contains(key_of(name)); });
    if (back != children_.end())
        return session_.distrust_servers(queue::child_of(above_, *back), "has been deleted, and is back");
    std::sort(children_.begin(), children_.end(),
              [](const auto& a, const auto& b) { return number_of(a) > number_of(b); });
    look_at_children(1); // which mostly says enough
}

/// At those with the lowest numbers.
void own_writes::look_at_children(std::size_t most)
{
    looks_due_ = std::min({most, children_.size(), looks_left_});
    looks_left_ -= looks_due_;
    if (looks_due_ == 0)
        return ask_for_next();
    for (std::size_t i = 1; i <= looks_due_; ++i)
        session_.store.exists(queue::child_of(above_, children_[children_.size() - i]), false,
                              take(&own_writes::on_child));
}

void own_writes::on_child(const store::stat_reply& seen)
{
    if (looks_due_ == 0)
        return; // one before it has said enough
    --looks_due_;
    const std::string name = std::move(children_.back());
    children_.pop_back();
    const bool there = seen.result == outcome::ok;
    const bool all_dated = std::all_of(writes_.begin(), writes_.end(), [](const write& w) { return w.numbered; });
    const bool is_back = there && seen.stat.ephemeral_owner == session_.id();
    const auto its = queue::name_rules().parse(name);
    const bool ordered = !number_of(name).empty() && !(its && queue::is_shared(its->kind));
    const bool later = there && ordered && all_dated && seen.stat.czxid > largest_;
    if (is_back || later)
        looks_due_ = 0; // so are all that come after it
    if (is_back)
        return session_.distrust_servers(queue::child_of(above_, name), "has been deleted, and is back");
    if (later)
        return ask_for_next();
    if (looks_due_ == 0)
        look_at_children(children_.size());
}

} // namespace zklock::recipes
