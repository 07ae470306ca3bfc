#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace zklock::test {

/// Another executor, which takes no work as long as a flag says so: as if there was no memory for it; or which throws
/// something else, once, in place of taking a function. Its copies, and what they are to run, share the flag, whose use
/// count so tells whether there are any.
class failing_executor {
public:
    failing_executor(boost::asio::any_io_executor inner, std::shared_ptr<bool> fails)
        : inner_(std::move(inner)), fails_(std::move(fails))
    {
    }
    failing_executor(boost::asio::any_io_executor inner, std::shared_ptr<bool> fails, std::exception_ptr once)
        : inner_(std::move(inner)), fails_(std::move(fails)), once_(std::move(once))
    {
    }

    template <class F> void execute(F&& f) const
    {
        check();
        boost::asio::require(inner_, boost::asio::execution::blocking.never).execute(std::forward<F>(f));
    }
    [[nodiscard]] failing_executor require(boost::asio::execution::blocking_t::never_t) const { return *this; }
    [[nodiscard]] failing_executor require(boost::asio::execution::outstanding_work_t::tracked_t tracked) const
    {
        if (!once_)
            check();
        return {boost::asio::prefer(inner_, tracked), fails_, once_};
    }
    [[nodiscard]] failing_executor require(boost::asio::execution::outstanding_work_t::untracked_t untracked) const
    {
        return {boost::asio::prefer(inner_, untracked), fails_, once_};
    }
    [[nodiscard]] boost::asio::execution_context& query(boost::asio::execution::context_t what) const noexcept
    {
        return boost::asio::query(inner_, what);
    }
    [[nodiscard]] static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept
    {
        return boost::asio::execution::blocking.never;
    }
    friend bool operator==(const failing_executor&, const failing_executor&) noexcept = default;

private:
    void check() const
    {
        if (!*fails_)
            return;
        if (!once_)
            throw std::bad_alloc();
        *fails_ = false;
        std::rethrow_exception(once_);
    }

    boost::asio::any_io_executor inner_;
    std::shared_ptr<bool> fails_;
    std::exception_ptr once_;
};

} // namespace zklock::test
