// program: adapter
// Operations keep the order of their calls, whatever thread calls them and whatever throws in between.
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

/// An `io_context`'s, until it is armed: then it does something as a function is to be posted, and refuses.
class refusing_executor {
public:
    struct trap {
        bool armed = false;
        std::function<void()> first;
    };
    refusing_executor(asio::io_context& io, std::shared_ptr<trap> t) : io_(&io), trap_(std::move(t)) {}

    template <class F> void execute(F&& f) const { asio::post(io_->get_executor(), std::forward<F>(f)); }
    [[nodiscard]] refusing_executor require(asio::execution::outstanding_work_t::tracked_t) const
    {
        if (!trap_->armed)
            return *this;
        trap_->first();
        throw std::runtime_error("refused");
    }
    [[nodiscard]] refusing_executor require(asio::execution::outstanding_work_t::untracked_t) const { return *this; }
    [[nodiscard]] refusing_executor require(asio::execution::blocking_t::never_t) const { return *this; }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept { return *io_; }
    [[nodiscard]] static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
    {
        return asio::execution::blocking.never;
    }
    friend bool operator==(const refusing_executor&, const refusing_executor&) noexcept = default;

private:
    asio::io_context* io_;
    std::shared_ptr<trap> trap_;
};

} // namespace

TEST_CASE("what stands behind an operation that throws goes before what another thread starts at once, or posts")
{
    const std::string path = "/order";
    for (const std::size_t behind : {1, 3}) {
        CAPTURE(behind);
        asio::io_context io;
        client_options options;
        options.servers = server().address();
        client c(io, options);
        bool ready = false;
        c.create(path, "", [&](error_code, const std::string&) {
            c.get("/", [&](error_code ec, const node_content&) { // the client waits for no answer behind that
                CHECK_FALSE(ec);
                ready = true;
            });
        });
        while (!ready)
            REQUIRE(io.run_one_for(60s) == 1);
        io.poll();

        std::vector<std::string> made(behind + 1);
        std::atomic<std::size_t> over = 0;
        std::atomic<int> thrown = 0;
        const auto make = [&](std::size_t i) {
            c.create(path + "/n", "", node_kind::persistent_sequential, [&, i](error_code ec, std::string node) {
                CHECK_FALSE(ec);
                made[i] = std::move(node);
                ++over;
            });
        };
        // It is cancelled before it begins, so its handler is posted as its turn comes.
        const auto trap = std::make_shared<refusing_executor::trap>();
        asio::cancellation_signal cancel;
        c.get("/", asio::bind_cancellation_slot(
                       cancel.slot(), asio::bind_executor(refusing_executor(io, trap),
                                                          [](error_code, const node_content&) { FAIL("lost"); })));
        for (std::size_t i = 0; i < behind; ++i)
            make(i);
        trap->armed = true;
        trap->first = [&] { // in the client's turn, while the other thread is free
            std::promise<void> started;
            asio::post(io, [&] {
                make(behind);
                started.set_value();
            });
            started.get_future().wait();
        };
        // Last, and yet the flag is seen by the first: nothing has run since.
        cancel.emit(asio::cancellation_type::terminal);

        const auto run = [&] {
            while (over != behind + 1)
                try {
                    io.run_one_for(10ms);
                } catch (const std::runtime_error&) {
                    ++thrown;
                }
        };
        io.restart();
        std::thread other(run);
        run();
        other.join();
        CHECK(thrown == 1);
        for (std::size_t i = 0; i < behind; ++i)
            CHECK(made[i] < made[i + 1]); // the servers number them as they come
        trap->armed = false;
        for (const std::string& node : made)
            c.remove(node, [](error_code ec) { CHECK_FALSE(ec); });
        bool closed = false;
        c.remove(path, [&](error_code) { c.close([&](error_code) { closed = true; }); });
        io.restart();
        io.run();
        CHECK(closed);
    }
    expect_clean(server());
}
