#include "tool/doctor/server_words.hpp"

#include <zklock/errc.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <utility>
#include <variant>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto with_error = asio::as_tuple(asio::use_awaitable);

asio::awaitable<result<std::string>> converse(server_address whom, std::string word)
{
    const auto executor = co_await asio::this_coro::executor;
    tcp::resolver resolver(executor);
    auto resolving = resolver.async_resolve(whom.host, whom.port, with_error);
    auto [not_resolved, addresses] = co_await std::move(resolving);
    if (not_resolved)
        co_return not_resolved;
    tcp::socket socket(executor);
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

asio::awaitable<void> sleep(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
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
    auto either = converse(std::move(whom), std::move(word)) || sleep(limit);
    auto first = co_await std::move(either);
    if (first.index() == 1)
        co_return make_error_code(errc::timed_out);
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
