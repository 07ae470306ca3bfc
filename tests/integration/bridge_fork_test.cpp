// sanitizers: address
// program: bridge
// A process that is forked off gets copies of a client and of its sockets. What it does with them must not reach the
// parent's session.
#include "bridge/names/blocking_calls.hpp"
#include "integration/adapter_scene.hpp"
#include "integration/fork_scene.hpp"
#include "support/busy_threads.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/own_sockets.hpp"
#include "support/proxy.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

#include <poll.h>

using namespace zklock::test;

namespace {

/// A parent that holds a lock, with a waiter behind it, through a proxy that sees each connection.
struct family {
    zookeeper_server server;
    proxy between{server.port()};
    std::unique_ptr<asio::io_context> io = std::make_unique<asio::io_context>();
    std::optional<client> own;
    std::optional<mutex> lock;
    guard held;
    bool waiter_ended = false;

    family()
    {
        auto options = options_for(between.address(), 60s); // it does not end while a test looks
        own.emplace(*io, options);
        lock.emplace(*own, "/fork");
        held = hold(*io, *lock);
        lock->acquire([this](error_code, guard) { waiter_ended = true; });
        run_until(*io, [this] { return ephemeral_count(server.port()) == 2; });
    }

    void destroy()
    {
        held = guard();
        lock.reset();
        own.reset();
        io.reset();
    }

    /// Whether the servers, and the client itself, still see the session that there was before.
    void check_parent(std::int64_t session)
    {
        std::optional<error_code> answered;
        own->get("/", [&](error_code ec, const node_content&) { answered = ec; });
        run_until(*io, [&] { return answered.has_value(); });
        CHECK_FALSE(*answered);
        CHECK(between.accepted() == 1); // it has been the same connection all the time
        CHECK(own->session_id() == session);
        CHECK(held);
        CHECK(lock->is_held());
        CHECK_FALSE(waiter_ended);
        const auto connected = connected_sessions(server.port());
        CHECK(std::count(connected.begin(), connected.end(), session) == 1);
        CHECK(ephemerals(server.port())[session].size() == 2);

        CHECK(try_once(options_for(server.address()), "/fork") == make_error_code(errc::busy));
    }

    void end(const std::vector<std::string>& paths = {"/fork"})
    {
        own->close([](error_code) {});
        io->restart();
        io->run_for(default_limit);
        expect_clean(server, paths);
    }
};

/// Until the next answer is there to be read.
void wait_readable(std::uint16_t port)
{
    const auto sockets = sockets_to(port);
    REQUIRE_FALSE(sockets.empty());
    pollfd socket{sockets.front(), POLLIN, 0};
    REQUIRE(::poll(&socket, 1, static_cast<int>(default_limit.count())) == 1);
}

/// One after the other, as long as they end well.
void fork_thirty(const std::function<bool()>& life)
{
    for (int children = 0; children < 30; ++children) {
        const int result = in_child([&] { return life() ? 0 : 1; });
        CHECK(result == 0);
        if (result != 0)
            break;
    }
}

/// Whether a client that has not been used yet connects; it is closed then.
bool connects(asio::io_context& io, client& c)
{
    std::optional<error_code> connected;
    c.wait_connected(60s, [&](error_code ec) {
        connected = ec;
        c.close([](error_code) {});
    });
    io.restart();
    io.run();
    return connected == error_code();
}

} // namespace

TEST_CASE("a child that destroys its copies leaves the parent's session, connection and lock alone")
{
    for (const bool told : {false, true}) {
        CAPTURE(told);
        family f;
        const auto session = f.own->session_id();
        for (int children = 0; children < 2; ++children) {
            const auto life = [&] {
                // Nobody will tell it what becomes of the parent's lock.
                const bool forked = f.held.loss().value().reason == zklock::loss_reason::forked;
                const bool is_closed = f.own->state() == connection_state::closed && f.own->session_id() == 0;
                const bool inert = !f.held && !f.lock->is_held() && forked && is_closed;
                const bool counted = f.own->metrics().all.lost() != 0; // nor does it count as a loss
                f.destroy();
                return inert && !counted ? 0 : 1;
            };
            CHECK((told ? in_child(*f.io, life) : in_child(life)) == 0);
            f.check_parent(session);
        }
        f.end();
    }
}

TEST_CASE("a child that is forked off while other threads ask what is held can destroy its copies")
{
    constexpr std::size_t most = 300;
    zookeeper_server server;
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    auto options = options_for(server.address(), 120s); // nothing is heard from the servers during the forks
    client own(io, options);
    semaphore gate(own, "/fork/gate", most);
    std::thread running([&io] { io.run(); });
    std::vector<permits> held;
    held.push_back(gate.permits_of(most).acquire(asio::use_future).get());
    while (held.size() < most)
        held.push_back(held.front().split(1, asio::use_future).get());
    // No thread may be in the context during a fork: the child would not get a lock that it has.
    io.stop();
    running.join();
    std::atomic<long> found = 0;
    busy_threads asking(2, [&] { found += gate.permits_held() == most; });
    while (found < 10)
        std::this_thread::yield();
    fork_thirty([&] {
        const bool inert = gate.permits_held() == 0 && !held.front();
        held.clear();
        return inert;
    });
    asking.stop();
    CHECK(gate.permits_held() == most);
    io.restart();
    running = std::thread([&io] { io.run(); });
    held.clear();
    own.close(asio::use_future).get();
    work.reset();
    running.join();
    expect_clean(server, {"/fork/gate/locks", "/fork/gate/leases"});
}

TEST_CASE("nor do those who ask what an owner holds keep a child from destroying its copies")
{
    family f;
    std::optional<reentrant_mutex> lock(std::in_place, *f.own, "/fork-of-owners");
    const lock_owner me;
    guard held = hold(*f.io, lock->owned_by(me));
    std::atomic<long> found = 0;
    busy_threads asking(2, [&, asked = *lock] { found += asked.hold_count(me) == 1 && asked.owned_by(me).is_held(); });
    while (found < 10)
        std::this_thread::yield();
    fork_thirty([&] {
        const bool none = lock->hold_count(me) == 0 && !lock->owned_by(me).is_held() && !lock->is_held();
        held = guard();
        lock.reset();
        f.destroy();
        return none;
    });
    asking.stop();
    CHECK(lock->hold_count(me) == 1);
    held = guard();
    lock.reset();
    f.end({"/fork", "/fork-of-owners"});
}

TEST_CASE("a child that is forked off inside a handler, and ends its copies there, asks the servers for nothing")
{
    family f;
    const auto session = f.own->session_id();
    std::optional<int> result;
    f.between.forget();
    asio::post(*f.io, [&] {
        result = in_child([&] {
            f.own->set("/", "a child's", [](error_code, const node_stat&) {});
            std::move(f.held).release([](error_code) {});
            f.own->close([](error_code) {});
            f.lock.reset();
            f.own.reset();
            return 0;
        });
    });
    run_until(*f.io, [&] { return result.has_value(); });
    CHECK(result == 0);
    f.check_parent(session);
    // Of the parent there are looks and heartbeats.
    CHECK(f.between.count(opcode::set_data) == 0);
    CHECK(f.between.count(opcode::remove) + f.between.count(opcode::multi) == 0);
    CHECK(f.between.count(opcode::close_session) == 0);
    f.end();
}

TEST_CASE("a child that goes on with the context: its copies are inert, and the parent's answers are not read there")
{
    family f;
    const auto session = f.own->session_id();
    f.between.on_next(opcode::get_data, moment::reply, fate::hold);
    std::optional<error_code> answered;
    f.own->get("/", [&](error_code ec, const node_content&) { answered = ec; });
    run_until(*f.io, [&] { return f.between.struck(); });
    f.between.release();
    wait_readable(f.between.port());

    const int wrong = in_child(*f.io, [&] {
        std::optional<error_code> refused;
        f.own->get("/", asio::bind_executor(*f.io, [&](error_code ec, const node_content&) { refused = ec; }));
        f.io->restart();
        f.io->run();
        int bits = 0;
        bits |= answered ? 1 : 0;
        bits |= refused == make_error_code(errc::closed) ? 0 : 2;
        bits |= f.held ? 4 : 0;
        bits |= sockets_to(f.between.port()).empty() ? 0 : 8;
        f.destroy();
        return bits;
    });
    CHECK(wrong == 0);
    CHECK_FALSE(answered);
    run_until(*f.io, [&] { return answered.has_value(); });
    CHECK_FALSE(*answered);
    f.check_parent(session);
    f.end();
}

TEST_CASE("a client that is made before the fork, and not run, is the child's own")
{
    zookeeper_server server;
    asio::io_context io;
    client c(io, options_for(server.address()));
    CHECK(in_child(io, [&] { return connects(io, c) ? 0 : 1; }) == 0);
    CHECK(connects(io, c));
    expect_clean(server);
}

TEST_CASE("host names can be looked up before a fork, and after it by both")
{
    zookeeper_server server;
    const auto options = options_for("localhost:" + std::to_string(server.port()));
    auto io = std::make_unique<asio::io_context>();
    const auto another_connects = [&] {
        client c(*io, options);
        return connects(*io, c);
    };
    CHECK(another_connects());
    CHECK(in_child(*io, [&] { return another_connects() ? 0 : 1; }) == 0);
    const int ending = in_child([&] { // it is not told
        io.reset();
        return 0;
    });
    CHECK(ending == 0);
    CHECK(another_connects());
    expect_clean(server);
}

TEST_CASE("the first to look up names in a forked process may be several threads at once")
{
    auto io = std::make_unique<asio::io_context>();
    asio::use_service<bridge::blocking_calls>(*io);
    const int result = in_child([&] { // it is not told
        asio::io_context own;
        constexpr int crowd = 8;
        int answered = 0;
        std::atomic<int> ready = 0;
        const auto strand = runtime::make_strand(own.get_executor());
        auto work = asio::make_work_guard(own);
        std::vector<std::thread> threads;
        for (int i = 0; i < crowd; ++i)
            threads.emplace_back([&, host = "127.0.0." + std::to_string(i + 1)] {
                ++ready;
                while (ready != crowd)
                    std::this_thread::yield();
                asio::use_service<bridge::blocking_calls>(*io).begin(std::make_shared<bridge::name_lookup>(
                    host, strand, [&](const bridge::name_answer& a) { answered += a.addresses.size() == 1; }));
            });
        for (auto& each : threads)
            each.join();
        while (answered != crowd) // or it is killed in the end
            own.run_one();
        io.reset(); // its threads are waited for
        return 0;
    });
    CHECK(result == 0);
}
