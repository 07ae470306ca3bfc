// sanitizers: none
// program: told
// What an acquire has waited for that timed out: told by the lock, whatever its recipe and the completion token, and by
// the log.
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"

#include <boost/asio/ip/tcp.hpp>

using namespace zklock::test;

namespace {

/// Has it time out until the holder's node was read in time: on a loaded machine that may take another try.
template <class Lock, class AcquireOnce> awaitable<wait_report> told_of(Lock& lock, AcquireOnce acquire_once)
{
    std::optional<wait_report> told;
    const auto deadline = steady_clock::now() + default_limit;
    do {
        co_await acquire_once();
        told = lock.last_timeout();
        if (!told)
            throw std::runtime_error("nothing is told");
    } while ((!told->held_by || told->held_by->session_id == 0) && steady_clock::now() < deadline);
    if (!told->held_by)
        throw std::runtime_error("no holder is told");
    CHECK_FALSE(told->no_answer); // it ended with timed_out
    co_return *std::move(told);
}

/// Likewise, by an acquire through it.
template <class Lock, class Through> awaitable<wait_report> told_of_acquire(Lock& lock, Through through)
{
    const auto acquire_once = [&]() -> awaitable<void> {
        CHECK(error_in(co_await through.acquire(400ms)) == condition::not_in_time);
    };
    co_return co_await told_of(lock, acquire_once);
}

/// Has it time out until the report has that of one address, and of no other: at the deadline an attempt may not have
/// come to its end yet.
awaitable<wait_report> told_of_address(mutex& lock, std::string why)
{
    std::optional<wait_report> told;
    const auto deadline = steady_clock::now() + default_limit;
    do {
        CHECK(error_in(co_await lock.acquire(200ms)) == errc::not_connected);
        told = lock.last_timeout();
        if (!told)
            throw std::runtime_error("nothing is told");
    } while ((told->addresses.empty() || told->addresses[0].why.find(why) == why.npos) &&
             steady_clock::now() < deadline);
    if (told->addresses.size() != 1)
        throw std::runtime_error("it is no single address: " + to_string(*told));
    CHECK(told->addresses[0].why.find(why) != why.npos);
    CHECK(told->not_connected_for);
    co_return *std::move(told);
}

void check_held_by(const wait_report& told, client& other, const std::string& path)
{
    CHECK(told.path == path);
    CHECK(told.waited >= 400ms);
    CHECK(told.before_us == 1);
    CHECK(told.held_by->session_id == other.session_id());
    CHECK_FALSE(told.held_by->ours);
    CHECK(told.held_by->age() < 1h);
    CHECK_FALSE(told.not_connected_for);
    CHECK(told.addresses.empty());
}

client_options identified_as(std::string identifier, std::function<void(log_level, std::string_view)> log = {})
{
    client_options o = usual_options();
    o.identifier = std::move(identifier);
    o.log = std::move(log);
    return o;
}

} // namespace

TEST_CASE("held by another client: who, for a mutex and any token; the log says so")
{
    const std::string path = "/time_outs_told/mutex";
    const kept_log log;
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        client theirs(executor, identified_as("billing"));
        client zk(executor, identified_as("shop", log));
        mutex held_lock(theirs, path);
        guard held = must(co_await held_lock.acquire());
        mutex lock(zk, path);
        CHECK_FALSE(lock.last_timeout());

        const wait_report told = co_await told_of_acquire(lock, lock);
        check_held_by(told, theirs, path);
        CHECK(told.held_by->identifier == "billing");
        CHECK(told.held_by->node == held.node());
        CHECK(told.node.starts_with(path + "/"));
        CHECK(mutex(lock).last_timeout()); // copies share it
        CHECK_FALSE(mutex(zk, path).last_timeout());

        const auto thrown = [&]() -> awaitable<void> {
            bool threw = false;
            try {
                guard none = co_await lock.acquire(400ms, asio::use_awaitable);
            } catch (const boost::system::system_error& e) {
                threw = e.code() == condition::not_in_time;
            }
            CHECK(threw);
        };
        check_held_by(co_await told_of(lock, thrown), theirs, path);
        const auto run = [&]() -> awaitable<void> {
            auto body = [](guard&) -> awaitable<void> { co_return; };
            CHECK(error_in(co_await lock.run(400ms, body)) == condition::not_in_time);
        };
        check_held_by(co_await told_of(lock, run), theirs, path);
        const auto tuple = [&]() -> awaitable<void> {
            const auto [ec, none] = co_await lock.acquire(400ms, asio::as_tuple(asio::use_awaitable));
            CHECK(ec == condition::not_in_time);
        };
        check_held_by(co_await told_of(lock, tuple), theirs, path);

        const auto lines = log.lines(log_level::info, "timed out: ");
        REQUIRE(!lines.empty()); // repeats are told ever more seldom
        CHECK(lines.front().starts_with("shop "));
        CHECK(lines.front().find("waited 0.") != std::string::npos);
        CHECK(lines.front().find(" for " + path + ": held by ") != std::string::npos);
        CHECK(lines.front().find(", 1 before us") != std::string::npos);

        must(co_await std::move(held).release());
        guard own = must(co_await lock.acquire(60s));
        CHECK(lock.last_timeout()); // it stays what it was
        must(co_await std::move(own).release());
        must(co_await zk.close());
        must(co_await theirs.close());
    };
    play<0>(story);
}

TEST_CASE("the other recipes tell it, too")
{
    const std::string path = "/time_outs_told/recipes";
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        client theirs(executor, identified_as("billing"));
        client zk(executor, identified_as("shop"));
        mutex their_lock(theirs, path + "/a");
        guard held = must(co_await their_lock.acquire());

        reentrant_mutex again(zk, path + "/a");
        check_held_by(co_await told_of_acquire(again, again.owned_by(lock_owner())), theirs, path + "/a");

        multi_lock both(mutex(zk, path + "/a"), mutex(zk, path + "/b"));
        check_held_by(co_await told_of_acquire(both, both), theirs, path + "/a");
        CHECK_FALSE(multi_lock(std::vector<lockable>()).last_timeout());

        election chair(zk, path + "/a");
        const auto stand = [&]() -> awaitable<void> {
            auto body = [](leadership&) -> awaitable<void> { co_return; };
            CHECK(error_in(co_await chair.lead(400ms, body)) == condition::not_in_time);
        };
        check_held_by(co_await told_of(chair, stand), theirs, path + "/a");

        shared_mutex theirs_shared(theirs, path + "/shared");
        guard reader = must(co_await theirs_shared.shared().acquire());
        shared_mutex ours(zk, path + "/shared");
        const wait_report of_a_writer = co_await told_of_acquire(ours, ours);
        check_held_by(of_a_writer, theirs, path + "/shared");
        CHECK(of_a_writer.held_by->shared);
        must(co_await std::move(reader).release());
        guard writer = must(co_await theirs_shared.acquire());
        const wait_report of_a_reader = co_await told_of_acquire(ours, ours.shared());
        check_held_by(of_a_reader, theirs, path + "/shared");
        CHECK_FALSE(of_a_reader.held_by->shared);

        semaphore their_gate(theirs, path + "/gate", 2);
        permits in_use = must(co_await their_gate.permits_of(2).acquire());
        semaphore gate(zk, path + "/gate", 2);
        const wait_report of_a_permit = co_await told_of_acquire(gate, gate);
        CHECK(of_a_permit.path == path + "/gate");
        CHECK(of_a_permit.before_us == 0); // the first in the line
        CHECK(of_a_permit.held_by->session_id == theirs.session_id());
        CHECK(of_a_permit.held_by->identifier == "billing");

        must(co_await std::move(in_use).release());
        must(co_await std::move(writer).release());
        must(co_await std::move(held).release());
        must(co_await zk.close());
        must(co_await theirs.close());
    };
    play<0>(story);
}

TEST_CASE("no server: each address with its error, as a warning; and nothing is told of a mere look")
{
    const std::string path = "/time_outs_told/nobody";
    zookeeper_server other;
    const kept_log log;
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        client_options options = fault_options(other.address(), 30s);
        options.log = log;
        client zk(executor, options);
        must(co_await zk.wait_connected(default_limit));
        other.kill();
        mutex lock(zk, path);
        co_await until("the attempts fail", [&] { return zk.state() == connection_state::suspended; });
        CHECK(error_in(co_await lock.acquire(0s)) == errc::not_connected);
        CHECK_FALSE(lock.last_timeout());
        const std::string why = "cannot connect to " + other.address() + ": Connection refused";
        const wait_report told = co_await told_of_address(lock, why);
        CHECK(told.path == path);
        CHECK_FALSE(told.held_by);
        CHECK(told.node == "");
        CHECK(told.addresses[0].address == other.address());
        CHECK(told.addresses[0].why == why);
        CHECK(to_string(told).ends_with(" now (" + why + ")")); // nothing was seen of the queue
        const auto lines = log.lines(log_level::warning, "in vain: ");
        REQUIRE(!lines.empty());
        CHECK(lines.front().find(" for " + path + ": not connected, for ") != std::string::npos);
        other.start();
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("without a log the addresses are told all the same")
{
    const auto body = [&]() -> awaitable<void> {
        auto options = options_for("127.0.0.1:1"); // nobody listens there
        client zk(co_await asio::this_coro::executor, options);
        mutex lock(zk, "/time_outs_told/without_a_log");
        co_await told_of_address(lock, "cannot connect to 127.0.0.1:1: Connection refused");
        must(co_await zk.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("no attempt has ended yet: how far it has come; a name without an address is told, too")
{
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        asio::ip::tcp::acceptor silent(executor, {asio::ip::address_v4::loopback(), 0});
        client_options options;
        options.session_timeout = 10min; // so long may an attempt take
        options.servers = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
        client zk(executor, options);
        mutex lock(zk, "/time_outs_told/silent");
        const wait_report told = co_await told_of_address(lock, " has accepted the connection and has not answered");
        CHECK(told.addresses[0].address == options.servers);
        CHECK(told.addresses[0].why.starts_with(options.servers));
        must(co_await zk.close());

        options.servers = "no-such-host.invalid";
        client nowhere(executor, options);
        mutex other(nowhere, "/time_outs_told/nowhere");
        const wait_report unresolved = co_await told_of_address(other, "cannot resolve no-such-host.invalid: ");
        CHECK(unresolved.addresses[0].address == "no-such-host.invalid");
        must(co_await nowhere.close());
    };
    run_test(test_limit, body);
}
