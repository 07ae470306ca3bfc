#pragma once
#include "counters/counters.hpp"
#include "queue/node_name.hpp"
#include "recipes/handoffs/handoffs.hpp"
#include "recipes/session/budget_line.hpp"
#include "recipes/session/catch_up.hpp"
#include "recipes/session/epoch_checks.hpp"
#include "recipes/session/group_commit.hpp"
#include "recipes/session/idle_containers.hpp"
#include "recipes/session/lease_keeper.hpp"
#include "recipes/session/listeners.hpp"
#include "recipes/session/losses.hpp"
#include "recipes/session/lost_creates.hpp"
#include "recipes/session/news.hpp"
#include "recipes/session/own_writes.hpp"
#include "recipes/session/request_line.hpp"
#include "recipes/session/session_member.hpp"
#include "recipes/session/shown_state.hpp"
#include "recipes/session/token_order.hpp"
#include "store/logger.hpp"
#include "store/peers.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

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

/// What a session is given, for itself and for its recipes.
struct surroundings {
    surroundings& operator=(surroundings&&) = delete; // the log of a copy would refer to the options of the first

    store::node_store& store;
    store::scheduler& scheduler;
    counters::connection_counters& counters;
    const client_options options;
    const std::function<std::string()> new_uuid; ///< 36 fresh characters
    const store::logger log{options.log};
};

/// The session of one client, as its recipes share it: what the connection tells, and the parts that serve them all.
/// Everything is called on one strand unless it says otherwise; no function given to it is called inside a call to it,
/// but for the log's, which may not call back; and it must not be destroyed inside a function it calls.
class session final : public surroundings, store::observer {
public:
    /// Uses store, scheduler, counters and peers until it is destroyed. `new_uuid` gives 36 fresh characters at each
    /// call. Without peers, locks are handed to other clients by the servers alone.
    session(store::node_store&, store::scheduler&, counters::connection_counters&, const client_options&,
            std::function<std::string()> new_uuid, store::peers* = nullptr);
    ~session() override; ///< calls nobody; pending functions are dropped
    session& operator=(session&&) = delete;

    /// Who is told of changes of state(), if anybody: of the last one, if several come at once.
    void on_state(std::function<void(connection_state)> f) { shown_.on_change(std::move(f)); }
    /// What users are told of the connection. May be called from any thread.
    [[nodiscard]] connection_state state() const noexcept { return shown_.now(); }
    /// The id of the session; 0 when there is none. May be called from any thread.
    [[nodiscard]] std::int64_t id() const noexcept { return shown_.id(); }

    /// Ends it. What waits, and releases under way, end with `errc::closed`; what is held is lost. Then `closed` is
    /// called: at a second call, too, when the first is done. The nodes go with the session, at once if the servers can
    /// be told.
    void close(std::function<void()> closed);

    // --- for the recipes ---------------------------------------------------------------------------------------------

    /// Past the servers; null if there are no peers.
    [[nodiscard]] const std::unique_ptr<recipes::handoffs>& handoffs() const noexcept { return handoffs_; }

    /// Takes note of an outcome that is unknown: nothing is sent any more in this epoch, whose end is on its way.
    void contact_lost();
    /// The servers were set back, as what they tell of that node shows: its lease is over at once, and the
    /// session is ended, with all its nodes, and another begun. Nobody has been told of the epoch.
    void distrust_servers(std::string_view node, std::string_view what_it_shows);

    /// And no answer has been lost.
    [[nodiscard]] bool connected() const noexcept { return connected_; }
    /// Takes a watch back that nobody has a use for any more. Its user need not live until the answer.
    void unwatch(const std::string& path);
    /// Nothing is sent any more: the recipes go, and the session with them.
    void stop_sending() noexcept { connected_ = false; }
    /// For how long it has been connected, if the lease cannot be renewed in time, so that nothing is granted.
    [[nodiscard]] std::optional<lease_clock::duration> without_lease_for() const;
    /// Why nothing can be done any more, once that is so.
    [[nodiscard]] const std::optional<errc>& over() const noexcept { return over_; }
    /// Why nothing can be asked for at that path, if that is so; `known`: the path itself has been looked at.
    [[nodiscard]] std::optional<errc> why_unusable(const std::string& path, bool known = false) const;

    /// Where a path's numbers are scarce. Tests set another before the first path is used.
    [[nodiscard]] std::int32_t numbers_scarce_from() const noexcept { return numbers_scarce_from_; }
    void set_numbers_scarce_from(std::int32_t first) noexcept { numbers_scarce_from_ = first; }

    /// Why a wait fails whose grant came to an end before it was told.
    [[nodiscard]] errc granted_and_lost() const { return over_.value_or(errc::lost); }

    /// Takes note of the answer to a write. A write that was done also shows that the server is not a leader that
    /// others have replaced unawares.
    void wrote(const store::reply&);
    /// Whether a write was done over the present connection.
    [[nodiscard]] bool server_proved() const noexcept { return server_proved_; }

    /// The execution context is destroyed, and the session with it, which was not closed: who holds something then
    /// leaves it to the servers.
    void context_gone() noexcept
    {
        stop_sending();
        losses_.context_gone();
    }
    /// The client has failed, and this is destroyed next: nothing is sent any more. The log and the listener hear why.
    void fail(const boost::system::error_code& why, std::string_view words) noexcept;

    // --- members -----------------------------------------------------------------------------------------------------

    void add(session_member&);
    void remove(session_member&);
    /// Whether that child of a path is known as a node of ours: to one who listens there, or to lost_creates.
    [[nodiscard]] bool owns_child(std::string_view path, std::string_view child) const;

    /// Calls that function of all members that there are now, in the order in which they came. None goes meanwhile, but
    /// others may come.
    template <class... Args> void tell_members(void (session_member::*what)(Args...), Args... args)
    {
        for (session_member* member : std::vector(members_.begin(), members_.end()))
            (member->*what)(args...);
    }

    /// Something has happened to a node: an event tells.
    void on_node_event(store::event_kind, std::string_view node) override;
    /// An answer says that a node is gone, which may have been so for long: those who listen hear of it.
    void found_gone(std::string_view node);

    // --- called by its parts -----------------------------------------------------------------------------------------

    /// `caught_up`: the answer behind which the server has caught up with all that was done before, if that was needed.
    void begin_epoch(const std::optional<store::reply>& caught_up);
    /// The session should be over. Nothing is forgotten for it: servers that were away may have it still, with all its
    /// nodes.
    void tell_overdue();

    // --- its parts ---------------------------------------------------------------------------------------------------

    [[nodiscard]] group_commit& writes() noexcept { return writes_; }
    [[nodiscard]] request_line& requests() noexcept { return requests_; }
    [[nodiscard]] recipes::lost_creates& lost_creates() noexcept { return lost_creates_; }
    [[nodiscard]] recipes::own_writes& own_writes() noexcept { return own_writes_; }
    [[nodiscard]] recipes::lost_containers& lost_containers() noexcept { return lost_containers_; }
    [[nodiscard]] idle_containers& containers() noexcept { return containers_; }
    [[nodiscard]] lease_keeper& lease() noexcept { return lease_; }
    [[nodiscard]] const lease_keeper& lease() const noexcept { return lease_; }
    [[nodiscard]] recipes::listeners& listeners() noexcept { return listeners_; }
    [[nodiscard]] budget_line& budget() noexcept { return budget_; }
    [[nodiscard]] recipes::catch_up& catch_up() noexcept { return catch_up_; }
    [[nodiscard]] recipes::losses& losses() noexcept { return losses_; }
    [[nodiscard]] token_order& tokens() noexcept { return tokens_; }
    [[nodiscard]] recipes::news& news() noexcept { return news_; }

private:
    void on_connected(const store::connect_reply&) override;
    void on_disconnected() override;
    void on_expired() override;
    void on_authentication_failed() override;

    void refuse_all();
    void stop(errc why); ///< nothing will be sent any more
    void tell_closed();

    const std::unique_ptr<recipes::handoffs> handoffs_;
    bool connected_ = false;
    std::optional<errc> over_;
    std::int32_t numbers_scarce_from_ = queue::sequence_scarce;
    group_commit writes_{*this};
    request_line requests_{*this};
    recipes::lost_creates lost_creates_{*this};
    recipes::own_writes own_writes_{*this};
    recipes::lost_containers lost_containers_{*this};
    idle_containers containers_{*this};
    lease_keeper lease_{*this};
    recipes::listeners listeners_{*this};
    budget_line budget_{*this};
    recipes::catch_up catch_up_{*this};
    recipes::losses losses_{*this};
    token_order tokens_{*this};
    recipes::news news_{*this};
    shown_state shown_{*this};
    epoch_checks checks_{*this};
    std::list<session_member*> members_;
    std::vector<std::function<void()>> closed_; ///< whom to tell, while closing
    bool closing_ = false;
    bool gone_ = false; ///< the store is closed
    bool server_proved_ = false;
};

} // namespace zklock::recipes
