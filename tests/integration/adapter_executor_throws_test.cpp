// program: adapter
// The executor of a client throws, and not for lack of memory: the client fails as a whole.
#include "integration/adapter_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"
#include "support/one_server.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace zklock;
using namespace zklock::test;

namespace {

/// A client on an executor that can throw, with a lock that it holds, and that it waits for once more.
struct scene {
    explicit scene(const std::string& path)
        : lock(c, path), own(c, path + "-too"), held(hold(io, lock)), more(hold(io, own))
    {
        held.wait_lost([this](error_code ec) { lost = ec; });
        lock.acquire([this](error_code ec, const guard&) { waited = ec; });
    }
    [[nodiscard]] client_options options()
    {
        client_options o = options_for(server().address());
        o.session_timeout = 4s;
        o.log = [this](log_level, std::string_view line) {
            *throws = *throws || (!at_line.empty() && line.find(at_line) != line.npos);
        };
        return o;
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

    std::string_view at_line; ///< of the log; then it throws
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
    run_until(s.io, [&s] { return s.c.metrics().all.waiting == 1; });
    *s.throws = true;
    s.more = guard();
    CHECK_FALSE(*s.throws);
    s.expect_failure();
}
