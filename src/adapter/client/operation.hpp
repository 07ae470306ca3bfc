#pragma once
#include "adapter/client/client_executors.hpp"
#include "adapter/client/client_state.hpp"
#include "runtime/kept_memory.hpp"
#include "store/if_alive.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace zklock::detail {

/// The types that as_result delivers as an `acquired`.
template <class T>
concept holds_lock = !std::is_same_v<typename delivered<T>::type, result<T>>;

/// The guard is delivered to somebody who has cancelled the operation: nobody has to look at it.
void note_unwanted(guard_state*) noexcept;

/// An operation with its handler: what is common to all of them. Its end is decided in one place, complete(): the first
/// to come there wins, be it the result, the cancellation or the client's close.
///
/// While it is pending it owns itself, and is on the client's list. All that may end it hold a pointer, and lose the
/// race harmlessly. Once it has been made, neither its cancellation nor its end takes memory, as far as the executors
/// take none.
template <class... Values>
class operation : public pending_operation, public std::enable_shared_from_this<operation<Values...>> {
public:
    using handler_type = asio::any_completion_handler<void(error_code, Values...)>;

    operation(std::shared_ptr<client_state> client, handler_type handler)
        : client_(std::move(client)), handler_(std::move(handler))
    {
        const auto executors = client_->executors();
        work_.begin(*executors);
        const auto own = asio::get_associated_executor(handler_, executors->for_handlers);
        if (own != executors->for_handlers)
            handler_work_ = asio::prefer(own, asio::execution::outstanding_work.tracked);
    }

    /// Starts `op` on the client's strand; or ends it, with `errc::closed`, if there is none any more. May be called
    /// from any thread.
    static void launch(const std::shared_ptr<operation>& op)
    {
        // The slot belongs to the handler's side, and is not touched again: what is left in it when the operation is
        // over finds nobody.
        if (auto slot = asio::get_associated_cancellation_slot(op->handler_); slot.is_connected())
            slot.assign([weak = std::weak_ptr(op)](asio::cancellation_type type) {
                if (auto strong = weak.lock(); strong && type != asio::cancellation_type::none)
                    request_cancel(strong);
            });
        if (!op->client_->start(op))
            op->end_as_closed();
    }

protected:
    /// Is called once, on the strand.
    virtual void begin() = 0;

    void end_as_closed() override { complete(client_->why_unusable(), Values()...); }

    /// Is called on the strand, while pending, when the operation was cancelled. Stops what begin() started. False when
    /// it is too late for that: the result is on its way, and will be the end.
    [[nodiscard]] virtual bool withdraw() { return true; }

    /// Is called in begin() of an operation that needs an open client. It ends the operation if there is none, or if
    /// the operation was cancelled before it began. Else the operation is pending from here on.
    [[nodiscard]] client_core* enter_open_client()
    {
        auto* const core = client_->open_core();
        if (cancelled())
            complete(asio::error::operation_aborted, Values()...);
        else if (!core)
            this->end_as_closed();
        else
            client_->pending().add(this->shared_from_this());
        return pending() ? core : nullptr;
    }

    /// What is to be called later calls this member function, if the operation is there then.
    template <auto What> [[nodiscard]] auto if_alive() noexcept
    {
        return store::if_alive<What>(this->weak_from_this());
    }

    [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool pending() const noexcept { return static_cast<bool>(handler_); }
    [[nodiscard]] const std::shared_ptr<client_state>& client() const noexcept { return client_; }

    /// Ends the operation: posts the handler. False if it had ended before. Is called on the strand, or before the
    /// operation got there.
    bool complete(error_code ec, Values... values)
    {
        if (!pending())
            return false;
        auto self = this->leave();
        if (!self) // it has not begun
            self = this->shared_from_this();
        outcome_.emplace(ec, std::move(values)...);
        const auto work = std::move(work_);
        // It goes through the client's executor to the handler's: never from inside what is running now. Where that
        // throws, the operation has ended, and the handler is destroyed.
        work.post_in(of_completion_.get(), [self = std::static_pointer_cast<operation>(std::move(self)),
                                            handler = std::exchange(handler_, nullptr)]() mutable {
            deliver(std::move(self), std::move(handler));
        });
        return true;
    }

private:
    /// It begins, or it is cancelled.
    void run() final
    {
        if (!std::exchange(begun_, true))
            begin();
        else if (pending() && withdraw())
            complete(asio::error::operation_aborted, Values()...);
    }

    static void request_cancel(const std::shared_ptr<operation>& op)
    {
        op->cancelled_.store(true, std::memory_order_relaxed);
        // There is no strand when the context is going away: the handler is then destroyed anyway.
        static_cast<void>(op->client_->post_task(op));
    }

    /// On the client's executor.
    static void deliver(std::shared_ptr<operation> self, handler_type handler)
    {
        if (const auto executor = std::exchange(self->handler_work_, nullptr))
            asio::dispatch(executor, [self = std::move(self), handler = std::move(handler)]() mutable {
                call(std::move(self), std::move(handler));
            });
        else
            call(std::move(self), std::move(handler));
    }
    /// On the handler's. One that gets a lock may have cancelled after all: `acquire() || timer` drops a lock that it
    /// gets after the timer.
    static void call(std::shared_ptr<operation> self, handler_type handler)
    {
        auto outcome = *std::exchange(self->outcome_, std::nullopt);
        const bool unwanted = self->cancelled();
        self.reset();
        const auto give = [&](error_code ec, Values&... values) {
            if constexpr (sizeof...(Values) == 1 && (holds_lock<Values> && ...))
                if (!ec && unwanted)
                    (note_unwanted(held_by(values)), ...);
            std::move(handler)(ec, std::move(values)...);
        };
        std::apply(give, outcome);
    }

    void abandon() final
    {
        const auto self = this->leave();
        const auto handler = std::exchange(handler_, nullptr);
        work_ = {};
        handler_work_ = nullptr;
    }

    std::shared_ptr<client_state> client_;
    handler_type handler_;
    client_work work_;
    asio::any_completion_executor handler_work_; // empty if that is the same
    std::atomic<bool> cancelled_{false};
    bool begun_ = false;
    std::optional<std::tuple<error_code, Values...>> outcome_; ///< once it has ended, until the handler is called
    runtime::kept_memory<80> of_completion_;
};

/// Ends an operation of something that has no client, such as an empty guard.
template <class... Values>
void post_error(asio::any_completion_handler<void(error_code, Values...)> handler, errc why, Values... values)
{
    const asio::any_io_executor io = asio::system_executor();
    const auto executor = asio::get_associated_executor(handler, io);
    asio::post(io, asio::bind_executor(executor,
                                       [handler = std::move(handler), why, ... values = std::move(values)]() mutable {
                                           std::move(handler)(make_error_code(why), std::move(values)...);
                                       }));
}

/// The deadline of a wait that begins now; nothing if it is beyond the end of the clock.
[[nodiscard]] inline std::optional<lease_clock::time_point> deadline_after(lease_clock::duration timeout)
{
    const auto now = lease_clock::now();
    if (timeout >= lease_clock::time_point::max() - now)
        return std::nullopt;
    return now + timeout;
}

} // namespace zklock::detail
