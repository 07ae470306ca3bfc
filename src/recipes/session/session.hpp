#pragma once
#include "counters/counters.hpp"
#include "queue/node_name.hpp"
#include "recipes/handoffs/handoffs.hpp"
#include "recipes/session/budget_line.hpp"
#include "recipes/session/chroot_check.hpp"
#include "recipes/session/group_commit.hpp"
#include "recipes/session/idle_containers.hpp"
#include "recipes/session/lease_keeper.hpp"
#include "recipes/session/listeners.hpp"
#include "recipes/session/lost_containers.hpp"
#include "recipes/session/lost_creates.hpp"
#include "recipes/session/news.hpp"
#include "recipes/session/own_writes.hpp"
#include "recipes/session/request_line.hpp"
#include "recipes/session/session_member.hpp"
#include "recipes/session/session_timer.hpp"
#include "store/logger.hpp"
#include "store/peers.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "store/tell_listener.hpp"
#include "zklock/client_options.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// The session of one client, as its recipes share it: what the connection tells, and the parts that serve them all.
/// Everything is called on one strand unless it says otherwise; no function given to it is called
/// inside a call to it, but for the log's, which may not call back; and it must not be destroyed inside a function it
/// calls.
class session final : store::observer, store::peers_observer {
public:
    /// Uses store, scheduler, counters and peers until it is destroyed. `new_uuid` gives 36 fresh characters at each
    /// call. Without peers, locks are handed to other clients by the servers alone.
    session(store::node_store&, store::scheduler&, counters::connection_counters&, const client_options&,
            std::function<std::string()> new_uuid, store::peers* = nullptr);
    ~session() override; ///< calls nobody; pending functions are dropped
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Who is told of changes of state(), if anybody: of the last one, if several come at once.
    void on_state(std::function<void(connection_state)>);
    /// What users are told of the connection. May be called from any thread.
    [[nodiscard]] connection_state state() const noexcept { return state_; }
    /// The id of the session; 0 when there is none. May be called from any thread.
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }

    /// Ends it. What waits, and releases under way, end with `errc::closed`; what is held is lost. Then `closed` is
    /// called: at a second call, too, when the first is done. The nodes go with the session, at once if the servers can
    /// be told.
    void close(std::function<void()> closed);

    // --- for the recipes ---------------------------------------------------------------------------------------------

    store::node_store& store;
    store::scheduler& scheduler;
    const client_options options;
    const store::logger log{options.log};
    const std::function<std::string()> new_uuid;
    const std::unique_ptr<recipes::handoffs> handoffs; ///< past the servers; null if there are no peers

    /// Takes note of an outcome that is unknown: nothing is sent any more in this epoch, whose end is on its way.
    void contact_lost();
    /// The servers were set back, as what they tell of that node shows: its lease is over at once, and the
    /// session is ended, with all its nodes, and another begun. Nobody has been told of the epoch.
    void distrust_servers(std::string_view node, std::string_view what_it_shows);

    /// Has the server catch up with all that was done before this epoch: one sync serves everybody who asks. A caller
    /// that sends a read after this call asks caught_up() when the answer comes.
    void catch_up();
    /// The sync of this epoch went well. So what is answered from now on was read after it.
    [[nodiscard]] bool caught_up() const noexcept { return catching_up_ == catch_up_state::done; }
    /// To be called before something is read for a user: he may hold a lock, and shall see what others wrote who held
    /// it before. The client may know from an event of an earlier connection that they have let go, and the server of
    /// this connection may not have got so far. (Events do not count in the zxid by which the C client keeps away from
    /// such servers.) What the client knows from this connection, this server knows. So the first epoch needs nothing,
    /// and each later one a sync, if somebody reads. After that sync, a write whose outcome is unknown is seen, or will
    /// never be done. A sync goes before it, too, if a lock was handed over past the servers. Gives what that read has
    /// to come after.
    std::uint64_t catch_up_for_users();
    /// The same for locks handed over past the servers alone.
    std::uint64_t catch_up_with_handoffs();
    /// Whether an answer to a read that had to come after that may be older: the sync was refused, or its answer lost.
    [[nodiscard]] bool behind_users(std::uint64_t grants) const noexcept;
    [[nodiscard]] bool behind_handoffs(std::uint64_t grants) const noexcept
    {
        return handoffs && handoffs->behind(grants);
    }
    /// The error for users whose reads were answered behind a sync that was refused.
    [[nodiscard]] errc refusal_to_catch_up() const noexcept { return refusal_to_catch_up_; }

    bool connected = false; ///< and no answer has been lost
    /// Why nothing can be done any more, once that is so.
    std::optional<errc> over;
    /// Why nothing can be asked for at that path, if that is so; `known`: the path itself has been looked at.
    [[nodiscard]] std::optional<errc> why_unusable(const std::string& path, bool known = false) const;

    /// Where a path's numbers are scarce. Tests set another before the first path is used.
    std::int32_t numbers_scarce_from = queue::sequence_scarce;

    /// Why a wait fails whose grant came to an end before it was told.
    [[nodiscard]] errc granted_and_lost() const { return over.value_or(errc::lost); }

    /// Takes note of the answer to a write. A write that was done also shows that the server is not a leader that
    /// others have replaced unawares.
    void wrote(const store::reply&);
    /// Whether a write was done over the present connection.
    [[nodiscard]] bool server_proved() const noexcept { return server_proved_; }
    /// It was granted on a node that this transaction made.
    void granted_by(std::int64_t czxid);
    /// A contender's node was made by that transaction, asked for at `sent`. If the number is smaller than that of a
    /// grant before, the log says that the ensemble was set back.
    void made_by(std::int64_t czxid, store::scheduler::time_point sent) noexcept;

    /// The loss of a lock that was granted at `held_since`: it is lost now, for the reason that is known.
    [[nodiscard]] lock_loss loss_of(store::scheduler::time_point held_since) const noexcept;
    /// Writes a loss to the log. The node's name may be missing, because its end was heard of before.
    void log_loss(const lock_loss&, std::string_view path, std::string_view node,
                  std::int64_t fencing_token) const noexcept;

    /// The node of a waiter is gone: has the log say so, and gives what has cost it its place. Where nothing was heard
    /// from the servers for its time-out, they may have ended the session, with its nodes.
    errc note_waiters_node_gone(std::string_view path, std::string_view node) const noexcept;

    /// The execution context is destroyed, and the session with it, which was not closed: who holds something then
    /// leaves it to the servers.
    void context_gone() noexcept
    {
        connected = false;
        context_gone_ = true;
    }
    /// The client has failed, and this is destroyed next: nothing is sent any more. The log and the listener hear why.
    void fail(const boost::system::error_code& why, std::string_view words) noexcept;
    /// Has the log say that a holder goes away with the execution context; nothing if that is not why. The node's name
    /// may be missing, as in log_loss().
    void log_left_held(std::string_view path, std::string_view node, std::int64_t fencing_token) const noexcept;

    template <class Event>
    void notify(const std::shared_ptr<detail::event_sink<Event>>& to, const Event& event) const noexcept
    {
        store::tell_listener(*to, event, log);
    }

    // --- members -----------------------------------------------------------------------------------------------------

    void add(session_member&);
    void remove(session_member&);
    /// Whether that child of a path is known as a node of ours: to one who listens there, or to lost_creates.
    [[nodiscard]] bool owns_child(std::string_view path, std::string_view child) const;

    /// All members in the order in which they came; a copy, because they may go while it is gone through.
    [[nodiscard]] std::vector<session_member*> members() const { return {members_.begin(), members_.end()}; }

    /// Something has happened to a node: an event tells, or an answer.
    void on_node_event(store::event_kind, std::string_view node) override;

    group_commit writes{*this};
    request_line requests{*this};
    recipes::lost_creates lost_creates{*this};
    recipes::own_writes own_writes{*this};
    recipes::lost_containers lost_containers{*this};
    idle_containers containers{*this};
    lease_keeper lease;
    recipes::listeners listeners{*this};
    budget_line budget{*this};
    recipes::news news{*this};

private:
    enum class catch_up_state : std::uint8_t { not_asked, under_way, done };

    void on_connected(const store::connect_reply&) override;
    void on_disconnected() override;
    void on_expired() override;
    void on_authentication_failed() override;
    void on_certificate(const store::node_secret&) override;
    void on_awaited(const store::commitment&) override;

    void look_at_chroot();
    void begin_epoch_in_time();
    void begin_epoch();
    void catch_up_first();
    void compare_first(std::optional<store::reply> caught_up);
    [[nodiscard]] bool has_chroot() const { return !options.chroot.empty() && options.chroot != "/"; }
    void change(connection_state);
    void tell_listener(connection_state, const boost::system::error_code& why = {}) noexcept;
    void tell_closed();
    void stop(errc why); ///< nothing will be sent any more
    void refuse_all(std::chrono::milliseconds granted);
    void server_is_proved();
    void catching_up_refused(store::outcome);
    void tell_expiry();
    void watch_overdue();
    void notice_overdue();
    void tell_overdue();
    void end_epoch();

    std::function<void(connection_state)> on_state_;
    std::atomic<connection_state> state_{connection_state::connecting};
    std::atomic<std::int64_t> id_{0};
    std::int64_t told_id_ = 0; ///< with the last state
    std::vector<std::function<void()>> closed_; ///< whom to tell, while closing
    bool closing_ = false;
    bool gone_ = false; ///< the store is closed
    bool context_gone_ = false;
    /// The session, if nothing was heard of it after the last connection: by the longest time that it was granted.
    store::scheduler::time_point should_be_over_{};
    bool may_lag_ = false; ///< the server may not have got as far as one of an earlier connection: no sync has shown it
    chroot_check chroot_;
    std::list<session_member*> members_;
    bool tells_state_ = false; ///< soon
    bool epoch_open_ = false;  ///< also after an answer was lost: others may come
    bool overdue_ = false;     ///< the session should be over, as long as there is no connection
    store::scheduler::time_point began_{}; ///< the present session, for all we know
    std::int64_t granted_zxid_ = 0; ///< the largest that something was granted by, in any session
    store::scheduler::time_point granted_zxid_known_{}; ///< since then
    bool server_proved_ = false;
    catch_up_state catching_up_ = catch_up_state::not_asked; ///< in this epoch
    errc refusal_to_catch_up_{};                             ///< the last
    bool refusal_logged_ = false;                            ///< in this epoch
    bool connected_before_ = false;
    bool reconnected_ = false; ///< this epoch is not the first
    counters::connection_counters& counters_;
    session_timer overdue_timer_{*this};
    session_timer chroot_timer_{*this};
};

} // namespace zklock::recipes
