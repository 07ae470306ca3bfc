#pragma once
#include "zklock/client_options.hpp"
#include "zklock/connection_state.hpp"
#include "zklock/contender.hpp"
#include "queue/lock_queue.hpp"
#include "recipes/acquisition.hpp"
#include "recipes/contender_list.hpp"
#include "recipes/lock_path.hpp"
#include "recipes/node_operations.hpp"
#include "recipes/resting_member.hpp"
#include "recipes/revocation.hpp"
#include "recipes/session_core.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace zklock::recipes {

/// What all recipes of one client share: the connection's state, the lease, the node budget, and a lock_path for each
/// path in use. Everything is called on one strand unless it says otherwise; no function given to it is called inside a
/// call to it, and it must not be destroyed inside a function it calls.
class session final : store::observer {
public:
    /// Uses `store` and `scheduler` until it is destroyed. `new_uuid` gives 36 fresh characters at each call.
    session(store::store& store, store::scheduler& scheduler, const client_options& options,
            std::function<std::string()> new_uuid);
    ~session() override; ///< calls nobody; pending functions are dropped

    /// Who is told of each change of state(), if anybody.
    void on_state(std::function<void(connection_state)>);
    /// From any thread.
    [[nodiscard]] connection_state state() const noexcept { return state_; }
    /// 0 when there is none. From any thread.
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }

    /// Queues for the lock of a path. Errors come through `request.done` too, later.
    std::shared_ptr<acquisition> acquire(acquire_request request);

    /// Why acquire() would refuse such a request at once, if it would.
    [[nodiscard]] std::optional<errc> objection(const std::string& path, const mutex_options&) const;
    /// For the recipes that keep nodes of their own.
    [[nodiscard]] session_core& core() noexcept { return core_; }
    /// The containers above the path that were made for it.
    [[nodiscard]] made_containers containers_above(const std::string& path) const;
    /// This client has set the data of the node so many levels above the path.
    void written_above(const std::string& path, std::size_t level, const store::node_stat&) noexcept;

    /// Reads the queue of a path, in its order; or its first contenders, so many at most. Waits for a connection.
    std::shared_ptr<user_request> contenders(const std::string& path, contender_list::done done,
                                             listed what = listed::queue, std::size_t most = contender_list::all);

    /// Asks the contender of `node` on that path, whoever's it is, to let go: `errc::invalid_path` for other nodes.
    /// `done` gets 0 if it is gone. Waits for a connection.
    std::shared_ptr<user_request> revoke(const std::string& path, const std::string& node, revocation::done done,
                                         listed what = listed::queue);
    /// Asks whoever holds the lock of a path: one, or all readers, or all leases. `done` gets how many were asked.
    std::shared_ptr<user_request> revoke_holders(const std::string& path, revocation::done done,
                                                 listed what = listed::queue);

    /// The user's own operations on the nodes.
    [[nodiscard]] node_operations& nodes() noexcept { return nodes_; }

    /// Ends the session. What waits, and releases under way, end with `errc::closed`: a session that cannot be told to
    /// end takes its nodes with it later. What is held is lost. Then `closed` is called. Again: called when the first
    /// is done.
    void close(std::function<void()> closed);

private:
    void on_connected(const store::connect_reply&) override;
    void on_disconnected() override;
    void on_expired() override;
    void on_authentication_failed() override;
    void on_node_event(store::event_kind kind, std::string_view path) override;
    void on_exception() noexcept override { core_.give_up(); }

    void change(connection_state);
    void tell_closed();
    void refuse_all(std::chrono::milliseconds granted);
    std::shared_ptr<acquisition> refuse(acquire_request request, errc why);
    std::shared_ptr<user_request> begin(std::shared_ptr<user_request>, std::optional<errc> objection);
    [[nodiscard]] lock_path* in_use(const std::string& path) const; ///< null: it is not
    lock_path* path_for(const std::string& path, lock_path* known, const path_options&);
    void path_rests(const std::string& path);
    [[nodiscard]] std::optional<errc> objection(const std::string& path, const lock_path* known) const;
    [[nodiscard]] std::optional<errc> objection(const std::string& path, const lock_path* known,
                                                const mutex_options&) const;

    session_core core_;
    node_operations nodes_;
    std::function<void(connection_state)> on_state_;
    std::atomic<connection_state> state_{connection_state::connecting};
    std::atomic<std::int64_t> id_{0};
    queue::contender_id last_contender_ = 0;
    resting_members resting_; ///< idle paths that are kept for what they know
    std::unordered_map<std::string, std::unique_ptr<lock_path>> paths_;
    std::vector<std::function<void()>> closed_; ///< whom to tell, while closing
    bool closing_ = false;
    bool gone_ = false; ///< the store is closed
};

} // namespace zklock::recipes
