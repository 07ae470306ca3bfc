#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_state.hpp"
#include "adapter/locks/last_timeout.hpp"
#include "adapter/locks/live_holds.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/requests/queue_requests.hpp"
#include "zklock/detail/operations.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::detail {

/// What an acquire asks of the recipes. It is no handle to the client: so pending operations may keep it.
class lock_target {
public:
    virtual ~lock_target() = default;

    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
    /// Under what name it is counted; empty for none.
    [[nodiscard]] virtual std::string_view metrics_name() const noexcept { return {}; }
    /// Starts an acquire, on the strand, with an open client.
    [[nodiscard]] virtual std::shared_ptr<recipes::acquisition> acquire(client_core&, recipes::acquire_call) const = 0;

    /// What its users are told of acquires that time out. This, live() and what has its path's options agreed on are
    /// the only parts of it that change.
    [[nodiscard]] virtual last_timeout& timeouts() const noexcept = 0;
    /// Counts what is held of it; null where the recipe itself does so.
    [[nodiscard]] virtual live_holds* live() const noexcept { return nullptr; }
    /// What one acquire takes of it: all, a reader's share, or some permits.
    [[nodiscard]] virtual lock_share takes() const noexcept { return {}; }
    /// How many hold it now as this would, alone or as readers; of a semaphore, how many permits they have. From any
    /// thread, with a client that is alive.
    [[nodiscard]] virtual std::size_t count_held(const client_state&) const noexcept
    {
        const live_holds* const all = live();
        return all ? all->held(takes().shared) : 0;
    }
    /// The locks that it is made of, if it is made of several.
    [[nodiscard]] virtual std::span<const std::shared_ptr<const lock_target>> members() const noexcept { return {}; }

    /// Where some nodes are, and which.
    struct listing {
        std::string path;
        recipes::list_kind what;
    };
    /// The nodes of all who want the lock.
    [[nodiscard]] virtual listing contenders() const { return {path(), recipes::list_kind::queue}; }
    /// The nodes of its holders: the contenders' nodes, or others.
    [[nodiscard]] virtual listing holders() const { return contenders(); }
};

/// A lock as its handles share it.
class lock_state {
public:
    lock_state(std::shared_ptr<client_handle> client, std::shared_ptr<const lock_target> target)
        : client_(std::move(client)), target_(std::move(target)),
          counters_(this->client()->counted().locks.of(target_->metrics_name()))
    {
    }
    /// Makes one out of another, which counts with that in the metrics.
    lock_state(const lock_state& like, std::shared_ptr<const lock_target> target)
        : client_(like.client_), target_(std::move(target)), counters_(like.counters_)
    {
    }

    [[nodiscard]] const std::shared_ptr<client_handle>& handle() const noexcept { return client_; }
    [[nodiscard]] const std::shared_ptr<client_state>& client() const noexcept { return client_->state(); }
    [[nodiscard]] const std::shared_ptr<const lock_target>& target() const noexcept { return target_; }
    /// They live as long as the client's state.
    [[nodiscard]] counters::lock_counters& counters() const noexcept { return counters_; }

private:
    std::shared_ptr<client_handle> client_;
    std::shared_ptr<const lock_target> target_;
    counters::lock_counters& counters_;
};

} // namespace zklock::detail
