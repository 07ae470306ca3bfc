// SPDX-License-Identifier: Apache-2.0
// An election with an orderly shutdown: among all programs that stand on the path one leads. At SIGTERM (or Ctrl-C) the
// leader ends its term in good order: its last write says how far it has come, the next leader reads that, and goes on.
//
//     election SERVERS NAME
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
const std::string notes = "/examples-election-notes"; // what a leader leaves to the next

asio::awaitable<zklock::result<void>> reign(zklock::client zk, zklock::leadership& term, std::string name)
{
    // Being told to stop shall not throw at the next co_await, as it would otherwise.
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto before = co_await zk.get(notes);
    if (!before)
        co_return before.error(); // ends lead(), unless the leadership was lost
    std::cout << name << " leads, after " << before.value().data << std::endl;

    asio::steady_timer next(co_await asio::this_coro::executor);
    for (bool stop = false; !stop;) {
        // … one step of a leader's work; what it writes carries term.fencing_token()
        next.expires_after(100ms);
        static_cast<void>(co_await next.async_wait(asio::as_tuple(asio::use_awaitable)));
        // A cancellation is told once, to what is awaited just then, which may have ended well: so ask.
        const auto told = co_await asio::this_coro::cancellation_state;
        stop = told.cancelled() != asio::cancellation_type::none;
    }
    if (!term.resigning()) {
        std::cout << name << " has lost the leadership" << std::endl;
        co_return zklock::errc::lost;
    }
    // The last words are written only if it still leads when the servers execute them.
    co_await asio::this_coro::reset_cancellation_state();
    zklock::transaction last_words;
    last_words.set(notes, name);
    const auto written = co_await term.commit(last_words);
    std::cout << name << (written ? " hands over" : " could not hand over: " + written.error().message()) << std::endl;
    co_return boost::outcome_v2::success();
}

asio::awaitable<int> program(zklock::client zk, std::string name)
{
    const auto made = co_await zk.create(notes, "nobody");
    if (!made && made.error() != zklock::errc::node_exists) {
        std::cerr << notes << ": " << made.error().message() << '\n';
        co_return 1;
    }
    zklock::election_options options;
    options.identifier = name;
    options.requeue = true; // stands again after a loss, until it resigns
    zklock::election chair(zk, "/examples/election", options);

    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    signals.async_wait([chair](zklock::error_code ec, int) mutable {
        if (!ec)
            chair.resign(asio::detached); // the body is cancelled, and lead() ends when it has returned
    });
    auto body = [zk, name](zklock::leadership& term) { return reign(zk, term, name); };
    std::cout << name << " stands" << std::endl;
    const auto led = co_await chair.lead(body);
    const bool well = led || led.error() == asio::error::operation_aborted; // it resigned
    if (!well)
        std::cerr << name << ": " << led.error().message() << '\n';
    signals.cancel();
    static_cast<void>(co_await zk.close());
    co_return well ? 0 : 1;
}

int main(int count, char** arguments)
try {
    if (count != 3) {
        std::cerr << "usage: election SERVERS NAME\n";
        return 2;
    }
    asio::io_context io;
    zklock::client_options options;
    options.servers = arguments[1];
    auto status = asio::co_spawn(io, program(zklock::client(io, options), arguments[2]), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
