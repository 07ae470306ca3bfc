#include "zklock/scene.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

namespace zklock::bench {

using namespace std::chrono_literals;

void scene::set_up()
{
    client_options options;
    options.servers = asked_.text("servers");
    options.tls.ca_file = asked_.text("tls_ca", "");
    options.tls.enabled = !options.tls.ca_file.empty();
    options.session_timeout = std::chrono::milliseconds{asked_.number("session_ms", 30'000)};
    options.handoff.listen = asked_.text("handoff", "");
    if (!options.handoff.listen.empty())
        options.handoff.peers = {"127.0.0.0/8"};
    for (std::size_t i = 0; i < sessions(); ++i) {
        clients_.emplace_back(io_, options);
        if (between_sessions() != 0ms)
            run_for(between_sessions());
    }
    const auto all = [this]() -> awaitable<void> {
        for (auto& c : clients_)
            must(co_await c.wait_connected(15s));
    };
    run(all());
}

void scene::tear_down()
{
    const auto all = [this]() -> awaitable<void> {
        for (auto& c : clients_)
            must(co_await c.close());
    };
    run(all());
}

mutex_options scene::options() const
{
    mutex_options o;
    o.linger = std::chrono::milliseconds{asked_.number("linger_ms", 0)};
    o.cohort = static_cast<unsigned>(asked_.number("cohort", 1));
    return o;
}

void scene::run_io()
{
    io_.restart();
    io_.run();
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
}

void scene::run(awaitable<void> task)
{
    bool ended = false;
    asio::co_spawn(io_, std::move(task), [this, &ended](std::exception_ptr e) {
        ended = true;
        if (e)
            failure_ = e;
        io_.stop();
    });
    while (!ended)
        run_io();
}

void scene::run_for(std::chrono::milliseconds time)
{
    asio::steady_timer timer{io_, time};
    timer.async_wait([this](error_code) { io_.stop(); });
    run_io();
}

void scene::run_until_idle()
{
    // Heartbeats and the like are a handful.
    constexpr std::size_t almost_nothing = 20;
    io_.restart();
    while (io_.run_for(250ms) > almost_nothing) {
    }
    if (failure_)
        std::rethrow_exception(std::exchange(failure_, nullptr));
}

void scene::start(awaitable<void> task)
{
    ++started_;
    asio::co_spawn(io_, std::move(task), [this](std::exception_ptr e) {
        --started_;
        if (e)
            failure_ = e;
        if (e || (wait_for_started_ && started_ == 0))
            io_.stop();
    });
}

void scene::run_until_started_end()
{
    wait_for_started_ = true;
    while (started_ != 0)
        run_io();
    wait_for_started_ = false;
}

} // namespace zklock::bench
