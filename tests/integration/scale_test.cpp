// time limit: 1200 s
// sanitizers: none
// program: mutexes
// Ten thousand waiters on one path and one thread; and a client that asks for more nodes than an ensemble can survive.
#include "integration/lock_scene.hpp"

using namespace zklock::test;

namespace {

const std::size_t many = scaled(10'000);
constexpr std::size_t too_many = 50'000;
constexpr std::size_t default_budget = 512 * 1024; // of bytes, as the guide says

std::int32_t sequence_in(const std::string& node)
{
    return std::stoi(node.substr(node.size() - 10));
}

/// Of this process, the library's included.
std::size_t threads()
{
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

double seconds(steady_clock::duration d)
{
    return std::chrono::duration<double>(d).count();
}

/// What one node costs at the session's end, and so how many a client may have.
std::size_t allowed_nodes(const std::string& path)
{
    const std::size_t cost = path.size() + 1 + std::string_view("_c_-lock-").size() + 36 + 10 + 4;
    return default_budget / cost;
}

/// Checks each grant and releases it, without a coroutine: one of ten thousand.
struct grants {
    std::vector<std::size_t> order;
    std::int32_t last_sequence = -1;
    std::int64_t last_token = 0;
    std::size_t releases = 0;
    std::size_t failures = 0;

    void take(std::size_t who, error_code ec, guard held)
    {
        if (ec || !held || sequence_in(held.node()) <= last_sequence || held.fencing_token() <= last_token) {
            ++failures;
            return;
        }
        order.push_back(who);
        last_sequence = sequence_in(held.node());
        last_token = held.fencing_token();
        std::move(held).release([this](error_code released) { released ? ++failures : ++releases; });
    }
};

} // namespace

TEST_CASE("ten thousand waiters of one client, on one thread, are served in the order of their calls")
{
    const std::string path = "/scale/granted";
    grants all;
    const auto body = [&]() -> awaitable<void> {
        const std::size_t threads_before = threads();
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), 30s));
        must(co_await zk.wait_connected(60s));
        mutex lock(zk, path);
        guard first = must(co_await lock.acquire());
        const auto start = steady_clock::now();
        for (std::size_t i = 0; i < many; ++i)
            lock.acquire([&all, i](error_code ec, guard held) { all.take(i, ec, std::move(held)); });
        const auto queued = [&] { return ephemeral_count(server().port()) == std::min(many + 1, allowed_nodes(path)); };
        co_await until("they have their nodes, as far as the budget goes", queued, milliseconds{60'000});
        CHECK(all.order.empty());
        CHECK(threads() == threads_before);
        const auto all_queued = steady_clock::now();
        co_await release(std::move(first));
        std::size_t most_threads = 0;
        const auto done = [&] {
            most_threads = std::max(most_threads, threads());
            return all.releases + all.failures == many;
        };
        co_await until("all have had the lock", done, milliseconds{120'000});
        const auto end = steady_clock::now();
        CHECK(most_threads == threads_before);
        MESSAGE(many << " waiters: queued in " << seconds(all_queued - start) << " s, granted in "
                     << seconds(end - all_queued) << " s");
        co_await nothing_left(server().port());
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    CHECK(all.failures == 0);
    REQUIRE(all.order.size() == many);
    for (std::size_t i = 0; i < many; ++i)
        if (all.order[i] != i) {
            FAIL("the call " << all.order[i] << " was served in place " << i);
            break;
        }
    expect_clean(server(), {path});
}

TEST_CASE("ten thousand waiters cancelled at once leave nothing")
{
    const std::string path = "/scale/cancelled";
    play<0>({.clean = {path}}, [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), 30s));
        client other(zk.get_executor(), fault_options(server().address(), 30s));
        mutex theirs(other, path);
        guard holder = must(co_await theirs.acquire(60s));
        const std::string node = holder.node();
        mutex lock(zk, path);
        std::vector<pending<guard>> attempts;
        attempts.reserve(many);
        for (std::size_t i = 0; i < many; ++i)
            attempts.push_back(begin_acquire(lock));
        const auto queued = [&] { return ephemeral_count(server().port()) == 1 + std::min(many, allowed_nodes(path)); };
        co_await until("they have their nodes, as far as the budget goes", queued, milliseconds{60'000});
        const auto start = steady_clock::now();
        for (auto& attempt : attempts)
            attempt.cancel(asio::cancellation_type::total);
        const auto ended = [&] {
            return std::all_of(attempts.begin(), attempts.end(), [](const auto& a) { return a.ended(); });
        };
        co_await until("all have ended", ended);
        const auto told = steady_clock::now();
        std::size_t aborted = 0;
        for (auto& attempt : attempts)
            aborted += attempt.error() == asio::error::operation_aborted && !attempt.value();
        CHECK(aborted == many);
        co_await until_only_left(server().port(), node);
        const auto gone = steady_clock::now();
        MESSAGE(many << " cancelled: told in " << seconds(told - start) << " s, gone after " << seconds(gone - start)
                     << " s");
        CHECK(holder);

        // Whatever the budget had lent is back.
        auto next = begin_acquire(lock);
        co_await release(std::move(holder));
        co_await take_turn(next);
        co_await nothing_left(server().port());
        must(co_await zk.close());
        must(co_await other.close());
    });
}

TEST_CASE("a process with far too many waiters" * doctest::skip())
{
    const std::string path = played_process::argument("ZKLOCK_PATH");
    asio::io_context context;
    auto options = options_for(played_process::argument("ZKLOCK_SERVERS"), milliseconds{15'000});
    client zk(context, options);
    mutex lock(zk, path);
    for (std::size_t i = 0; i < too_many; ++i)
        lock.acquire([](error_code ec, guard) { std::cerr << "ended: " << ec.message() << '\n'; });
    context.run(); // until it is killed
}

// A session whose end lists more paths than the servers can read would end the ensemble, too: at these lengths some
// 30,000 nodes do it.
TEST_CASE("an ensemble survives the death of a client with fifty thousand waiters")
{
    const std::string path = "/scale/budget";
    server_options patient; // who leads does not change because a machine is slow
    patient.config = {"syncLimit=30"};
    zookeeper_ensemble ensemble(3, patient);
    const auto leader = ensemble.leader();
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(ensemble[leader].port(), 60s);
        client zk(co_await asio::this_coro::executor, fault_options(ensemble.address(), 30s));
        mutex lock(zk, path);
        guard held = must(co_await lock.acquire(60s));
        const std::string node = held.node();

        played_process crowd("a process with far too many waiters",
                             std::vector<std::string>{"ZKLOCK_SERVERS=" + ensemble.address(), "ZKLOCK_PATH=" + path});
        const std::size_t allowed = allowed_nodes(path);
        co_await until_queued(admin, path, 1 + allowed, milliseconds{60'000});
        CHECK(crowd.running());

        std::size_t bytes = 0;
        std::size_t theirs = 0;
        for (const auto& [session, nodes] : ephemerals(ensemble[leader].port()))
            if (session != zk.session_id())
                for (const auto& each : nodes) {
                    bytes += each.size() + 4;
                    ++theirs;
                }
        CHECK(theirs == allowed);
        CHECK(bytes <= default_budget);
        MESSAGE(too_many << " waiters: " << theirs << " nodes, " << bytes << " bytes");

        crowd.kill();
        co_await until_only_left(ensemble[leader].port(), node);
        ensemble.wait_all();
        CHECK(ensemble.leader() == leader);
        CHECK(held);
        co_await release(std::move(held));
        held = must(co_await lock.acquire(60s));
        CHECK(held);
        co_await release(std::move(held));

        // Each member knows of the end, and serves.
        for (std::size_t i = 0; i < ensemble.size(); ++i) {
            client fresh(zk.get_executor(), fault_options(ensemble[i].address(), 30s));
            mutex there(fresh, path);
            co_await take_turn(there, 60s);
            co_await nothing_left(ensemble[i].port());
            must(co_await fresh.close());
        }
        must(co_await zk.close());
    };
    run_test(test_limit, body);

    // It is in the log now, and is read again at every start.
    for (std::size_t i = 0; i < ensemble.size(); ++i)
        ensemble[i].kill();
    for (std::size_t i = 0; i < ensemble.size(); ++i)
        ensemble[i].start();
    ensemble.wait_all();
    expect_clean(ensemble, {path});
}
