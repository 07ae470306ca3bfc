#pragma once
#include "zklock/client_options.hpp"
#include "zklock/connection_state.hpp"
#include "zklock/contender.hpp"
#include "recipes/acquisition.hpp"
#include "store/store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::recipes {

/// What all recipes of one client share: the connection's state, the lease, the node budget, and a lock_path for each
/// path in use. Everything is called on one strand, and no function given to it is called inside the call that gave it.
class session final : store::observer {
public:
    /// Uses `store` and `scheduler` until it is destroyed. `new_uuid` gives 36 fresh characters at each call.
    session(store::store& store, store::scheduler& scheduler, const client_options& options,
            std::function<std::string()> new_uuid);
    ~session() override; ///< calls nobody; pending functions are dropped

    /// Who is told of each change of state(), if anybody.
    void on_state(std::function<void(connection_state)>);
    [[nodiscard]] connection_state state() const noexcept;
    [[nodiscard]] std::int64_t id() const noexcept; ///< 0 when there is none

    /// Queues for the lock of a path. Errors come through `request.done` too, later.
    std::shared_ptr<acquisition> acquire(acquire_request request);

    /// Reads the queue of a path, in its order. Waits for a connection until `deadline`, if there is one.
    void contenders(const std::string& path, std::function<void(error_code, std::vector<contender>)> done);

    /// Ends the session. What waits ends with `errc::closed`, what is held is lost, releases under way end well once
    /// the session is gone; then `closed` is called. Again: called when the first is done.
    void close(std::function<void()> closed);
};

} // namespace zklock::recipes
