#pragma once
#include "bridge/names/blocking_calls.hpp"

#include <boost/asio/execution_context.hpp>

#include <cstddef>
#include <memory>

namespace zklock::bridge {

/// Does what may ask a Kerberos server (KDC), for all clients of an execution context. A KDC that does not answer holds
/// such a call for half a minute, and the call cannot be ended. So nobody ever waits for one: neither the end of the
/// context, nor its preparation for a fork, nor the end of the process, nor a look-up of names. A call goes on when its
/// context is gone, and its errand then is not told: until it returns, the errand must not need the context.
///
/// In the whole process, no more than `at_once` are in work; the others wait, as long as they are wanted. In a forked
/// process there are none. But a process that is forked off while a call is in work in the parent may find Kerberos's
/// libraries locked for ever.
class kdc_calls final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;
    static constexpr std::size_t at_once = 8;

    explicit kdc_calls(boost::asio::execution_context& context);
    ~kdc_calls() override;

    /// Runs the errand on a thread, and tells it so there, unless the context ends before. From any thread. Of what an
    /// errand does, only tell() may use the context: it is not called while the context ends or later.
    void begin(std::shared_ptr<errand>);

private:
    class home; // what the threads may know of a context
    struct pool;

    void shutdown() override;
    [[nodiscard]] static pool& of_this_process();

    const std::shared_ptr<home> home_;
};

} // namespace zklock::bridge
