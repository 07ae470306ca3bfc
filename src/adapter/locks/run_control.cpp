#include "runtime/kept_memory.hpp"
#include "runtime/strand.hpp"
#include "zklock/detail/run.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

#include <memory>

namespace zklock::detail {
namespace {

/// A strand that keeps what memory it needs, and a place for the one cancellation that must not fail.
class kept_control final : public run_control, public std::enable_shared_from_this<kept_control> {
public:
    explicit kept_control(const runtime::strand& own) : run_control(own), strand_(own) {}

    void cancel_later(cause why, asio::cancellation_type type)
    {
        auto stop = [self = shared_from_this(), type] { self->cancel(type); };
        if (why == cause::loss)
            asio::post(strand_, asio::bind_allocator(of_loss_.get(), std::move(stop)));
        else
            asio::post(strand_, std::move(stop));
    }

private:
    const runtime::strand strand_;
    runtime::memory_of_post of_loss_;
};

} // namespace

std::shared_ptr<run_control> make_run_control(const asio::any_io_executor& body)
{
    return std::make_shared<kept_control>(runtime::make_strand(body));
}

void cancel_body(const std::weak_ptr<run_control>& control, run_control::cause why, asio::cancellation_type type)
{
    if (const auto body = control.lock())
        std::static_pointer_cast<kept_control>(body)->cancel_later(why, type);
}

} // namespace zklock::detail
