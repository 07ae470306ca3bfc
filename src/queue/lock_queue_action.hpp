#pragma once
#include <cstdint>
#include <string>

namespace zklock::queue {

/// One acquire of this client. Ids grow with the order of the calls, across all paths.
using contender_id = std::uint64_t;

/// What lock_queue wants done, in this order. Requests are to be sent in the order given.
struct action {
    enum class kind : std::uint8_t {
        // requests; each is reported back by the event in brackets
        synchronize,    ///< if it was not done in this epoch [none: if it failed, the read that follows it says so]
        watch_parent,   ///< read the path's own node, with a watch on its data [parent_watched]
        read_children,  ///< [children_read]
        watch_children, ///< read the children, with a watch on them [children_read]
        inspect,        ///< read `node`, found under a contender's own name, with a watch [inspected]
        watch,          ///< read `node`, with a watch [watched]
        downgrade,      ///< create the reader's node for writer `id` and delete its `node`, both or none [downgraded]
        unwatch,        ///< [unwatched]
        remove,         ///< delete the node of contender `id`: node() [removed]
        remove_parent,  ///< look at the path's own node, and delete it if may_remove_parent() says so [parent_absent,
        ///< parent_occupied, parent_stays]
        // news; nothing is reported back
        granted,   ///< contender `id` holds the lock; on the node of contender `from`, if there is one
        refused,   ///< contender `id` wanted to look once, and somebody is before it; it is leaving
        exhausted, ///< there is no number left for contender `id`; it is leaving
        shares,    ///< contender `id` holds on as a reader
        lingers,   ///< contender `id` has given the lock back; its node stays for the next one
        lost,      ///< contender `id` held the lock and its `node` is gone, or its session; forgotten
        gone,      ///< contender `id` had left, and has no node any more; forgotten
        vanished,  ///< contender `id` had left, and its node is gone, by its delete or because others deleted it (then
        ///< `node` is its name); forgotten
        not_found ///< a look-up found no node of contender `id` whose name begins with `node`: it may have been wrong
    };
    kind what;
    contender_id id = 0;
    std::string node;      ///< relative to the path
    bool may_wait = false; ///< remove: nobody but this client is waiting for it
    contender_id from = 0;
    bool by_own_will = false;    ///< remove: the contender has left by its own will; others may be told
    bool over_let_go = false;    ///< granted: before it stand nodes that were let go, and may still be there
    bool by_certificate = false; ///< … over one of which nobody was granted before
    bool by_others = false;      ///< refused: it was excluded, as before() has it
};

} // namespace zklock::queue
