#include "zklock/client.hpp"
#include "adapter/client/client_state.hpp"
#include "adapter/client/operation.hpp"

namespace zklock {
namespace detail {
namespace {

class connect_operation final : public operation<> {
public:
    connect_operation(std::shared_ptr<client_state> client, lease_clock::duration timeout, void_handler handler)
        : operation(std::move(client), std::move(handler)), deadline_(deadline_after(timeout))
    {
    }

private:
    void begin() override
    {
        if (auto* const core = enter_open_client())
            wait_ = core->waits.add(deadline_, [this, self = shared_from_this()](error_code ec) { complete(ec); });
    }
    bool withdraw() override
    {
        if (auto* const core = client()->open_core())
            core->waits.remove(wait_);
        return true;
    }

    std::optional<lease_clock::time_point> deadline_;
    connection_waits::id wait_ = 0;
};

class close_operation final : public operation<> {
    using operation::operation;

    void begin() override
    {
        const auto self = shared_from_this();
        client()->pending().add_last(self);
        client()->close(); // cancelled or not: that only concerns the waiting
        if (client()->closed())
            end_as_closed();
        else if (cancelled())
            complete(asio::error::operation_aborted);
    }
    /// The session of a client that has failed was not ended.
    void end_as_closed() override { complete(client()->failure()); }
};

} // namespace

void start_wait_connected(std::shared_ptr<client_handle> client, lease_clock::duration timeout, void_handler handler)
{
    connect_operation::launch(std::make_shared<connect_operation>(client->state(), timeout, std::move(handler)));
}

void start_close(std::shared_ptr<client_handle> client, void_handler handler)
{
    close_operation::launch(std::make_shared<close_operation>(client->state(), std::move(handler)));
}

asio::any_io_executor executor_of(const std::shared_ptr<client_handle>& client)
{
    return client->state()->executor();
}

} // namespace detail

client::client(asio::any_io_executor executor, client_options options)
    : state_(std::make_shared<detail::client_handle>(detail::client_state::make(executor, std::move(options))))
{
}

connection_state client::state() const noexcept
{
    return state_->state()->state();
}

metrics client::metrics() const
{
    detail::client_state& state = *state_->state();
    const detail::client_counters& counted = state.counted();
    zklock::metrics m;
    m.state = state.state();
    m.reconnects = counted.connection.reconnects.read();
    m.disconnects = counted.connection.disconnects.read();
    m.expiries = counted.connection.expiries.read();
    m.authentication_failures = counted.connection.authentication_failures.read();
    m.requests = counted.connection.requests.read();
    m.unseen = counted.unseen_guards;
    m.heartbeats = counted.connection.heartbeats.read();
    m.heartbeat_delays = counted.connection.heartbeat_delays.read();
    m.handoff = counted.connection.handoff.read();
    m.by_name = counted.locks.read();
    const bool ended = !state.alive(); // what was left over then is counted nowhere
    if (ended) {
        m.handoff.listens = false;
        m.handoff.connected_to = m.handoff.connected_from = 0;
    }
    for (lock_metrics& l : m.by_name) {
        if (ended)
            l.waiting = l.held = 0;
        m.all += l;
    }
    return m;
}

std::int64_t client::session_id() const noexcept
{
    return state_->state()->session_id();
}

} // namespace zklock
