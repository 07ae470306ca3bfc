#pragma once
#include "driver/driver.hpp"

#include <zklock/zklock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace zklock::bench {

using asio::awaitable;

/// The value; an error ends the measurement.
template <class T> T must(result<T> r)
{
    if (r.has_error())
        throw std::runtime_error("zklock: " + r.error().message());
    if constexpr (!std::is_void_v<T>)
        return std::move(r).value();
}

/// What the workloads of zklock have in common: one thread, on it some clients, all through the public interface. Their
/// session time-out is `session_ms` of the request, or 30 s; with `tls_ca`, the file of an authority, they use TLS;
/// with `handoff`, an address on this machine, they tell each other there what they let go.
class scene : public workload {
public:
    explicit scene(request asked) : asked_(std::move(asked)) {}

    void set_up() override;
    void tear_down() override; ///< closes the clients

protected:
    [[nodiscard]] virtual std::size_t sessions() const { return 1; }
    /// How long after each of them the next one begins to connect.
    [[nodiscard]] virtual std::chrono::milliseconds between_sessions() const { return {}; }
    [[nodiscard]] client& zk(std::size_t i = 0) { return clients_.at(i); }
    [[nodiscard]] mutex_options options() const; ///< `linger_ms` and `cohort` of the request
    [[nodiscard]] std::string path() const { return asked_.text("path"); }
    [[nodiscard]] std::chrono::milliseconds seconds() const { return asked_.milliseconds("ms"); }

    void run(awaitable<void> task); ///< until it has ended; rethrows
    void run_for(std::chrono::milliseconds time);
    void run_until_idle(); ///< until a quarter of a second passes with almost nothing to do

    /// Starts it beside everything else. What it throws is thrown by whichever run… comes next.
    void start(awaitable<void> task);
    void run_until_started_end(); ///< until all that start() began has ended

    request asked_;
    asio::io_context io_{1};

private:
    void run_io();

    std::vector<client> clients_;
    std::size_t started_ = 0;
    bool wait_for_started_ = false;
    std::exception_ptr failure_;
};

std::unique_ptr<workload> make_latency_workload(const request& asked);   ///< uncontended, first, handoff
std::unique_ptr<workload> make_apart_workload(const request& asked);     ///< handoff and crowd, between processes
std::unique_ptr<workload> make_rate_workload(const request& asked);      ///< crowd, independent, arrivals
std::unique_ptr<workload> make_multitude_workload(const request& asked); ///< cancel, memory
std::unique_ptr<workload> make_fleet_workload(const request& asked);     ///< fleet

} // namespace zklock::bench
