// program: requests
// Locks that are handed over past the servers: a holder's delete is kept from them, and its successor is granted the
// lock all the same; and where there is no way past the servers, the lock goes by theirs.
#include "integration/requests_scene.hpp"

using namespace zklock::test;

namespace {

constexpr milliseconds session{120'000}; // no heartbeat falls into a test

client_options direct_options(const std::string& servers)
{
    client_options o = fault_options(servers, session);
    o.handoff.listen = "127.0.0.1:0";
    o.handoff.peers.emplace_back("127.0.0.0/8");
    return o;
}

/// A client behind a proxy of its own, that takes part in hand-offs past the servers unless told otherwise.
struct direct_client {
    explicit direct_client(const asio::any_io_executor& executor, bool direct = true)
        : link(server().port()),
          zk(executor, direct ? direct_options(link.address()) : fault_options(link.address(), session))
    {
    }
    direct_client(const asio::any_io_executor& executor, const handoff_options& handoff)
        : link(server().port()), zk(executor, with(direct_options(link.address()), handoff))
    {
    }
    static client_options with(client_options o, const handoff_options& handoff)
    {
        o.handoff = handoff;
        return o;
    }
    awaitable<void> connect()
    {
        must(co_await zk.wait_connected(default_limit));
        mutex elsewhere(zk, "/handoff/elsewhere"); // the first heartbeat
        co_await take_turn(elsewhere);
        link.forget();
    }
    awaitable<void> close() { must(co_await zk.close()); }

    proxy link;
    client zk;
};

/// A holder, and somebody right behind it who watches its node.
struct queue_of_two {
    guard held;
    pending<guard> waiting;
};
awaitable<queue_of_two> two_in_line(direct_client& first, direct_client& second, const std::string& path)
{
    mutex own(first.zk, path), other(second.zk, path);
    queue_of_two made;
    made.held = must(co_await own.acquire());
    made.waiting = begin_acquire(other);
    co_await until_watched(second.zk, made.held.node());
    co_return made;
}

awaitable<void> many_visits(mutex lock, critical_section& inside, std::size_t times)
{
    for (; times != 0; --times)
        co_await visit(lock, inside);
}

/// Without looks at the client's own nodes: who holds on for long has its node looked at, as a busy machine may make
/// it.
std::map<int, std::size_t> counted(proxy& link, const std::vector<std::string>& own_nodes)
{
    std::map<int, std::size_t> all;
    for (const auto& each : link.history()) {
        const bool looks = each.op == opcode::get_data && std::ranges::count(own_nodes, each.path) != 0;
        if (each.op != opcode::ping && !looks)
            ++all[static_cast<int>(each.op)];
    }
    link.forget();
    return all;
}

std::string in_words(const std::map<int, std::size_t>& counts)
{
    std::string all;
    for (const auto& [op, count] : counts)
        all += "op " + std::to_string(op) + ": " + std::to_string(count) + "; ";
    return all;
}

/// What holder and waiter ask the server for in a few lives of a lock.
awaitable<std::vector<std::map<int, std::size_t>>> requests_of_lives(bool direct, std::string path)
{
    const auto executor = co_await asio::this_coro::executor;
    direct_client first(executor, direct), second(executor, direct);
    co_await first.connect();
    co_await second.connect();
    std::vector<std::map<int, std::size_t>> all;
    std::vector<std::string> of_first, of_second;
    const auto note = [&] {
        all.push_back(counted(first.link, of_first));
        all.push_back(counted(second.link, of_second));
    };
    mutex own(first.zk, path);
    for (int i = 0; i < 3; ++i) {
        guard held = must(co_await own.acquire());
        of_first.push_back(held.node());
        co_await release(std::move(held));
    }
    note();
    for (int i = 0; i < 3; ++i) {
        queue_of_two line = co_await two_in_line(first, second, path);
        of_first.push_back(line.held.node());
        co_await release(std::move(line.held));
        guard held = co_await granted(line.waiting);
        of_second.push_back(held.node());
        co_await until_only_left(server().port(), held.node()); // it has heard of the delete
        co_await release(std::move(held));
        co_await nothing_left(server().port());
        note();
    }
    co_await first.close();
    co_await second.close();
    co_return all;
}

} // namespace

TEST_CASE("the successor has the lock before the servers have heard of the release")
{
    const std::string path = "/handoff/mutex";
    play<0>({.clean = {path}}, [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        direct_client first(executor), second(executor);
        co_await first.connect();
        co_await second.connect();
        critical_section inside;
        for (std::uint64_t i = 0; i < 5; ++i) {
            queue_of_two line = co_await two_in_line(first, second, path);
            const std::string node = line.held.node();
            CHECK(admin.get(node).find("\nhandoff=127.0.0.1:") != std::string::npos);
            inside.enter(line.held);
            first.link.block(direction::requests);
            inside.leave();
            auto releasing = begin_release(line.held);
            guard held = co_await granted(line.waiting);
            inside.enter(held);
            inside.leave();
            CHECK(admin.exists(node));
            CHECK_FALSE(releasing.ended());
            CHECK(second.zk.metrics().handoff.taken == i + 1);
            CHECK(first.zk.metrics().handoff.given == i + 1);
            first.link.unblock();
            CHECK_FALSE(co_await releasing.end());
            co_await release(std::move(held));
        }
        CHECK(first.zk.metrics().handoff.taken == 0);
        CHECK(first.zk.metrics().handoff.listens);
        CHECK(first.zk.metrics().handoff.connected_from == 1);
        CHECK(second.zk.metrics().handoff.connected_to == 1);
        co_await first.close();
        CHECK_FALSE(first.zk.metrics().handoff.listens);
        CHECK(first.zk.metrics().handoff.connected_from == 0);
        co_await second.close();
    });
}

TEST_CASE("a line of them passes the lock on while no delete reaches the servers")
{
    const std::string path = "/handoff/line";
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<direct_client> all;
        for (int i = 0; i < 5; ++i)
            all.emplace_back(executor);
        for (auto& each : all)
            co_await each.connect();
        admin_client admin(server().port());
        std::vector<pending<guard>> attempts;
        for (auto& each : all) {
            mutex lock(each.zk, path);
            attempts.push_back(begin_acquire(lock));
            const std::size_t expected = attempts.size();
            co_await until("it has a node", [&] { return ephemeral_count(server().port()) == expected; });
            if (expected > 1)
                co_await until_watched(each.zk, path + '/' + queue_of(admin, path)[expected - 2]);
        }
        for (auto& each : all)
            each.link.block(direction::requests);
        critical_section inside;
        std::vector<pending<>> releases;
        for (auto& each : attempts) {
            CHECK_FALSE(co_await each.end());
            inside.enter(each.value());
            inside.leave();
            releases.push_back(begin_release(each.value()));
        }
        for (auto& each : all)
            each.link.unblock();
        for (auto& each : releases)
            CHECK_FALSE(co_await each.end());
        for (auto& each : all)
            co_await each.close();
    });
}

TEST_CASE("the servers stand still: the lock is handed over all the same, as long as leases are fresh")
{
    const std::string path = "/handoff/stopped";
    zookeeper_server own;
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        client first(executor, direct_options(own.address())), second(executor, direct_options(own.address()));
        must(co_await first.wait_connected(default_limit));
        must(co_await second.wait_connected(default_limit));
        mutex lock(first, path), same(second, path);
        guard held = must(co_await lock.acquire());
        auto waiting = begin_acquire(same);
        const auto look = [&] { return watches_node(own.port(), second.session_id(), held.node()); };
        co_await until("the predecessor is watched", look);
        must(co_await second.get("/")); // and what the watch's answer says has come: it is the next answer
        own.pause();
        auto releasing = begin_release(held);
        guard next = co_await granted(waiting);
        CHECK(next);
        CHECK_FALSE(releasing.ended());
        own.resume();
        CHECK_FALSE(co_await releasing.end());
        co_await release(std::move(next));
        must(co_await first.close());
        must(co_await second.close());
    };
    run_test(test_limit, story);
    expect_clean(own, {path});
}

TEST_CASE("shared mutex, re-entrant mutex and several locks as one are handed over so, too")
{
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        direct_client first(executor), second(executor);
        co_await first.connect();
        co_await second.connect();
        const auto hand_over = [&](auto held, auto& waiting) -> awaitable<void> {
            co_await until_watched(second.zk, held.node());
            first.link.block(direction::requests);
            pending<> releasing;
            std::move(held).release(releasing.handler());
            CHECK_FALSE(co_await waiting.end());
            CHECK_FALSE(releasing.ended());
            first.link.unblock();
            CHECK_FALSE(co_await releasing.end());
            must(co_await std::move(waiting.value()).release());
        };
        shared_mutex writers(first.zk, "/handoff/shared"), readers(second.zk, "/handoff/shared");
        guard written = must(co_await writers.acquire());
        auto reading = begin_acquire(readers.shared());
        co_await hand_over(std::move(written), reading);

        const lock_owner me, other;
        reentrant_mutex again(first.zk, "/handoff/again"), again_there(second.zk, "/handoff/again");
        guard owned = must(co_await again.owned_by(me).acquire());
        auto owning = begin_acquire(again_there.owned_by(other));
        co_await hand_over(std::move(owned), owning);

        mutex one(first.zk, "/handoff/one");
        std::vector<lockable> both;
        both.emplace_back(mutex(second.zk, "/handoff/one"));
        both.emplace_back(mutex(second.zk, "/handoff/two"));
        multi_lock together(std::move(both));
        guard first_of_two = must(co_await one.acquire());
        auto taking = begin_acquire<multi_guard>(together);
        co_await hand_over(std::move(first_of_two), taking);
        co_await first.close();
        co_await second.close();
    };
    play<0>({.clean = {"/handoff/shared", "/handoff/again", "/handoff/one", "/handoff/two"}}, story);
}

TEST_CASE("no way past the servers: the lock goes by theirs, and not before")
{
    const auto within = [](const char* network) {
        return with(&handoff_options::peers, {network}, &handoff_options::listen, "127.0.0.1:0");
    };
    const handoff_options direct = within("127.0.0.1");
    const handoff_options elsewhere = within("10.0.0.0/8"); // who connects within other networks only
    handoff_options to_nobody = direct;                     // where nothing listens
    to_nobody.advertise = "127.0.0.1:1";
    const std::vector<std::pair<handoff_options, handoff_options>> pairs{
        {to_nobody, direct}, {direct, elsewhere}, {handoff_options(), direct}, {direct, handoff_options()}};
    for (const auto& [of_holder, of_waiter] : pairs) {
        const std::string path = new_path();
        play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
            direct_client first(executor, of_holder), second(executor, of_waiter);
            co_await first.connect();
            co_await second.connect();
            queue_of_two line = co_await two_in_line(first, second, path);
            first.link.block(direction::requests);
            auto releasing = begin_release(line.held);
            must(co_await second.zk.exists("/handoff")); // a round trip later
            CHECK_FALSE(line.waiting.ended());
            first.link.unblock();
            CHECK_FALSE(co_await releasing.end());
            co_await take_turn(line.waiting);
            CHECK(second.zk.metrics().handoff.taken == 0);
            CHECK(first.zk.metrics().handoff.given == 0);
            const handoff_metrics why = second.zk.metrics().handoff;
            CHECK(why.no_answer == (of_holder.advertise.empty() ? 0 : 1));
            CHECK(why.not_listed == (of_waiter.peers == elsewhere.peers ? 1 : 0));
            co_await first.close();
            co_await second.close();
        });
    }
}

TEST_CASE("never two inside, in order: clients with and without it want one lock all the time")
{
    const std::string path = "/handoff/crowd";
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<direct_client> all;
        for (int i = 0; i < 6; ++i)
            all.emplace_back(executor, i % 3 != 2);
        critical_section inside;
        std::vector<awaitable<void>> parts;
        for (auto& each : all) {
            co_await each.connect();
            for (int i = 0; i < 2; ++i)
                parts.push_back(many_visits(mutex(each.zk, path), inside, scaled(100)));
        }
        co_await together(std::move(parts), test_limit);
        for (auto& each : all)
            co_await each.close();
    });
}

TEST_CASE("what is asked of the servers is what is asked without")
{
    std::vector<std::map<int, std::size_t>> without, with;
    const auto story = [&]() -> awaitable<void> {
        admin_client(server().port()).create_all("/handoff/requests");
        without = co_await requests_of_lives(false, "/handoff/requests");
        with = co_await requests_of_lives(true, "/handoff/requests");
    };
    run_test(test_limit, story);
    REQUIRE(with.size() == without.size());
    for (std::size_t i = 0; i < with.size(); ++i) {
        CAPTURE(i); // the first pair is of a lock that nobody else wants, each other one of a hand-off
        CHECK(in_words(with[i]) == in_words(without[i]));
    }
}

TEST_CASE("nodes of others' recipes have data as without")
{
    const auto story = [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        direct_client ours(executor);
        co_await ours.connect();
        election standing(ours.zk, "/handoff/election");
        semaphore gate(ours.zk, "/handoff/gate", 3);
        permits some = must(co_await gate.acquire());
        const auto reign = [&](const leadership&) -> awaitable<void> {
            for (const std::string parent : {"/handoff/election", "/handoff/gate/leases"}) {
                const auto names = admin.children(parent);
                CHECK(names.size() == 1);
                for (const auto& name : names)
                    CHECK(admin.get(parent + '/' + name).find("handoff=") == std::string::npos);
            }
            co_return;
        };
        must(co_await standing.lead(reign));
        must(co_await std::move(some).release());
        co_await ours.close();
    };
    play<0>({.clean = {"/handoff/election", "/handoff/gate/leases", "/handoff/gate/locks"}}, story);
}
