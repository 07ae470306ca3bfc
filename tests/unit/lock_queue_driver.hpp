#pragma once
#include "queue/lock_queue.hpp"

#include <doctest/doctest.h>

#include <source_location>

namespace zklock::unit {

using namespace zklock; // so that who uses this one has the library, too
using queue::contender_id;

inline std::string ours(int id, int sequence)
{
    char text[64];
    std::snprintf(text, sizeof text, "_c_%d-lock-%010d", id, sequence);
    return text;
}

inline std::string foreign(int sequence)
{
    char text[64];
    std::snprintf(text, sizeof text, "_c_x-lock-%010d", sequence);
    return text;
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

    // What happens, as lock_queue calls it; several things may stand in a row before what it does.
    driver& join(contender_id id, bool look_once = false, queue::contender_kind kind = queue::contender_kind::mutex)
    {
        return lock_queue::join(id, look_once, kind), *this;
    }
    driver& leave(contender_id id, bool by_own_will = true) { return lock_queue::leave(id, by_own_will), *this; }
    driver& hold_on(contender_id id) { return lock_queue::hold_on(id), *this; }
    driver& downgrade(contender_id id) { return lock_queue::downgrade(id), *this; }
    driver& downgraded(contender_id id, bool before = false) { return lock_queue::downgraded(id, before), *this; }
    driver& downgrade_refused(contender_id id) { return lock_queue::downgrade_refused(id), *this; }
    driver& token_known(contender_id id, unsigned further_grants, std::int64_t czxid = 0)
    {
        return lock_queue::token_known(id, further_grants, czxid), *this;
    }
    driver& children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced)
    {
        return lock_queue::children_read(names, ever, synced), *this;
    }
    driver& parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by)
    {
        return lock_queue::parent_watched(children, ever, changed_by), *this;
    }
    driver& parent_occupied() { return lock_queue::parent_occupied(), *this; }
    driver& watched(std::string_view node, bool lasting = false) { return lock_queue::watched(node, lasting), *this; }
    driver& node_gone(std::string_view node) { return lock_queue::node_gone(node), *this; }
    driver& removed(contender_id id, bool was_there = true) { return lock_queue::removed(id, was_there), *this; }
    driver& epoch_began() { return lock_queue::epoch_began(), *this; }
    driver& contact_lost() { return lock_queue::contact_lost(), *this; }
    driver& epoch_ended() { return lock_queue::epoch_ended(), *this; }

    driver& send_creates()
    {
        while (const contender_id id = next_to_create())
            create_sent(id, "_c_" + std::to_string(id) + "-lock-");
        return *this;
    }

    driver& join_and_send(contender_id id, bool look_once = false) { return join(id, look_once).send_creates(); }

    /// It is the first of an epoch: the parent has to be looked at.
    void begin_with(contender_id id)
    {
        epoch_began();
        join_and_send(id).does("parent");
    }

    static std::int64_t czxid_of(int sequence) { return std::int64_t{100} + sequence; }

    /// The create was answered, by a transaction of its own: so that the node's token is known too.
    driver& enqueued(contender_id id, int sequence)
    {
        created(id, ours(static_cast<int>(id), sequence), sequence, czxid_of(sequence));
        return token_known(id, 4095);
    }

    /// Its node, which is not wanted any more, is deleted, and that is all of it.
    void is_deleted(contender_id id, const std::string& node)
    {
        does("remove " + std::to_string(id) + " " + node);
        removed(id).does("gone " + std::to_string(id));
    }

    /// The parent has had `ever` children, one lives: the youngest.
    driver& parent_shows_one(int ever) { return parent_watched(1, ever, czxid_of(ever - 1)); }

    /// Contender 1 has number 1, and who has number 0 is being read.
    void begin_behind_somebody()
    {
        begin_with(1);
        enqueued(1, 1);
        parent_watched(2, 2, czxid_of(1)).does("read");
    }

    /// Contender 1 waits behind a foreign node 0, with both watches confirmed.
    void wait_behind_foreign()
    {
        begin_behind_somebody();
        children_read({ours(1, 1), foreign(0)}, 2, true);
        does("watch " + ours(1, 1) + ", watch " + foreign(0));
        watched(ours(1, 1));
        watched(foreign(0)).does("");
    }

    /// Contender 1 holds, alone, and the view is dense.
    void hold(int sequence = 0)
    {
        begin_with(1);
        enqueued(1, sequence);
        parent_shows_one(sequence + 1).does("granted 1");
    }

    /// Contender 2 queues behind contender 1, who holds with number 0.
    void queue_second()
    {
        join_and_send(2).does("");
        enqueued(2, 1).does("");
    }
};

} // namespace zklock::unit
