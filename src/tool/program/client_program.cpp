#include "tool/program/client_program.hpp"

#include "tool/program/client_log.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/program/run_program.hpp"

#include <zklock/errc.hpp>
#include <zklock/result.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

asio::awaitable<int> connect_and_run(client zk, const connection_arguments& given, voice& out, client_log& log,
                                     const std::function<asio::awaitable<int>(client)>& program)
{
    int status = failed;
    std::exception_ptr thrown;
    try {
        auto connecting = connect(zk, seconds(given.connect_timeout));
        const error_code why = co_await std::move(connecting);
        if (why) {
            status = tell_unconnected(out, given.servers, why, log.trouble());
        } else {
            log.connected();
            auto running = program(zk);
            status = co_await std::move(running);
        }
    } catch (...) {
        thrown = std::current_exception();
    }
    auto closing = zk.close();
    static_cast<void>(co_await std::move(closing));
    if (thrown)
        std::rethrow_exception(thrown);
    co_return status;
}

} // namespace

asio::awaitable<error_code> connect(client zk, std::chrono::milliseconds limit)
{
    using namespace asio::experimental::awaitable_operators;
    const bool limited = limit.count() != 0;
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    if (limited)
        timer.expires_after(limit);
    auto connecting = zk.wait_connected(limited ? lease_clock::duration(limit) : lease_clock::duration::max());
    result<void> connected = co_await std::move(connecting);
    if (connected.has_error())
        co_return connected.error();
    auto looking = zk.exists("/");
    auto waiting = timer.async_wait(asio::as_tuple(asio::use_awaitable));
    auto either = std::move(looking) || std::move(waiting);
    const auto first = co_await std::move(either);
    if (first.index() == 1)
        co_return make_error_code(errc::not_connected);
    const auto& found = std::get<0>(first);
    const bool refused = found.has_error() && found.error() == errc::authentication_failed;
    co_return refused ? found.error() : error_code(); // any other is an answer
}

int tell_unconnected(voice& out, const std::string& servers, error_code why, const std::string& reason)
{
    const bool unreachable = why == errc::not_connected || why == errc::tls_failed;
    const std::string words = reason.empty() ? why.message() : reason;
    out.warn(unreachable ? "no_connection" : "failed",
             {{"servers", servers}, {"error", why.message()}, {"reason", reason}},
             unreachable                   ? fmt::format("no connection to {}: {}", servers, words)
             : why == errc::invalid_option ? words
                                           : fmt::format("{}: {}", why.message(), words));
    if (unreachable)
        return no_connection;
    return why == errc::invalid_option ? usage : failed;
}

int tell_failed(voice& out, const std::string& what, error_code why)
{
    out.warn("failed", {{"what", what}, {"error", why.message()}}, what + ": " + why.message());
    return why == errc::invalid_path || why == errc::invalid_option ? usage : failed;
}

int run_with_client(const connection_arguments& given, voice& out,
                    const std::function<asio::awaitable<int>(client)>& program)
{
    const client_options options = options_of(given);
    check(options);
    client_log log;
    asio::io_context& io = make_context();
    client zk(io, log.attached_to(options));
    return run_program(io, connect_and_run(zk, given, out, log, program));
}

int report_with_client(const connection_arguments& given, voice& out,
                       const std::function<asio::awaitable<int>(client)>& program)
{
    const int status = run_with_client(given, out, program);
    const int why = std::fflush(stdout) == 0 ? 0 : errno;
    if (why == 0 && std::ferror(stdout) == 0)
        return status;
    const std::string words = "stdout cannot be written";
    out.warn("failed", {{"what", "stdout"}}, why == 0 ? words : words + ": " + std::generic_category().message(why));
    return failed;
}

} // namespace zklock::tool
