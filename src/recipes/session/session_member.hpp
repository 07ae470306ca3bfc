#pragma once
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <list>
#include <set>
#include <string_view>

namespace zklock::recipes {

/// One that keeps nodes in the session, or has to hear what becomes of it: what a recipe does at one path, for all
/// users of one client. The session calls its members on the strand, in the order in which they came. A member must not
/// be destroyed inside such a call to another one, but only by what news brings.
class session_member {
public:
    virtual ~session_member() = default;

    /// A new epoch: there is a connection, and nothing is watched.
    virtual void epoch_began() = 0;
    /// An outcome is unknown: the end of the epoch is on its way, and nothing is to be sent any more.
    virtual void contact_lost() {}
    /// The end of the connection; also of one with which no epoch began.
    virtual void epoch_ended() = 0;
    /// The nodes of the session are gone.
    virtual void session_ended() {}
    /// The session should be over, and the servers cannot be asked: who waits for its end waits no longer. It may go on
    /// all the same, so what is due stays due.
    virtual void session_overdue() {}
    /// What is held is lost, although its session may live on.
    virtual void lease_lapsed() {}
    /// Nobody can be granted under the lease that the server gives.
    virtual void refuse_all(errc /*why*/) {}
    /// The servers answer, but too slowly for a grant: what waits for that and looks once ends with `not_connected`.
    virtual void refuse_tries() {}
    /// Nothing will be sent any more: what waits, and releases under way, end with `why`; what is held is lost.
    virtual void stop(errc why) = 0;
    /// Does whatever can be done now: the lease is renewable again, say.
    virtual void advance() {}
    /// Is called some time after lease_keeper::granted(), and has the nodes of those watched that still hold. False
    /// when there is none to look at again.
    virtual bool notice_long_holder(store::scheduler::time_point /*now*/) { return false; }
    /// There is room again in the node budget, for which it has waited.
    virtual void budget_freed() {}

    /// Whether it uses a watch on that child of a path that it listens to, or has asked for one.
    [[nodiscard]] virtual bool watches_child(std::string_view /*path*/, std::string_view /*child*/) const
    {
        return false;
    }

    /// Whether that child of a path that it listens to is a node of its own, or of a create whose answer was lost.
    [[nodiscard]] virtual bool owns_child(std::string_view /*path*/, std::string_view /*child*/) const { return false; }
    /// Whether a list of that path's children lacks a node of its own, of which it does not want to be rid.
    [[nodiscard]] virtual bool misses_child(std::string_view /*path*/,
                                            const std::set<std::string_view>& /*names*/) const
    {
        return false;
    }

    /// An event of the node at a path that it listens to.
    virtual void on_own_event(store::event_kind, std::string_view path) = 0;
    /// An event of a child of such a path.
    virtual void on_node_event(store::event_kind, std::string_view /*path*/, std::string_view /*child*/) {}

private:
    friend class session;
    friend class lease_keeper;
    std::list<session_member*>::iterator place_;
    bool among_holders_ = false; ///< granted lately
};

} // namespace zklock::recipes
