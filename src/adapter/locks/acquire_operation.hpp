#pragma once
#include "adapter/client/operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/errc.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace zklock::detail {

/// One acquire of a lock of any recipe. The grant is handed over as a `Handle`, which takes a guard_state.
template <class Handle> class acquire_operation final : public operation<Handle> {
public:
    acquire_operation(const lock_state& lock, acquire_mode mode, std::optional<lease_clock::duration> timeout,
                      handler_of<Handle> handler)
        : operation<Handle>(lock.client(), std::move(handler)), target_(lock.target()), counters_(lock.counters()),
          once_(mode == acquire_mode::wait && timeout && *timeout <= lease_clock::duration::zero()),
          mode_(once_ ? acquire_mode::look_once : mode)
    {
        if (mode_ == acquire_mode::wait && timeout) {
            deadline_ = deadline_after(*timeout);
            timeout_ = *timeout;
        }
    }

private:
    void begin() override
    {
        counted_.begin(counters_, this->client()->turn_time());
        auto* const core = this->enter_open_client();
        if (!core)
            return counted_.ended(asio::error::operation_aborted); // or it was counted as closed
        // The acquisition keeps this function, and is kept by the operation.
        acquisition_ =
            target_->acquire(*core, {mode_, deadline_, true, this->template if_alive<&acquire_operation::finish>()});
    }

    void finish(error_code ec, recipes::grant&& grant)
    {
        auto acquisition = std::move(acquisition_);
        if (ec) {
            if (once_ && ec == errc::busy)
                ec = time_is_up(acquisition->refused_for_others());
            if (ec == errc::not_connected && this->client()->is_insecure())
                ec = make_error_code(errc::tls_failed);
            // Before its deadline it has used up its attempts; and a look has no deadline.
            const auto late = lease_clock::now() - deadline_.value_or(lease_clock::time_point::max());
            if (ec == condition::not_in_time && late >= lease_clock::duration::zero())
                note_timeout(*this->client(), *target_, *acquisition, ec, timeout_ + late);
            fail(ec);
        } else {
            auto lock = std::make_shared<guard_state>(this->client());
            lock->granted(std::move(acquisition), std::move(grant), target_->members().size());
            lock->count_in(counters_);
            lock->enter_in(std::move(target_));
            counted_.granted(this->client()->turn_time());
            // If nobody can take the lock any more, it is given back here.
            this->complete({}, access::make<Handle>(std::move(lock)));
        }
    }

    /// If the client has ended meanwhile, it is not known any more whether that was an outage.
    [[nodiscard]] error_code time_is_up(bool others) const
    {
        const client_core* const core = this->client()->open_core();
        return make_error_code(core ? core->session.lease().time_is_up(others) : errc::timed_out);
    }

    void fail(error_code why)
    {
        counted_.ended(why);
        this->complete(why, Handle());
    }

    bool withdraw() override
    {
        // Without an open client it is ended by the close.
        if (!this->client()->open_core() || !acquisition_->withdraw())
            return false;
        acquisition_.reset();
        counted_.ended(asio::error::operation_aborted);
        return true;
    }

    void end_as_closed() override
    {
        acquisition_.reset();
        fail(this->client()->why_unusable());
    }

    std::shared_ptr<const lock_target> target_;
    std::shared_ptr<recipes::acquisition> acquisition_;
    counters::lock_counters& counters_;
    counters::counted_wait counted_;
    std::optional<lease_clock::time_point> deadline_;
    lease_clock::duration timeout_{};
    const bool once_;
    const acquire_mode mode_;
};

template <class Handle>
void start_acquire(std::shared_ptr<lock_state> lock, acquire_mode mode, std::optional<lease_clock::duration> timeout,
                   handler_of<Handle> handler)
{
    if (!lock)
        return post_error(std::move(handler), errc::invalid_option, Handle());
    using operation = acquire_operation<Handle>;
    operation::launch(std::make_shared<operation>(*lock, mode, timeout, std::move(handler)));
}

} // namespace zklock::detail
