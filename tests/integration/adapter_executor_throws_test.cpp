// program: adapter
// The executor of a client throws, and not for lack of memory: the client fails as a whole.
#include "integration/adapter_scene.hpp"
#include "integration/kept_log.hpp"
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"

using namespace zklock::test;

namespace {

/// A client on an executor that can throw, with a lock that it holds, and that it waits for once more.
struct scene {
    explicit scene(const std::string& path, std::string at = server().address())
        : servers(std::move(at)), lock(c, path), own(c, path + "-too"), held(hold(io, lock)), more(hold(io, own))
    {
        held.wait_lost([this](error_code ec) { lost = ec; });
        lock.acquire([this](error_code ec, const guard&) { waited = ec; });
    }
    [[nodiscard]] client_options options()
    {
        client_options o = options_for(servers, 4s);
        o.log = [this](log_level, std::string_view line) {
            *throws = *throws || (!at_line.empty() && line.find(at_line) != line.npos);
            if (at_suspension && line.find(" has ended after ") != line.npos)
                std::exchange(at_suspension, nullptr)();
        };
        return o;
    }
    /// Holds one lock, waits for it once more, and has nothing to do: what comes next, comes from outside of the
    /// strand.
    void settle()
    {
        run_until(io, [this] { return c.metrics().all.waiting > 0; });
        io.restart();
        while (io.poll() > 0) {
        }
    }
    void expect_failure()
    {
        CHECK(c.state() == connection_state::failed);
        CHECK(c.session_id() == 0);
        CHECK(!held);
        run_until(io, [this] { return lost && waited; });
        CHECK(!*lost);
        CHECK(*waited == errc::closed);
        std::optional<error_code> read;
        c.get("/", [&](error_code ec, const auto&...) { read = ec; });
        run_until(io, [&] { return read.has_value(); });
        CHECK(*read == errc::closed);
        held = guard();
        more = guard();
        run_dry(io);
        expect_clean(server());
    }

    const std::string servers;
    std::string_view at_line;            ///< of the log; then it throws
    std::function<void()> at_suspension; ///< is called as the log tells of it, once
    std::shared_ptr<bool> throws = std::make_shared<bool>(false);
    std::optional<error_code> lost, waited;
    asio::io_context io;
    client c{failing_executor(io.get_executor(), throws, std::make_exception_ptr(std::runtime_error("meant to"))),
             options()};
    mutex lock, own;
    guard held, more;
};

} // namespace

TEST_CASE("the executor throws as it is to call a handler: out of run(), and the client fails as a whole")
{
    scene s("/executor-that-throws-at-a-handler");
    const auto called = std::make_shared<int>(0);
    s.at_line = "timed out: ";
    s.lock.acquire(10ms, [called](const auto&...) { ++*called; });
    CHECK_THROWS_WITH(s.io.run_for(60s), "meant to");
    CHECK(*called == 0);
    CHECK(called.use_count() == 1);
    s.expect_failure();
}

TEST_CASE("the executor refuses what a guard's destructor leaves to it: nothing is thrown, and the client fails")
{
    scene s("/executor-that-refuses-a-destructor");
    s.settle();
    *s.throws = true;
    s.more = guard();
    CHECK_FALSE(*s.throws);
    s.expect_failure();
}

TEST_CASE("the executor refuses to wake the client: out of run(), and the client fails as it is used next")
{
    scene s("/executor-that-refuses-a-wake-up");
    s.settle();
    *s.throws = true;
    CHECK_THROWS_WITH(s.io.run_for(60s), "meant to");
    CHECK(s.c.state() == connection_state::connected);
    s.more = guard();
    s.expect_failure();
}

TEST_CASE("the executor refuses to wake the client for ever: guards are lost with their lease, and nothing is leaked")
{
    const auto called = std::make_shared<int>(0);
    {
        scene s("/executor-that-refuses-wake-ups");
        s.lock.acquire([called](const auto&...) { ++*called; });
        s.settle();
        *s.throws = true;
        CHECK_THROWS_WITH(s.io.run_for(60s), "meant to");
        run_until(s.io, [&s] { return !s.held && !s.more; });
    }
    CHECK(*called == 0);
    CHECK(called.use_count() == 1);
    expect_clean(server());
}

TEST_CASE("the executor refuses what the client's strand has left to do: the client fails as it is used next")
{
    proxy link(server().port());
    scene s("/executor-that-refuses-the-rest", link.address());
    run_until(s.io, [&s] { return s.c.metrics().all.waiting == 1; });
    s.at_suspension = [&s] { // in the strand: the guard's release waits there
        s.more = guard();
        *s.throws = true;
    };
    link.refuse();
    link.cut();
    run_until(s.io, [&s] { return !s.at_suspension && !*s.throws; });
    CHECK(s.c.state() == connection_state::suspended);
    s.c.get("/", [](const auto&...) {});
    link.accept();
    s.expect_failure();
}

TEST_CASE("a client that cannot be used, or opened, tells a listener whose executor throws: the log hears of it")
{
    asio::io_context io;
    client_options options = options_for(server().address(), 1ms); // too short
    const kept_log log;
    options.log = log;
    options.listener = listen_to_connection(failing_executor(io.get_executor(), std::make_shared<bool>(true),
                                                             std::make_exception_ptr(std::runtime_error("meant to"))),
                                            [](const connection_event&) { FAIL("it was told"); });
    const client c(io, options);
    run_dry(io);
    CHECK(log.has("the client cannot be used: "));
    CHECK(log.has("the executor of a listener refuses its events: meant to"));

    const auto throws = std::make_shared<bool>(true);
    options = options_for(server().address());
    options.log = log;
    connection_state told = connection_state::connecting;
    options.listener = listen_to_connection(io.get_executor(), [&told](const connection_event& e) { told = e.state; });
    client other(failing_executor(io.get_executor(), throws, std::make_exception_ptr(std::runtime_error("meant to"))),
                 options);
    CHECK(other.state() == connection_state::failed);
    CHECK(log.has("the client has failed before it could connect: meant to"));
    run_dry(io);
    CHECK(told == connection_state::failed);
}
