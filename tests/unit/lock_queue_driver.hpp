#pragma once
#include "queue/lock_queue.hpp"

#include <doctest/doctest.h>

#include <source_location>

namespace zklock::unit {

using namespace zklock; // so that who uses this one has the library, too
using queue::contender_id;
using queue::contender_kind;

inline std::string node(const std::string& id, const char* mark, int sequence)
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", sequence);
    return "_c_" + id + "-" + mark + digits;
}
inline std::string ours(int id, int sequence)
{
    return node(std::to_string(id), "lock-", sequence);
}
inline std::string foreign(int sequence)
{
    return node("x", "lock-", sequence);
}
inline std::string reader(int id, int sequence)
{
    return node(std::to_string(id), "__READ__", sequence);
}
inline std::string writer(int id, int sequence)
{
    return node(std::to_string(id), "__WRIT__", sequence);
}
inline std::string foreign_reader(int sequence)
{
    return node("x", "__READ__", sequence);
}
inline std::string foreign_writer(int sequence)
{
    return node("x", "__WRIT__", sequence);
}

/// A queue whose actions read as text: "parent", "read", "watch <node>", "granted 1", "granted 2 from 1", …; "later"
/// stands behind a delete that may wait. The node of a lost one, which only the log tells, is left out. One that has
/// vanished is "gone 1" by its own delete, and "gone 1 by others" if that was not even asked for.
/// "over let go" stands behind a grant over nodes that were let go.
struct driver : queue::lock_queue {
    using lock_queue::lock_queue;

    std::string act(bool lease_renewable = true)
    {
        static constexpr const char* names[] = {"sync",    "parent",    "read",      "read and watch", "inspect",
                                                "watch",   "downgrade", "unwatch",   "remove",         "remove parent",
                                                "granted", "refused",   "exhausted", "shares",         "lingers",
                                                "lost",    "gone",      "gone",      "not_found"};
        std::string text;
        for (const queue::action& a : next(lease_renewable)) {
            text += text.empty() ? "" : ", ";
            text += names[static_cast<int>(a.what)];
            if (a.id != 0)
                text += " " + std::to_string(a.id);
            const std::string& named = a.what == queue::action::kind::remove ? own().node(a.id) : a.node;
            if (!named.empty() && a.what == queue::action::kind::vanished)
                text += " by others";
            else if (!named.empty() && a.what != queue::action::kind::lost)
                text += " " + named;
            if (a.may_wait)
                text += " later";
            if (a.from != 0)
                text += " from " + std::to_string(a.from);
            if (a.over_let_go)
                text += " over let go";
        }
        return text;
    }

    /// What has happened makes it do exactly that.
    driver& does(const std::string& expected, std::source_location where = std::source_location::current())
    {
        INFO("in line ", where.line());
        CHECK(act() == expected);
        return *this;
    }

    /// What it does is not looked at.
    driver& acts() { return act(), *this; }

    // What happens, as lock_queue calls it; several things may stand in a row before what it does.
    driver& join(contender_id id, bool look_once = false, contender_kind kind = contender_kind::mutex)
    {
        return lock_queue::join(id, look_once, kind), *this;
    }
    driver& leave(contender_id id, bool by_own_will = true) { return lock_queue::leave(id, by_own_will), *this; }
    driver& hold_on(contender_id id) { return lock_queue::hold_on(id), *this; }
    driver& downgrade(contender_id id) { return lock_queue::downgrade(id), *this; }
    driver& stop_lingering() { return lock_queue::stop_lingering(), *this; }
    driver& create_sent(contender_id id, std::string_view prefix) { return lock_queue::create_sent(id, prefix), *this; }
    driver& create_sent_again(contender_id id) { return lock_queue::create_sent_again(id), *this; }
    driver& created(contender_id id, std::string_view node, std::int32_t sequence, std::int64_t czxid = 0)
    {
        return lock_queue::created(id, node, sequence, czxid), *this;
    }
    driver& token_known(contender_id id, unsigned further_grants, std::int64_t czxid = 0)
    {
        return lock_queue::token_known(id, further_grants, czxid), *this;
    }
    driver& token_missed(contender_id id) { return lock_queue::token_missed(id), *this; }
    driver& create_failed(contender_id id) { return lock_queue::create_failed(id), *this; }
    driver& create_unknown(contender_id id) { return lock_queue::create_unknown(id), *this; }
    driver& children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced)
    {
        return lock_queue::children_read(names, ever, synced), *this;
    }
    driver& read_failed() { return lock_queue::read_failed(), *this; }
    driver& read_refused() { return lock_queue::read_refused(), *this; }
    driver& look_up_again() { return lock_queue::look_up_again(), *this; }
    driver& parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by)
    {
        return lock_queue::parent_watched(children, ever, changed_by), *this;
    }
    driver& parent_absent() { return lock_queue::parent_absent(), *this; }
    driver& parent_occupied() { return lock_queue::parent_occupied(), *this; }
    driver& parent_stays() { return lock_queue::parent_stays(), *this; }
    driver& remove_parent_unknown() { return lock_queue::remove_parent_unknown(), *this; }
    driver& parent_watch_failed() { return lock_queue::parent_watch_failed(), *this; }
    driver& forget_parent() { return lock_queue::forget_parent(), *this; }
    driver& parent_changed() { return lock_queue::parent_changed(), *this; }
    driver& children_changed() { return lock_queue::children_changed(), *this; }
    driver& path_refused() { return lock_queue::path_refused(), *this; }
    driver& inspected(contender_id id, std::string_view node, bool ours)
    {
        return lock_queue::inspected(id, node, ours), *this;
    }
    driver& inspect_unknown(contender_id id) { return lock_queue::inspect_unknown(id), *this; }
    driver& watched(std::string_view node, bool lasting = false) { return lock_queue::watched(node, lasting), *this; }
    driver& watch_failed(std::string_view node) { return lock_queue::watch_failed(node), *this; }
    driver& unwatched(std::string_view node) { return lock_queue::unwatched(node), *this; }
    driver& node_gone(std::string_view node) { return lock_queue::node_gone(node), *this; }
    /// The client of that node, which is in the view, lets it go.
    driver& lets_go(std::string_view node, std::source_location where = std::source_location::current())
    {
        INFO("in line ", where.line());
        CHECK(certified(node));
        return *this;
    }
    driver& awaited() { return lock_queue::awaited(), *this; }
    driver& removed(contender_id id, bool was_there = true) { return lock_queue::removed(id, was_there), *this; }
    driver& remove_failed(contender_id id) { return lock_queue::remove_failed(id), *this; }
    driver& retry_remove(contender_id id) { return lock_queue::retry_remove(id), *this; }
    driver& downgraded(contender_id id, bool before = false) { return lock_queue::downgraded(id, before), *this; }
    driver& downgrade_unknown(contender_id id) { return lock_queue::downgrade_unknown(id), *this; }
    driver& downgrade_refused(contender_id id) { return lock_queue::downgrade_refused(id), *this; }
    driver& downgrade_lost(contender_id id) { return lock_queue::downgrade_lost(id), *this; }
    driver& epoch_began() { return lock_queue::epoch_began(), *this; }
    driver& contact_lost() { return lock_queue::contact_lost(), *this; }
    driver& epoch_ended() { return lock_queue::epoch_ended(), *this; }
    driver& session_ended() { return lock_queue::session_ended(), *this; }

    driver& send_creates()
    {
        while (const contender_id id = next_to_create())
            create_sent(id, "_c_" + std::to_string(id) + "-lock-");
        return *this;
    }

    driver& join_and_send(contender_id id, bool look_once = false) { return join(id, look_once).send_creates(); }

    /// It is the first of an epoch: the parent has to be looked at.
    driver& begin_with(contender_id id) { return epoch_began().join_and_send(id).does("parent"); }

    static std::int64_t czxid_of(int sequence) { return std::int64_t{100} + sequence; }

    /// The create was answered, by a transaction of its own: so that the node's token is known too.
    driver& enqueued(contender_id id, int sequence)
    {
        const std::string node = ours(static_cast<int>(id), sequence);
        return created(id, node, sequence, czxid_of(sequence)).token_known(id, 4095);
    }

    /// Its node, which is not wanted any more, is deleted, and that is all of it.
    driver& is_deleted(contender_id id, const std::string& node)
    {
        does("remove " + std::to_string(id) + " " + node);
        return removed(id).does("gone " + std::to_string(id));
    }

    /// The parent has had `ever` children, one lives: the youngest.
    driver& parent_shows_one(int ever) { return parent_watched(1, ever, czxid_of(ever - 1)); }

    /// Contender 1 has number 1, and who has number 0 is being read.
    driver& begin_behind_somebody()
    {
        return begin_with(1).enqueued(1, 1).parent_watched(2, 2, czxid_of(1)).does("read");
    }

    /// Contender 1 waits behind a foreign node 0, with both watches confirmed.
    driver& wait_behind_foreign()
    {
        begin_behind_somebody().children_read({ours(1, 1), foreign(0)}, 2, true);
        does("watch " + ours(1, 1) + ", watch " + foreign(0));
        return watched(ours(1, 1)).watched(foreign(0)).does("");
    }

    /// Contender 1 holds, alone, and the view is dense.
    driver& hold(int sequence = 0)
    {
        return begin_with(1).enqueued(1, sequence).parent_shows_one(sequence + 1).does("granted 1");
    }

    /// Contender 2 queues behind contender 1, who holds with number 0.
    driver& queue_second()
    {
        join_and_send(2).does("");
        return enqueued(2, 1).does("");
    }

    // Readers and writers.

    driver& send(contender_id id, contender_kind kind, bool look_once = false)
    {
        join(id, look_once, kind);
        REQUIRE(next_to_create() == id);
        const std::string name = node_of(id, kind, 0);
        return create_sent(id, name.substr(0, name.size() - queue::sequence_digits));
    }
    /// The create is answered at once, as by enqueued().
    driver& arrive(contender_id id, contender_kind kind, int sequence, bool look_once = false)
    {
        send(id, kind, look_once);
        return created(id, node_of(id, kind, sequence), sequence, czxid_of(sequence)).token_known(id, 4095);
    }
    driver& reads(contender_id id, int sequence, bool look_once = false)
    {
        return arrive(id, contender_kind::reader, sequence, look_once);
    }
    driver& writes(contender_id id, int sequence, bool look_once = false)
    {
        return arrive(id, contender_kind::writer, sequence, look_once);
    }

    /// Contender 1 reads with number 1. Number 0 belongs to another client's node, which the view shows.
    driver& begin_behind(const std::string& foreign)
    {
        epoch_began().reads(1, 1).does("parent");
        return parent_watched(2, 2, czxid_of(1)).does("read").children_read({foreign, reader(1, 1)}, 2, true);
    }
    /// Contender 1 holds number 0 as a writer, alone.
    driver& hold_as_writer()
    {
        epoch_began().send(1, contender_kind::writer).does("parent");
        created(1, writer(1, 0), 0, czxid_of(0)).token_known(1, 4095);
        return parent_shows_one(1).does("granted 1");
    }

private:
    static std::string node_of(contender_id id, contender_kind kind, int sequence)
    {
        const int number = static_cast<int>(id);
        return kind == contender_kind::reader ? reader(number, sequence) : writer(number, sequence);
    }
};

} // namespace zklock::unit
