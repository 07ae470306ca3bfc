#include "chaos/resource.hpp"

#include "support/as_tuple.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace asio = boost::asio;

namespace zklock::chaos {

resource::resource(const std::filesystem::path& socket)
    : acceptor_(thread_.context(), protocol::endpoint(socket.string()))
{
    asio::co_spawn(thread_.context(), accept(), asio::detached);
}

std::vector<write_record> resource::stop()
{
    thread_.stop();
    return std::move(writes_);
}

std::int64_t resource::largest_token(const std::string& path)
{
    return thread_.call([&] {
        const auto found = largest_.find(path);
        return found == largest_.end() ? 0 : found->second;
    });
}

std::size_t resource::refused_after_stop()
{
    return thread_.call([&] {
        const auto refused =
            std::count_if(writes_.begin(), writes_.end(), [](const auto& w) { return w.stopped && !w.accepted; });
        return static_cast<std::size_t>(refused);
    });
}

asio::awaitable<void> resource::accept()
{
    for (;;) {
        auto [ec, client] = co_await acceptor_.async_accept(test::as_tuple);
        if (!ec)
            asio::co_spawn(thread_.context(), serve(std::move(client)), asio::detached);
    }
}

asio::awaitable<void> resource::serve(protocol::socket client)
{
    std::string input;
    for (;;) {
        const auto [ended, size] =
            co_await asio::async_read_until(client, asio::dynamic_buffer(input), '\n', test::as_tuple);
        if (ended)
            co_return; // the process has ended
        const std::string answer = write(input.substr(0, size)) ? "1\n" : "0\n";
        input.erase(0, size);
        const auto [failed, written] = co_await asio::async_write(client, asio::buffer(answer), test::as_tuple);
        if (failed)
            co_return;
    }
}

bool resource::write(const std::string& request)
{
    write_record w;
    std::istringstream in(request);
    in >> w.process >> w.operation >> w.path >> w.token >> w.sent >> w.stopped;
    if (!in)
        throw std::runtime_error("resource: cannot read " + request);
    w.arrived = now();
    auto& largest = largest_[w.path];
    w.accepted = w.token >= largest;
    if (w.accepted)
        largest = w.token;
    writes_.push_back(w);
    return w.accepted;
}

} // namespace zklock::chaos
