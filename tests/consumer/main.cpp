// A user's program, compiled as a user does it: his own flags, and no ZooKeeper header (see poison/).
#include <zklock/client.hpp>
#include <zklock/mutex.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> use_the_library(bool& as_expected)
{
    const auto executor = co_await asio::this_coro::executor;
    zklock::client_options options;
    options.servers = "127.0.0.1:1"; // nobody listens there
    zklock::client client{executor, options};
    zklock::mutex mutex{client, "/locks/consumer"};

    const auto guard = co_await mutex.try_acquire();
    const auto closed = co_await client.close();
    // Executors are compared by tables that library and program both have: of a shared library, they have to be one.
    const bool same_tables = zklock::guard().get_executor() == asio::any_io_executor(asio::system_executor());
    as_expected = !guard && guard.error() == zklock::errc::not_connected && closed && same_tables;
}

int main()
{
    asio::io_context context;
    bool as_expected = false;
    asio::co_spawn(context, use_the_library(as_expected), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
    std::cout << (as_expected ? "as expected\n" : "not as expected\n");
    return as_expected ? 0 : 1;
}
