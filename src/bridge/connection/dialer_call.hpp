#pragma once
#include "bridge/connection/dialer.hpp"
#include "runtime/blocking_call.hpp"
#include "runtime/strand.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace zklock::bridge {

/// What a dialer has done on another thread, as long as it lives.
class dialer_call : public runtime::blocking_call {
public:
    explicit dialer_call(std::weak_ptr<dialer> who) : asker(std::move(who)) {}

    [[nodiscard]] bool wanted() const noexcept final { return !asker.expired(); }

    const std::weak_ptr<dialer> asker;
    std::atomic<bool> lost{false}; ///< it will not be told
};

/// Has one of these threads make the call, or the call fail(), and then calls the dialer. If that cannot be told,
/// the attempt ends when its time is over, and the next one makes another call.
template <class Threads, class Call>
void begin_call(const runtime::strand& strand, const std::shared_ptr<Call>& call, void (dialer::*told)(Call&))
{
    auto& threads = boost::asio::use_service<Threads>(boost::asio::query(strand, boost::asio::execution::context));
    threads.begin(call, [strand, call, told](const char* why_not) {
        try {
            if (why_not)
                call->fail(why_not);
            boost::asio::post(strand, [call, told] {
                if (const auto present = call->asker.lock())
                    ((*present).*told)(*call);
            });
        } catch (...) {
            call->lost = true;
        }
    });
}

} // namespace zklock::bridge
