#include "adapter/client_state.hpp"

#include "adapter/options_check.hpp"
#include "zklock/errc.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>

#include <unistd.h>

#include <array>
#include <string>

namespace zklock::detail {

namespace {

/// Who we are where the options do not say: `host:pid`.
std::string host_and_process()
{
    std::array<char, 256> name{};
    const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
    return std::string(known ? name.data() : "localhost") + ":" + std::to_string(::getpid());
}

} // namespace

client_state::client_state(const asio::any_io_executor& executor, client_options options)
    : invalid_(check(options)), executor_(executor), strand_(asio::make_strand(executor)),
      state_(invalid_ ? connection_state::failed : connection_state::connecting)
{
    if (!invalid_)
        options_.emplace(std::move(options));
}

std::shared_ptr<client_state> client_state::make(const asio::any_io_executor& executor, client_options options)
{
    const std::shared_ptr<client_state> state(new client_state(executor, std::move(options)));
    auto& context = asio::query(executor, asio::execution::context);
    state->registry_ = asio::use_service<client_service>(context).clients();
    state->registry_->add(*state);
    if (!state->invalid_)
        static_cast<void>(state->post([raw = state.get()] { raw->open(); })); // the posted function keeps the state
    return state;
}

client_state::~client_state()
{
    if (registry_)
        registry_->remove(*this);
}

asio::any_io_executor client_state::executor() const
{
    const std::lock_guard lock(mutex_);
    return executor_;
}

error_code client_state::refusal() const noexcept
{
    return invalid_ ? invalid_ : make_error_code(errc::closed);
}

void client_state::open()
{
    if (options_->identifier.empty())
        options_->identifier = host_and_process();
    core_ = std::make_unique<client_core>(*strand_, *options_, holds_);
    options_.reset();
    core_->session.on_state([this](connection_state now) {
        session_id_.store(core_->session.id(), std::memory_order_release);
        if (!closing_)
            state_.store(now, std::memory_order_release);
        core_->waits.state_changed();
    });
}

void client_state::close()
{
    if (!core_ || std::exchange(closing_, true))
        return;
    state_.store(connection_state::closed, std::memory_order_release);
    core_->waits.end_all(make_error_code(errc::closed));
    core_->session.close([self = shared_from_this()] { self->finish_close(); });
}

void client_state::finish_close()
{
    closed_ = true;
    alive_.store(false, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            list->front().end_as_closed();
    // Not from inside a function of the session's.
    static_cast<void>(post([this] { core_.reset(); }));
}

void client_state::close_in_background()
{
    static_cast<void>(post([this] { close(); }));
}

void client_state::context_gone()
{
    std::optional<asio::strand<asio::any_io_executor>> strand;
    asio::any_io_executor executor = asio::system_executor();
    {
        const std::lock_guard lock(mutex_);
        strand_.swap(strand);
        executor_.swap(executor);
    }
    alive_.store(false, std::memory_order_release);
    state_.store(connection_state::closed, std::memory_order_release);
    session_id_.store(0, std::memory_order_release);
    // What the handlers own may come back here when it is destroyed, and finds no strand.
    for (auto* list : {&pending_, &closers_})
        while (!list->empty())
            list->front().abandon();
    if (core_) {
        core_->store.shutdown();
        core_->scheduler.shutdown();
        core_.reset();
    }
}

} // namespace zklock::detail
