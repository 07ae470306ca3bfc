// sanitizers: none
// program: tls
// Three servers: the loss of each, of all, and what the protocol assumes of a real ensemble.
// time limit: 900 s
#include "integration/ensemble_scene.hpp"

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

using namespace zklock::test;

namespace {

zookeeper_ensemble& three_servers()
{
    static zookeeper_ensemble three(3);
    return three;
}

} // namespace

TEST_CASE("a server is killed under a holder and its waiters: lock and order are kept, and all have their turns")
{
    enum class victim { leader, follower };
    for (const victim who : {victim::leader, victim::follower}) {
        for (const bool with_the_holder : {true, false}) {
            const std::size_t killed = who == victim::leader ? three_servers().leader() : three_servers().follower();
            const std::size_t holder_at = with_the_holder ? killed : (killed + 1) % 3;
            CAPTURE(static_cast<int>(who));
            CAPTURE(with_the_holder);
            const auto body = [&]() -> awaitable<void> {
                crowd all;
                co_await gather(three_servers(), all, holder_at);
                const auto begun = steady_clock::now();
                three_servers()[killed].kill();
                co_await disperse(all);
                const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun);
                MESSAGE("from the kill to the last release: ", took.count(), " ms");
                CHECK_FALSE(three_servers()[killed].running());
                // The two that are left hold none of it, and neither does the third when it is back.
                for (std::size_t i = 0; i < 3; ++i)
                    if (i != killed)
                        co_await nothing_left(three_servers()[i].port());
                three_servers()[killed].start();
                three_servers().wait_all();
                co_await nothing_left_anywhere(three_servers());
                co_await close_all(all);
            };
            run_test(test_limit, body);
            expect_clean(three_servers());
        }
    }
}

TEST_CASE("all three servers are killed and restarted on their data: the lock is kept, the order too")
{
    const auto body = [&]() -> awaitable<void> {
        crowd all;
        co_await gather(three_servers(), all, three_servers().follower());
        for (std::size_t i = 0; i < 3; ++i)
            three_servers()[i].kill();
        for (const auto& client : all.clients)
            co_await until("it notices", [&] { return client.state() == connection_state::suspended; });
        CHECK(all.grants[0].value());
        for (std::size_t i = 0; i < 3; ++i)
            three_servers()[i].start();
        co_await disperse(all);
        three_servers().wait_all();
        co_await nothing_left_anywhere(three_servers());
        co_await close_all(all);
    };
    run_test(test_limit, body);
    expect_clean(three_servers());
}

TEST_CASE("contenders on all servers, the leader killed in the middle: one holder at a time, and all have their turns")
{
    const auto body = [&]() -> awaitable<void> {
        auto clients = co_await one_client_per_server(three_servers(), 40s);
        critical_section section;
        constexpr int contenders = 6, rounds = 25;
        int ended = 0;
        const auto count = [&](std::exception_ptr e) {
            CHECK(!e);
            ++ended;
        };
        const auto several = [&](mutex lock) -> awaitable<void> {
            for (int i = 0; i < rounds; ++i)
                co_await visit(lock, section);
        };
        const auto executor = co_await asio::this_coro::executor;
        for (std::size_t i = 0; i < contenders; ++i)
            asio::co_spawn(executor, several(mutex(clients[i % 3], "/ensemble/busy")), count);
        co_await until("some turns", [&] { return section.grants >= contenders * rounds / 3; });
        const auto killed = three_servers().leader();
        three_servers()[killed].kill();
        co_await until("all had their turns", [&] { return ended == contenders; });
        CHECK(section.grants == contenders * rounds);
        three_servers()[killed].start();
        three_servers().wait_all();
        co_await nothing_left_anywhere(three_servers());
        for (auto& client : clients) {
            must(co_await client.close());
        }
    };
    run_test(test_limit, body);
    expect_clean(three_servers());
}

// --- what the protocol assumes of the servers ----------------------------------------------------------------------

namespace {

/// Speaks the protocol by hand, so that requests can be sent without waiting for the answers of those before.
class wire_session {
public:
    struct frame {
        std::int32_t xid = 0; ///< -1 for an event
        std::int32_t error = 0;
        std::string body;
    };

    explicit wire_session(std::uint16_t port) : socket_(port, default_limit)
    {
        wire_writer connect;
        connect.int32(0).int64(0).int32(30'000).int64(0).text(std::string(16, '\0')).boolean(false);
        socket_.send(connect.frame());
        static_cast<void>(receive_bytes());
    }

    /// Adds a request to what flush() sends at once; its number.
    std::int32_t add(opcode op, const wire_writer& body)
    {
        wire_writer request;
        request.int32(++xid_).int32(static_cast<std::int32_t>(op));
        output_ += (request << body).frame();
        return xid_;
    }
    void flush() { socket_.send(std::exchange(output_, {})); }

    frame receive()
    {
        const auto bytes = receive_bytes();
        wire_reader in(bytes);
        frame f;
        f.xid = in.int32();
        in.int64();
        f.error = in.int32();
        f.body = in.rest();
        return f;
    }

    /// Everything up to the answer to that request, which comes last.
    std::vector<frame> receive_until(std::int32_t xid)
    {
        std::vector<frame> all;
        do
            all.push_back(receive());
        while (all.back().xid != xid);
        return all;
    }

private:
    std::string receive_bytes()
    {
        const auto length = wire_reader(socket_.receive(4)).int32();
        return socket_.receive(static_cast<std::size_t>(length));
    }

    tcp_socket socket_;
    std::int32_t xid_ = 0;
    std::string output_;
};

/// Small requests, all the time. Now and then a leader of ZooKeeper 3.8.0 leaves a write lying until the next request
/// comes (its CommitProcessor waits); among clients with heartbeats nobody notices, a test alone does.
class pulse {
public:
    explicit pulse(std::uint16_t port) : thread_([this, port] { beat(port); }) {}
    ~pulse()
    {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        ended_.notify_all();
        thread_.join();
    }
    pulse(const pulse&) = delete;
    pulse& operator=(const pulse&) = delete;

private:
    void beat(std::uint16_t port)
    {
        admin_client admin(port);
        admin.create_all("/pulse");
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, 50ms, [this] { return over_; }))
            admin.set("/pulse", {});
    }

    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

wire_writer get_of(const std::string& path, bool watch)
{
    wire_writer body;
    body.text(path).boolean(watch);
    return body;
}

wire_writer sync_of(const std::string& path)
{
    wire_writer body;
    body.text(path);
    return body;
}

wire_writer deletes_of(const std::vector<std::string>& paths)
{
    wire_writer body;
    for (const auto& path : paths)
        body.int32(static_cast<std::int32_t>(opcode::remove)).boolean(false).int32(-1).text(path).int32(-1);
    body.int32(-1).boolean(true).int32(-1);
    return body;
}

} // namespace

TEST_CASE("a session that has moved to another server: what arrives late on its old connection is not done")
{
    const auto old_server = three_servers().follower();
    const auto new_server = three_servers().leader();
    proxy slow(three_servers()[old_server].port());
    const pulse others(three_servers()[new_server].port());
    admin_client before(slow.port(), 30s);
    before.create_all("/assumed/moved");
    slow.on_next(opcode::create, moment::request, fate::hold);
    bool failed = false;
    std::thread creator([&] {
        try {
            before.create("/assumed/moved/late");
        } catch (const std::exception&) {
            failed = true;
        }
    });
    slow.wait_struck();
    const auto session = before.session();
    {
        admin_client after(three_servers()[new_server].port(), 30s, session);
        CHECK(after.session().id == session.id);
        after.create("/assumed/moved/now", {}, create_mode::ephemeral);
        slow.release();
        creator.join();
        CHECK(failed);
        for (const std::size_t server : {old_server, new_server}) {
            admin_client observer(three_servers()[server].port());
            observer.sync("/assumed");
            CHECK_FALSE(observer.exists("/assumed/moved/late"));
            CHECK(observer.exists("/assumed/moved/now"));
        }
    }
    before.abandon();
    admin_client(three_servers()[new_server].port()).remove_all("/assumed");
    expect_clean(three_servers());
}

TEST_CASE("a read that is sent right behind a sync, without waiting, sees what was written before")
{
    const auto leader = three_servers().leader();
    const auto follower = three_servers().follower();
    const pulse others(three_servers()[leader].port());
    admin_client writer(three_servers()[leader].port());
    writer.create_all("/assumed/synced");
    wire_session reader(three_servers()[follower].port());
    int stale = 0;
    for (int i = 0; i < 220; ++i) {
        // In some rounds the follower is made to lag: it finds the write and the requests waiting for it together.
        const bool paused = i % 10 == 0;
        if (paused)
            three_servers()[follower].pause();
        const auto value = std::to_string(i);
        writer.set("/assumed/synced", value);
        const auto plain = reader.add(opcode::get_data, get_of("/assumed/synced", false));
        reader.add(opcode::sync, sync_of("/assumed/synced"));
        const auto synced = reader.add(opcode::get_data, get_of("/assumed/synced", false));
        reader.flush();
        if (paused)
            three_servers()[follower].resume();
        for (const auto& answer : reader.receive_until(synced)) {
            CHECK(answer.error == 0);
            if (answer.xid != plain && answer.xid != synced)
                continue;
            wire_reader in(answer.body);
            const auto seen = in.text();
            if (answer.xid == plain)
                stale += seen != value;
            else
                CHECK(seen == value);
        }
    }
    MESSAGE("reads without a sync that were stale: ", stale, " of 220");
    writer.remove_all("/assumed");
}

TEST_CASE("the events of a multi come in its order, and before the answers that show what it did")
{
    const auto leader = three_servers().leader();
    const auto follower = three_servers().follower();
    const pulse others(three_servers()[leader].port());
    std::mt19937 random(7);
    for (const bool own : {false, true}) {
        CAPTURE(own);
        admin_client admin(three_servers()[leader].port());
        admin.create_all("/assumed/events");
        std::vector<std::string> nodes;
        for (int i = 0; i < 64; ++i)
            nodes.push_back(admin.create("/assumed/events/n-", {}, create_mode::persistent_sequential));
        wire_session watcher(three_servers()[follower].port()), other(three_servers()[leader].port());
        watcher.add(opcode::sync, sync_of("/"));
        std::int32_t last = 0;
        for (const auto& node : nodes)
            last = watcher.add(opcode::get_data, get_of(node, true));
        watcher.flush();
        for (const auto& answer : watcher.receive_until(last))
            REQUIRE(answer.error == 0);

        std::shuffle(nodes.begin(), nodes.end(), random);
        auto& deleter = own ? watcher : other;
        const auto multi = deleter.add(opcode::multi, deletes_of(nodes));
        deleter.flush();
        if (!own) {
            REQUIRE(other.receive_until(multi).back().error == 0);
            watcher.add(opcode::sync, sync_of("/"));
            last = watcher.add(opcode::get_children, get_of("/assumed/events", false));
            watcher.flush();
        } else {
            last = multi;
        }
        const auto answers = watcher.receive_until(last);
        CHECK(answers.back().error == 0);
        std::vector<std::string> events;
        for (const auto& answer : answers) {
            if (answer.xid != -1)
                continue;
            wire_reader in(answer.body);
            CHECK(in.int32() == 2); // deleted
            in.int32();
            events.emplace_back(in.text());
        }
        CHECK(events == nodes);
        if (!own) {
            wire_reader in(answers.back().body);
            CHECK(in.int32() == 0); // no children
        }
        admin.remove_all("/assumed");
    }
}
