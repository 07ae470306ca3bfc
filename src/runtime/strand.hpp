#pragma once
#include "runtime/kept_memory.hpp"
#include "store/unique_function.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <memory>
#include <utility>
#include <variant>

namespace zklock::runtime {

/// The user's executor, and memory for the one function that a strand has posted there at any time.
struct kept_target {
    explicit kept_target(const boost::asio::any_io_executor& user) : user(user), at(user)
    {
        if (const auto* const io = user.target<boost::asio::io_context::executor_type>())
            at = *io;
        else if (const auto* const pool = user.target<boost::asio::thread_pool::executor_type>())
            at = *pool;
    }

    const boost::asio::any_io_executor user;
    /// The user's executor with its own type, where that is known: with the type erased, a function takes memory of its
    /// own.
    std::variant<boost::asio::any_io_executor, boost::asio::io_context::executor_type,
                 boost::asio::thread_pool::executor_type>
        at;
    memory_of_post of_function;
};

/// What a client's strand runs on: the user's executor. Where a strand of Asio's has no memory to post itself there, it
/// stays locked for ever, or ends the process; here that memory is kept. So what is given to the strand on an
/// `io_context` or a `thread_pool` is run, and what throws was not given to it. What comes with kept memory of its own,
/// as wake-ups and waits do, cannot fail. Where another executor throws, the strand stays locked for ever.
template <class Allocator = std::allocator<void>> class kept_executor {
public:
    // It is not made of the user's executor itself, into which this would have to be convertible.
    explicit kept_executor(std::shared_ptr<kept_target> to) noexcept : to_(std::move(to)) {}

    [[nodiscard]] boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept
    {
        return boost::asio::query(to_->user, boost::asio::execution::context);
    }
    [[nodiscard]] boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept
    {
        if (never_)
            return boost::asio::execution::blocking.never;
        return boost::asio::execution::blocking.possibly;
    }
    [[nodiscard]] Allocator query(boost::asio::execution::allocator_t<void>) const noexcept { return allocator_; }

    [[nodiscard]] kept_executor require(boost::asio::execution::blocking_t::never_t) const noexcept
    {
        return {to_, work_, true, allocator_};
    }
    [[nodiscard]] kept_executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept
    {
        return {to_, work_, false, allocator_};
    }
    /// Asio's own executors count what is posted to them as work anyhow.
    [[nodiscard]] kept_executor require(boost::asio::execution::outstanding_work_t::tracked_t tracked) const
    {
        const auto* const other = std::get_if<boost::asio::any_io_executor>(&to_->at);
        return {to_, other ? std::make_shared<const any_executor>(boost::asio::prefer(*other, tracked)) : work_, never_,
                allocator_};
    }
    template <class Other>
    [[nodiscard]] kept_executor<Other> require(boost::asio::execution::allocator_t<Other> given) const noexcept
    {
        return {to_, work_, never_, given.value()};
    }

    template <class F> void execute(F&& f) const
    {
        namespace asio = boost::asio;
        const auto give = [&](const auto& at) {
            const auto by = asio::prefer(at, asio::execution::allocator(to_->of_function.get()));
            if (never_)
                asio::require(by, asio::execution::blocking.never).execute(std::forward<F>(f));
            else
                by.execute(std::forward<F>(f));
        };
        std::visit(give, to_->at);
    }

    friend bool operator==(const kept_executor& a, const kept_executor& b) noexcept
    {
        return a.to_ == b.to_ && a.never_ == b.never_;
    }
    friend bool operator!=(const kept_executor& a, const kept_executor& b) noexcept { return !(a == b); }

private:
    template <class> friend class kept_executor;
    using any_executor = boost::asio::any_io_executor;
    kept_executor(std::shared_ptr<kept_target> to, std::shared_ptr<const any_executor> work, bool never,
                  const Allocator& allocator) noexcept
        : to_(std::move(to)), work_(std::move(work)), never_(never), allocator_(allocator)
    {
    }

    std::shared_ptr<kept_target> to_;
    /// Tracked, if this is. Null with Asio's own executors: copies of this, of which each post makes some, cost less.
    std::shared_ptr<const any_executor> work_;
    bool never_ = false; ///< runs nothing at once
    [[no_unique_address]] Allocator allocator_{};
};

using strand = boost::asio::strand<kept_executor<>>;

[[nodiscard]] inline strand make_strand(const boost::asio::any_io_executor& user)
{
    return strand(kept_executor<>(std::make_shared<kept_target>(user)));
}

/// Something to do in a strand that can be posted when there is no memory. It runs once, if it is posted again before
/// it has run.
class wake_up {
public:
    explicit wake_up(store::unique_function<void()> f) : f_(std::move(f)) {}
    wake_up(const wake_up&) = delete;
    wake_up& operator=(const wake_up&) = delete;

    /// `owner`, whose this is, lives until it has run. Throws only where the strand may.
    void post(const strand& to, std::shared_ptr<void> owner)
    {
        if (posted_.exchange(true, std::memory_order_acquire))
            return;
        try {
            boost::asio::post(to, boost::asio::bind_allocator(memory_.get(), [this, kept = std::move(owner)] {
                                  posted_.store(false, std::memory_order_release);
                                  f_();
                              }));
        } catch (...) {
            posted_.store(false, std::memory_order_release);
            throw;
        }
    }

private:
    const store::unique_function<void()> f_;
    memory_of_post memory_;
    std::atomic<bool> posted_{false};
};

} // namespace zklock::runtime
