// SPDX-License-Identifier: Apache-2.0
// Callbacks: for programs without coroutines. Each operation takes a function object as its last argument, and calls it
// with (error_code) or (error_code, value); an acquire is cancelled by an Asio cancellation signal.
//
//     callbacks [SERVERS]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using zklock::error_code;

// It lives until the last of its callbacks has been called. A pending acquire keeps neither its lock nor the client
// open; so the lock is a member here, and each callback keeps the whole.
class worker : public std::enable_shared_from_this<worker> {
public:
    explicit worker(const zklock::client& zk) : zk_(zk), lock_(zk, "/examples/callbacks") {}

    void begin()
    {
        lock_.acquire(5s, [self = shared_from_this()](error_code ec, zklock::guard held) {
            self->on_acquired(ec, std::move(held));
        });
    }
    [[nodiscard]] bool done_well() const { return done_well_; }

private:
    void on_acquired(error_code ec, zklock::guard held)
    {
        if (ec) {
            std::cerr << "no lock: " << ec.message() << '\n';
            return end();
        }
        std::cout << "held, with token " << held.fencing_token() << '\n';
        held_ = std::move(held);

        // Another acquire waits behind this one; somebody loses patience. Here one thread runs io; where several do,
        // emit on the strand of the operation (asio::bind_executor), because a signal is for one thread at a time.
        auto on_second = [self = shared_from_this()](error_code why, zklock::guard) { self->on_cancelled(why); };
        lock_.acquire(asio::bind_cancellation_slot(impatience_.slot(), on_second));
        impatience_.emit(asio::cancellation_type::terminal);
    }

    void on_cancelled(error_code why)
    {
        if (why == asio::error::operation_aborted)
            std::cout << "the second acquire was cancelled\n";
        std::move(held_).release([self = shared_from_this()](error_code ec) { self->on_released(ec); });
    }

    void on_released(error_code ec)
    {
        if (ec)
            std::cerr << "not held to the end: " << ec.message() << '\n';
        else
            std::cout << "released\n";
        done_well_ = !ec;
        end();
    }

    void end()
    {
        zk_.close([](error_code) {}); // io.run() returns after that
    }

    zklock::client zk_;
    zklock::mutex lock_;
    zklock::guard held_;
    asio::cancellation_signal impatience_;
    bool done_well_ = false;
};

int main(int count, char** arguments)
try {
    asio::io_context io;
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1];
    const auto one = std::make_shared<worker>(zklock::client(io, options));
    one->begin();
    io.run();
    return one->done_well() ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
