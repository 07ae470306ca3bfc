#pragma once
#include "runtime/kept_memory.hpp"
#include "runtime/known_executor.hpp"
#include "store/unique_function.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace zklock::runtime {

/// The user's executor, and memory for the one function that a strand has posted there at any time.
class kept_target {
    /// Stands around what was given to an executor, as it runs.
    struct running {
        explicit running(const kept_target& of) noexcept : before(std::exchange(innermost, &of)) { ++begun; }
        ~running() { innermost = before; }
        running& operator=(running&&) = delete;

        static inline thread_local const kept_target* innermost = nullptr;
        static inline thread_local std::size_t begun = 0; ///< on this thread
        const kept_target* const before;
    };

public:
    explicit kept_target(const boost::asio::any_io_executor& e) : user(e), at(known(e)) {}

    const boost::asio::any_io_executor user;
    const known_executor at;
    memory_of_post of_function;

    /// Gives the strand's function to an executor that may throw. Then the strand stays locked for ever. As one of its
    /// functions ends, Asio has the strand give the next one where nothing may be thrown: so what is thrown there is
    /// only kept.
    template <class F> void give(const boost::asio::any_io_executor& other, F&& f)
    {
        const auto begun = running::begun;
        try {
            other.execute([this, f = std::forward<F>(f)]() mutable {
                const running now(*this);
                f(); // who may take along what keeps this
            });
        } catch (...) {
            if (running::begun == begun) { // else it comes from what was run at once
                thrown_ = std::current_exception();
                refused_.store(true, std::memory_order_release);
            }
            if (running::innermost != this)
                throw;
        }
    }
    /// What the executor has thrown: nobody is in the strand then, nor will be. Null as long as it takes everything.
    [[nodiscard]] std::exception_ptr refusal() const noexcept
    {
        return refused_.load(std::memory_order_acquire) ? thrown_ : nullptr;
    }

private:
    std::exception_ptr thrown_;
    std::atomic<bool> refused_{false};
};

/// What a client's strand runs on: the user's executor. Where a strand of Asio's has no memory to post itself there, it
/// stays locked for ever, or ends the process; here that memory is kept. So what is given to the strand on an
/// `io_context` or a `thread_pool` is run, and what throws was not given to it. What comes with kept memory of its own,
/// as wake-ups and waits do, cannot fail. Where another executor throws, the strand stays locked for ever: see
/// refusal().
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
    /// Asio's own executors count what is posted to them as work anyhow. Asio asks for this where a throw would leave
    /// the strand locked; so what another one cannot count goes uncounted.
    [[nodiscard]] kept_executor require(boost::asio::execution::outstanding_work_t::tracked_t tracked) const noexcept
    {
        auto work = work_;
        if (const auto* const other = std::get_if<any_executor>(&to_->at))
            try {
                work = std::make_shared<const any_executor>(boost::asio::prefer(*other, tracked));
            } catch (...) { // NOLINT: see above
            }
        return {to_, std::move(work), never_, allocator_};
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
            if constexpr (std::is_same_v<std::decay_t<decltype(at)>, any_executor>)
                to_->give(at, std::forward<F>(f));
            else
                at.execute(std::forward<F>(f));
        };
        const auto give_as_asked = [&](const auto& at) {
            if (never_)
                give(asio::require(at, asio::execution::blocking.never));
            else
                give(at);
        };
        std::visit(
            [&](const auto& at) {
                give_as_asked(asio::prefer(at, asio::execution::allocator(to_->of_function.get())));
            },
            to_->at);
    }
    /// What the user's executor has thrown at a strand that runs on this; see kept_target.
    [[nodiscard]] std::exception_ptr refusal() const noexcept { return to_->refusal(); }

    friend bool operator==(const kept_executor& a, const kept_executor& b) noexcept
    {
        return a.to_ == b.to_ && a.never_ == b.never_;
    }

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
    wake_up& operator=(wake_up&&) = delete;

    /// `owner`, whose this is, lives until it has run. Throws only where the strand may. What waits in the strand may
    /// wait for ever, so it must hold neither the strand nor work of the executor, as asio::post() would have it.
    void post(const strand& to, std::shared_ptr<void> owner)
    {
        namespace execution = boost::asio::execution;
        if (posted_.exchange(true, std::memory_order_acquire))
            return;
        try {
            boost::asio::require(to, execution::blocking.never, execution::allocator(memory_.get()))
                .execute([this, kept = std::move(owner)] {
                    posted_.store(false, std::memory_order_release);
                    f_();
                });
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
