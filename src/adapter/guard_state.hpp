#pragma once
#include "adapter/client_state.hpp"
#include "adapter/operation.hpp"
#include "recipes/acquisition.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace zklock::detail {

class lost_operation;

/// What a guard holds. Its destructor, not the guard's, gives the lock back: so it happens too when a guard, or the
/// operation that was to release it, is dropped somewhere on its way.
class guard_state final : public std::enable_shared_from_this<guard_state> {
public:
    using waits = std::list<std::shared_ptr<lost_operation>>;

    explicit guard_state(std::shared_ptr<client_state> client) : client_(std::move(client)) {}
    ~guard_state();

    // On the strand.

    /// The lock was granted; before that, this is nobody's.
    void granted(std::shared_ptr<recipes::acquisition> acquisition, const recipes::grant& grant);
    void lost();
    /// Waits until lost() or the release.
    [[nodiscard]] waits::iterator add(std::shared_ptr<lost_operation> wait);
    void remove(waits::iterator gone) { waits_.erase(gone); }
    [[nodiscard]] bool is_lost() const noexcept { return lost_; }
    [[nodiscard]] bool is_released() const noexcept { return !acquisition_; }
    /// False, and nothing happens, when it was released before.
    [[nodiscard]] bool release(std::function<void(error_code)> released);

    // From any thread, once granted.

    [[nodiscard]] const std::shared_ptr<client_state>& client() const noexcept { return client_; }
    [[nodiscard]] bool held() const noexcept { return client_->alive() && acquisition_->held(lease_clock::now()); }
    [[nodiscard]] lease_clock::time_point held_until() const noexcept
    {
        return client_->alive() ? acquisition_->held_until() : lease_clock::time_point{};
    }
    [[nodiscard]] const recipes::grant& grant() const noexcept { return grant_; }

private:
    std::shared_ptr<client_state> client_;
    std::shared_ptr<recipes::acquisition> acquisition_;
    recipes::grant grant_;
    waits waits_;
    bool lost_ = false;
};

/// One wait_lost().
class lost_operation final : public operation<> {
public:
    lost_operation(std::weak_ptr<guard_state> guard, std::shared_ptr<client_state> client, void_handler handler)
        : operation(std::move(client), std::move(handler)), guard_(std::move(guard))
    {
    }

    void guard_lost() { complete({}); }
    void guard_released() { complete(asio::error::operation_aborted); }

private:
    void begin() override;
    bool withdraw() override;
    void end_as_closed() override;

    std::weak_ptr<guard_state> guard_;
    guard_state::waits::iterator place_;
};

} // namespace zklock::detail
