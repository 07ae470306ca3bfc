#include "tool/doctor/server_words.hpp"

#include <zklock/errc.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <memory>
#include <thread>
#include <utility>
#include <variant>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto with_error = asio::as_tuple(asio::use_awaitable);

/// A name that is looked up.
struct lookup {
    lookup(const asio::any_io_executor& executor, asio::steady_timer::duration limit) : bell(executor, limit) {}

    asio::steady_timer bell;
    bool answered = false;
    error_code why_not;
    tcp::resolver::results_type found;
};

/// The system's resolver cannot be interrupted, and Asio's has one thread for all names. So each name has a thread,
/// which nobody waits for in the end: see make_context().
asio::awaitable<result<tcp::resolver::results_type>> resolve(server_address whom, asio::steady_timer::duration limit)
{
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto it = std::make_shared<lookup>(executor, limit);
    std::thread([it, whom, executor] {
        asio::io_context own;
        tcp::resolver resolver(own);
        error_code why_not;
        auto found = resolver.resolve(whom.host, whom.port, why_not);
        asio::post(executor, [it, why_not, found = std::move(found)] {
            it->answered = true;
            it->why_not = why_not;
            it->found = found;
            it->bell.cancel();
        });
    }).detach();
    auto waiting = it->bell.async_wait(with_error);
    co_await std::move(waiting);
    if (!it->answered)
        co_return make_error_code(errc::not_connected);
    if (it->why_not)
        co_return it->why_not;
    co_return it->found;
}

asio::awaitable<result<std::string>> converse(tcp::resolver::results_type addresses, std::string word)
{
    tcp::socket socket(co_await asio::this_coro::executor);
    auto connecting = asio::async_connect(socket, addresses, with_error);
    auto [not_connected, endpoint] = co_await std::move(connecting);
    if (not_connected)
        co_return not_connected;
    auto writing = asio::async_write(socket, asio::buffer(word), with_error);
    auto [not_written, written] = co_await std::move(writing);
    if (not_written)
        co_return not_written;
    std::string answer;
    auto reading = asio::async_read(socket, asio::dynamic_buffer(answer, 65'536), with_error);
    auto [end, length] = co_await std::move(reading); // the server hangs up behind its answer
    if (end && end != asio::error::eof)
        co_return end;
    co_return answer;
}

asio::awaitable<void> sleep_until(std::chrono::steady_clock::time_point end)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, end);
    auto waiting = timer.async_wait(with_error);
    co_await std::move(waiting);
}

} // namespace

std::string chroot_in(const std::string& list)
{
    const auto slash = list.find('/');
    return slash == list.npos ? std::string() : list.substr(slash);
}

std::vector<server_address> servers_in(const std::string& list)
{
    std::vector<server_address> servers;
    std::string rest = list.substr(0, list.find('/'));
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const std::string one = rest.substr(0, comma);
        rest = comma == rest.npos ? std::string() : rest.substr(comma + 1);
        server_address server;
        const auto colon = one.rfind(':');
        const auto bracket = one.rfind(']');
        const bool has_port = colon != one.npos && (bracket == one.npos || colon > bracket);
        server.host = one.substr(0, has_port ? colon : one.npos);
        if (has_port)
            server.port = one.substr(colon + 1);
        if (server.host.starts_with('[') && server.host.ends_with(']'))
            server.host = server.host.substr(1, server.host.size() - 2);
        servers.push_back(std::move(server));
    }
    return servers;
}

asio::awaitable<result<std::string>> ask_server(server_address whom, std::string word, std::chrono::milliseconds limit)
{
    using namespace asio::experimental::awaitable_operators;
    const auto end = std::chrono::steady_clock::now() + limit;
    auto resolving = resolve(std::move(whom), limit);
    result<tcp::resolver::results_type> addresses = co_await std::move(resolving);
    if (addresses.has_error())
        co_return addresses.error();
    auto either = converse(std::move(addresses).value(), std::move(word)) || sleep_until(end);
    auto first = co_await std::move(either);
    if (first.index() == 1)
        co_return make_error_code(errc::not_connected);
    co_return std::get<0>(std::move(first));
}

std::string value_in(const std::string& answer, const std::string& key)
{
    std::size_t at = 0;
    while (at < answer.size()) {
        const auto end = std::min(answer.find('\n', at), answer.size());
        const std::string line = answer.substr(at, end - at);
        for (const char* const between : {": ", "="})
            if (const std::string begin = key + between; line.starts_with(begin))
                return line.substr(begin.size());
        at = end + 1;
    }
    return {};
}

} // namespace zklock::tool
