// sanitizers: address
// program: recipes
// Who is told what happens to the acquires of a lock: in which order, where, and until when. And what contenders()
// tells of whoever they are.
#include "integration/recipe_scene.hpp"

#include <boost/asio/thread_pool.hpp>

#include <set>
#include <thread>

using namespace zklock::test;

namespace {

using kind = lock_event::kind;

/// What was told, by acquire.
class record {
public:
    void operator()(const lock_event& e)
    {
        const std::lock_guard lock(guards_);
        CHECK(++inside_ == 1);
        of_[e.acquire].push_back(e);
        threads_.insert(std::this_thread::get_id());
        ++all_;
        --inside_;
    }
    [[nodiscard]] std::size_t count() const
    {
        const std::lock_guard lock(guards_);
        return all_;
    }
    [[nodiscard]] std::map<std::uint64_t, std::deque<lock_event>> events() const
    {
        const std::lock_guard lock(guards_);
        return of_;
    }
    [[nodiscard]] std::set<std::thread::id> threads() const
    {
        const std::lock_guard lock(guards_);
        return threads_;
    }

private:
    mutable std::mutex guards_;
    std::atomic<int> inside_ = 0;
    std::map<std::uint64_t, std::deque<lock_event>> of_;
    std::set<std::thread::id> threads_;
    std::size_t all_ = 0;
};

/// Shared by the function and the test.
lock_listener listen_with(asio::any_io_executor executor, const std::shared_ptr<record>& into)
{
    return listen(std::move(executor), [into](const lock_event& e) { (*into)(e); });
}

std::vector<kind> kinds(const std::deque<lock_event>& events)
{
    std::vector<kind> all;
    for (const lock_event& e : events)
        all.push_back(e.what);
    return all;
}

const std::vector<kind> whole_life{kind::queued, kind::acquired, kind::released};

awaitable<void> until_told(std::shared_ptr<record> told, std::size_t count)
{
    const record* const raw = told.get();
    co_await until("all events are told", [raw, count] { return raw->count() == count; });
}

} // namespace

TEST_CASE("on a pool of threads: each thing once, in order, never on the client's thread, never two at a time")
{
    const std::string path = "/listener/pool";
    asio::thread_pool pool(3);
    const auto told = std::make_shared<record>();
    const auto body = [&]() -> awaitable<void> {
        client_options of_client = fault_options(server().address(), long_session);
        client zk(co_await asio::this_coro::executor, of_client);
        mutex lock(zk, path, with(&mutex_options::listener, listen_with(pool.get_executor(), told)));
        critical_section section;
        constexpr std::size_t crowd = 50;
        std::vector<awaitable<void>> visits;
        for (std::size_t i = 0; i < crowd; ++i)
            visits.push_back(visit(lock, section));
        co_await together(std::move(visits));
        co_await until_told(told, 3 * crowd);
        std::int64_t last_token = 0;
        std::int32_t last_sequence = -1;
        const auto events = told->events();
        CHECK(events.size() == crowd);
        for (const auto& [acquire, of_it] : events) { // their numbers grow with the calls, and so do their turns
            REQUIRE(kinds(of_it) == whole_life);
            CHECK(of_it[0].sequence > last_sequence);
            CHECK(of_it[1].fencing_token > last_token);
            last_sequence = of_it[0].sequence;
            last_token = of_it[1].fencing_token;
            for (const lock_event& e : of_it) {
                CHECK(e.path == path);
                CHECK(e.node == of_it[0].node);
                CHECK(e.sequence == of_it[0].sequence);
                CHECK(!e.error);
            }
        }
        CHECK_FALSE(told->threads().contains(std::this_thread::get_id()));

        // Queued is told while it still waits.
        guard held = must(co_await lock.acquire());
        auto waits = begin_acquire(lock);
        co_await until_told(told, 3 * crowd + 3);
        CHECK_FALSE(waits.ended());
        CHECK(kinds(told->events().rbegin()->second) == std::vector<kind>(1, kind::queued));
        waits.cancel();
        CHECK(co_await waits.end() == asio::error::operation_aborted);
        co_await until_told(told, 3 * crowd + 4);
        CHECK(told->events().rbegin()->second.back().what == kind::failed);
        CHECK(told->events().rbegin()->second.back().error == asio::error::operation_aborted);
        const auto late = co_await lock.acquire(1ms);
        CHECK(late.error() == errc::timed_out);
        co_await release(std::move(held));
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    pool.join();
    for (const auto& [acquire, of_it] : told->events()) {
        const kind end = of_it.back().what;
        CHECK((end == kind::released || end == kind::failed));
    }
    expect_clean(server(), {path});
}

TEST_CASE("lost, when the session is; closed; and through the other recipes")
{
    const std::string path = "/listener/ends";
    const auto told = std::make_shared<record>();
    const auto story = [&](remote_client& remote, const any_io_executor& executor) -> awaitable<void> {
        const auto options = with(&mutex_options::listener, listen_with(executor, told)); // the client's own
        mutex lock(remote.zk, path, options);
        guard held = must(co_await lock.acquire());
        remote.link.expire_session();
        must(co_await held.wait_lost());
        co_await until_told(told, 3);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await take_turn(lock);
        co_await until_told(told, 6);

        const lock_owner me;
        reentrant_mutex again(remote.zk, path, options);
        guard outer = must(co_await again.owned_by(me).acquire());
        guard inner = must(co_await again.owned_by(me).acquire()); // one contender, one set of events
        co_await release(outer, inner);
        mutex other(remote.zk, "/listener/other");
        multi_lock both(lock, other);
        co_await take_turn(both);
        election chair(remote.zk, path, with<election_options>(&election_options::listener, options.listener));
        const auto nothing = [](leadership&) -> awaitable<void> { co_return; };
        must(co_await chair.lead(nothing));
        co_await until_told(told, 15);
        shared_mutex_options of_both_sides;
        of_both_sides.listener = options.listener;
        of_both_sides.properties = {{"zone", "7"}};
        shared_mutex book(remote.zk, "/listener/book", of_both_sides);
        guard writer = must(co_await book.acquire());
        CHECK(must(co_await book.contenders()).at(0).properties == of_both_sides.properties);
        guard reader = must(co_await book.downgrade(std::move(writer))); // the same contender
        CHECK(must(co_await book.contenders()).at(0).properties == of_both_sides.properties);
        co_await release(std::move(reader));
        co_await take_turn(book.shared());
        co_await until_told(told, 21);
        held = must(co_await lock.acquire());
        co_await remote.close();
        co_await until_told(told, 24);

        std::vector<std::vector<kind>> lives;
        for (const auto& [acquire, of_it] : told->events())
            lives.push_back(kinds(of_it));
        REQUIRE(lives.size() == 8);
        const std::vector<kind> lost{kind::queued, kind::acquired, kind::lost};
        CHECK(lives.front() == lost);
        CHECK(lives.back() == lost);
        const auto events = told->events();
        CHECK(events.begin()->second.back().loss.reason == loss_reason::session_expired);
        CHECK(events.rbegin()->second.back().loss.reason == loss_reason::client_closed);
        for (std::size_t i = 1; i < 7; ++i)
            CHECK(lives[i] == whole_life);
    };
    play<1>({.clean = {path, "/listener/other", "/listener/book"}}, story);
}

TEST_CASE("permits: a place in the line, all of them at once, and one end when the last are back")
{
    const std::string path = "/listener/permits";
    const auto told = std::make_shared<record>();
    const auto story = [&](admin_client& admin, client& zk, const any_io_executor& executor) -> awaitable<void> {
        semaphore_options options;
        options.permits = 3;
        options.listener = listen_with(executor, told);
        options.properties = {{"zone", "7"}};
        semaphore gate(zk, path, options);
        permits three = must(co_await gate.permits_of(3).acquire());
        const std::string first_node = three.node();
        co_await until_told(told, 2);
        const std::vector<contender> holders = must(co_await gate.holders());
        REQUIRE(holders.size() == 3);
        for (const contender& c : holders)
            CHECK(c.properties == options.properties);
        permits one = must(co_await three.split(1));
        auto waits = begin_acquire<permits>(gate);
        co_await until_told(told, 3); // queued, while it waits
        CHECK(must(co_await gate.contenders()).at(0).properties == options.properties);
        must(co_await std::move(three).release());
        REQUIRE(!co_await waits.end());
        permits next = std::move(waits.value());
        co_await until_told(told, 4);
        CHECK(kinds(told->events().begin()->second).back() == kind::acquired); // one permit of it is still held
        must(co_await std::move(one).release());
        co_await until_told(told, 5);
        REQUIRE(admin.remove(next.node()));
        must(co_await next.wait_lost());
        co_await until_told(told, 6);
        CHECK(error_in(co_await gate.permits_of(4).acquire()) == errc::invalid_option);
        co_await until_told(told, 7);

        std::vector<std::deque<lock_event>> lives;
        for (const auto& [acquire, of_it] : told->events())
            lives.push_back(of_it);
        REQUIRE(lives.size() == 3);
        REQUIRE(kinds(lives[0]) == whole_life);
        CHECK(lives[0][0].node.starts_with(path + "/locks/"));
        CHECK(lives[0][1].node == first_node);
        CHECK(lives[0][2].node == first_node);
        CHECK(lives[0][1].sequence == lives[0][0].sequence);
        CHECK(lives[0][1].fencing_token > 0);
        REQUIRE(kinds(lives[1]) == std::vector<kind>{kind::queued, kind::acquired, kind::lost});
        CHECK(lives[1][2].loss.reason == loss_reason::node_deleted);
        REQUIRE(kinds(lives[2]) == std::vector<kind>{kind::failed});
        CHECK(lives[2][0].error == errc::invalid_option);
    };
    play<1>({.clean = {path + "/locks", path + "/leases"}}, story);
}

TEST_CASE("owner data: who they are, since when, and what else they say; foreign data as they are")
{
    const std::string path = "/listener/owners";
    play<0>({.clean = {path}}, [&](admin_client& admin) -> awaitable<void> {
        client_options of_client = fault_options(server().address(), long_session);
        of_client.identifier = "the client";
        client zk(co_await asio::this_coro::executor, of_client);
        mutex_options options;
        options.properties["version"] = "1.2";
        options.properties["role"] = "a=b";
        mutex lock(zk, path, options);
        guard held = must(co_await lock.acquire());
        CHECK(admin.get(held.node()) == "the client\nrole=a=b\nversion=1.2");
        const std::string binary("\0\xff\n=\nk=v\nk=w\n", 13);
        admin.create(path + "/lock-", "10.0.0.1", create_mode::ephemeral_sequential);
        admin.create(path + "/x__lock__", binary, create_mode::ephemeral_sequential);
        options.identifier = "one of its locks";
        options.properties.clear();
        mutex named(zk, path, options);
        auto waits = co_await queued(admin, path, 4, begin_acquire(named));

        const std::vector<contender> queue = must(co_await lock.contenders());
        REQUIRE(queue.size() == 4);
        CHECK(queue[0].node == held.node());
        CHECK(queue[0].identifier == "the client");
        CHECK(queue[0].properties.size() == 2);
        CHECK(queue[0].properties.at("role") == "a=b");
        CHECK(queue[0].properties.at("version") == "1.2");
        CHECK(queue[0].session_id == zk.session_id());
        CHECK(queue[1].identifier == "10.0.0.1");
        CHECK(queue[1].properties.empty());
        CHECK(queue[2].identifier == binary.substr(0, 2));
        CHECK(queue[2].properties.size() == 1);
        CHECK(queue[2].properties.at("k") == "v");
        CHECK_FALSE(queue[2].ours);
        CHECK(queue[3].identifier == "one of its locks");
        CHECK(queue[3].properties.empty());
        CHECK(queue[3].created >= queue[0].created);
        // The server runs on this machine, by the same clock.
        CHECK(queue[0].age() >= queue[3].age(queue[3].created));
        CHECK(queue[0].age(queue[0].created + 5s) == 5s);
        CHECK(queue[0].age(queue[0].created - 5s) == 0s);
        CHECK(queue[0].age() < std::chrono::minutes(10));

        for (const auto& [key, value] :
             std::map<std::string, std::string>{{"", "v"}, {"a=", "v"}, {"a\n", "v"}, {"a", "\n"}}) {
            mutex_options wrong;
            wrong.properties[key] = value;
            mutex refused(zk, path, wrong);
            CHECK(error_in(co_await refused.acquire()) == errc::invalid_option);
        }
        mutex_options request;
        request.identifier = "__REVOKE__";
        mutex refused(zk, path, request);
        CHECK(error_in(co_await refused.acquire()) == errc::invalid_option);
        request.identifier.clear();
        request.properties["long"] = std::string(64 * 1024, 'x');
        mutex too_long(zk, path, request);
        CHECK(error_in(co_await too_long.try_acquire()) == errc::invalid_option);
        client_options wrong = fault_options(server().address(), long_session);
        wrong.identifier = "__REVOKE__";
        client revoked(co_await asio::this_coro::executor, wrong);
        CHECK(error_in(co_await revoked.wait_connected(1s)) == errc::invalid_option);

        waits.cancel();
        co_await release(std::move(held));
        admin.close();
        must(co_await zk.close());
    });
}
