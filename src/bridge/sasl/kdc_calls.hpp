#pragma once
#include "runtime/blocking_call.hpp"

#include <boost/asio/execution_context.hpp>

#include <cstddef>
#include <memory>

namespace zklock::bridge {

/// Around the part of a call that is in Kerberos's libraries. When the process ends, its thread stops there for good:
/// the libraries' own end destroys their mutexes, and who comes back to one aborts the process. What stops it unwinds
/// the stack down to here, and must not come to a `noexcept` or `catch` before.
class stops_with_process {
public:
    stops_with_process() noexcept;
    ~stops_with_process();
    stops_with_process& operator=(stops_with_process&&) = delete;
};

/// Around what must not be unwound in between: a destructor that gives back what Kerberos's libraries have made.
class not_stopped_here {
public:
    not_stopped_here() noexcept;
    ~not_stopped_here();
    not_stopped_here& operator=(not_stopped_here&&) = delete;

private:
    int before_ = 0;
};

/// Makes these calls for all clients of an execution context. A KDC that does not answer holds a call for half a
/// minute, and it cannot be ended. So nobody ever waits for one: neither the end of the context, nor its preparation
/// for a fork, nor the end of the process, nor a look-up of names.
///
/// In the whole process, no more than `at_once` are in work; the others wait, as long as they are wanted. In a process
/// that was forked off there are none: who waits for one is told so. It may find Kerberos's libraries locked for ever,
/// if one was in work in the parent just then.
class kdc_calls final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;
    static constexpr std::size_t at_once = 8;

    explicit kdc_calls(boost::asio::execution_context& context);

    /// Makes the call on a thread, and then says so, unless the context ends before, or nobody wants the call when its
    /// turn comes. From any thread. What is told may use the context. The call outlives that, if it ends before, and so
    /// must not have anything that belongs to it: no strand, no executor.
    void begin(std::shared_ptr<runtime::blocking_call>, runtime::call_told);

private:
    friend class stops_with_process;

    class home; // what the threads know of a context
    struct pool;

    void shutdown() override;
    void notify_fork(boost::asio::execution_context::fork_event) override;

    const std::shared_ptr<home> home_;
};

} // namespace zklock::bridge
