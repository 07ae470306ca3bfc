// sanitizers: none
// program: mutexes
// shared_mutex: what its operations cost in requests, counted on the wire, and crowds of readers.
#include "integration/requests_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock::test;

namespace {

/// Requests that change something; who holds on for a while also has its own node watched.
std::size_t writes(const proxy& link)
{
    return link.count(opcode::multi) + link.count(opcode::create2) + link.count(opcode::remove);
}

/// What was asked for, but for looks at nodes whose path begins so: who holds on for long has its own node looked at,
/// and on a busy machine that may have come by now.
std::vector<opcode> asked_besides_looks(const proxy& link, const std::string& looked_at)
{
    std::vector<opcode> all;
    for (const seen_request& each : link.history()) {
        const bool looks = each.op == opcode::get_data && each.path.starts_with(looked_at);
        if (!each.in_multi && each.op != opcode::ping && !looks)
            all.push_back(each.op);
    }
    return all;
}

/// How many they are, without looks at any of the path's nodes.
std::size_t asked(const proxy& link, const std::string& path)
{
    return asked_besides_looks(link, path + '/').size();
}

} // namespace

TEST_CASE("requests: one to acquire again, one to release, one to downgrade")
{
    const std::string path = "/shared_crowd/requests";
    play_counted(path, [&](remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        const auto spent = [&] {
            const std::size_t all = asked(remote.link, path);
            remote.link.forget();
            return all;
        };
        guard first = must(co_await lock.shared().acquire());
        CHECK(spent() == 2); // its create, and the watch of the path
        guard second = must(co_await lock.shared().acquire());
        CHECK(spent() == 1);
        co_await release(std::move(first));
        CHECK(spent() == 1);
        co_await release(std::move(second));
        CHECK(spent() == 1);
        guard writer = must(co_await lock.acquire());
        CHECK(spent() == 1);
        guard reader = must(co_await lock.downgrade(std::move(writer)));
        CHECK(remote.link.count(opcode::multi) == 1);
        CHECK(asked(remote.link, path) == 1);
        remote.link.forget();
        guard again = must(co_await lock.shared().acquire()); // the number that the downgrade used is known
        CHECK(spent() == 1);
        co_await release(reader, again);
        CHECK(spent() == 2);
    });
}

namespace {

/// A node is looked at 100 to 200 ms after its grant, and watched from then on: after that nothing is asked about it.
awaitable<void> until_at_rest(remote_client& remote, std::string node)
{
    co_await until_watched(remote.zk, std::move(node));
    must(co_await remote.zk.exists("/")); // all that it has sent was answered
    remote.link.forget();
}

} // namespace

TEST_CASE("requests of a downgrade when others have written on the node: three, and what they wrote goes along")
{
    const std::string path = "/shared_crowd/written";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        co_await until_at_rest(remote, held.node());
        admin.set(held.node(), "somebody's");
        co_await until("it looks at what was written", [&] { return remote.link.count(opcode::get_data) == 1; });
        co_await until_at_rest(remote, held.node());
        held = must(co_await lock.downgrade(std::move(held)));
        // One that is refused, a look at the writer's node, and one that is done; the reader's is the node now.
        CHECK(asked_besides_looks(remote.link, held.node()) ==
              std::vector{opcode::multi, opcode::get_data, opcode::multi});
        CHECK(admin.get(held.node()) == "somebody's");
        co_await release(std::move(held));
    });
}

TEST_CASE("requests of a reader among readers of another client: a create and a list, together")
{
    const std::string path = "/shared_crowd/among";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        std::vector<std::string> others;
        others.push_back(foreign_reader(admin, path));
        co_await take_turn(lock.shared());
        for (int i = 0; i < 3; ++i) {
            others.push_back(foreign_reader(admin, path));
            remote.link.forget();
            guard held = must(co_await lock.shared().acquire());
            CHECK(remote.link.count(opcode::create2) == 1);
            CHECK(remote.link.count(opcode::get_children2) == 1);
            CHECK(asked(remote.link, path) == 2);
            remote.link.forget();
            co_await release(std::move(held));
            CHECK(asked(remote.link, path) == 1);
        }
        // The two travel together: neither waits for the other's answer.
        others.push_back(foreign_reader(admin, path));
        remote.link.forget();
        remote.link.block(direction::replies);
        auto reads = begin_read(lock);
        const auto both = [&] {
            return remote.link.count(opcode::create2) == 1 && remote.link.count(opcode::get_children2) == 1;
        };
        co_await until("both are on their way", both);
        CHECK_FALSE(reads.ended());
        remote.link.unblock();
        guard together = co_await granted(reads);
        CHECK(asked(remote.link, path) == 2);
        co_await release(std::move(together));

        // Nobody has come since: nothing has to be read.
        remote.link.forget();
        guard held = must(co_await lock.shared().acquire());
        CHECK(remote.link.count(opcode::create2) == 1);
        CHECK(remote.link.count(opcode::get_children2) <= 1); // it may have been asked for along with the create
        co_await release(std::move(held));
        CHECK(watched_by(server().port(), remote.zk.session_id()).empty());
        for (const auto& node : others)
            admin.remove(node);
    });
}

TEST_CASE("1000 readers and 10 writers of one client: "
          "readers do not wait for readers, and a writer lets all in at once")
{
    const std::string path = "/shared_crowd/many";
    constexpr std::size_t readers_between = 100;
    constexpr std::size_t writers_in_all = 10;
    play<1>({.sessions = {120s}, .clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        admin_client admin(server().port(), 120s);
        admin.create_all(path);
        co_await warm_up(remote, elsewhere);
        shared_mutex lock(remote.zk, path);

        // Before anybody writes: all of them together.
        std::vector<pending<guard>> all;
        for (std::size_t i = 0; i < writers_in_all * readers_between; ++i)
            all.push_back(begin_read(lock));
        std::vector<guard> held;
        for (auto& attempt : all)
            held.push_back(co_await granted(attempt));
        CHECK(std::all_of(held.begin(), held.end(), [](const guard& g) { return static_cast<bool>(g); }));
        CHECK(remote.link.count(opcode::get_children2) <= 1);
        CHECK(writes(remote.link) < all.size() / 4);
        all.clear();
        held.clear();
        co_await nothing_left(server().port());

        // A writer, a hundred readers, a writer …
        std::vector<pending<guard>> writers;
        std::vector<std::vector<pending<guard>>> readers(writers_in_all);
        for (std::size_t w = 0; w < writers_in_all; ++w) {
            writers.push_back(begin_write(lock));
            for (std::size_t r = 0; r < readers_between; ++r)
                readers[w].push_back(begin_read(lock));
        }
        co_await until_queued(admin, path, writers_in_all * (1 + readers_between));
        remote.link.forget();
        for (std::size_t w = 0; w < writers_in_all; ++w) {
            guard writer = co_await granted(writers[w]);
            for (const auto& r : readers[w])
                CHECK_FALSE(r.ended());
            co_await release(std::move(writer));
            // By the time the release is answered they have all been told, and none of those behind the next writer.
            std::size_t let_in = 0;
            for (const auto& r : readers[w])
                let_in += r.ended() && !r.error();
            CHECK(let_in == readers_between);
            if (w + 1 < writers_in_all) {
                CHECK_FALSE(writers[w + 1].ended());
                CHECK_FALSE(readers[w + 1].front().ended());
            }
            for (auto& r : readers[w])
                r.value() = guard();
        }
        co_await nothing_left(server().port());
        CHECK(remote.link.count(opcode::get_children2) == 0);
        CHECK(writes(remote.link) < writers_in_all * readers_between / 4);
    });
}

TEST_CASE("readers of one client behind another's writer: one watch for all of them, and one event lets them all in")
{
    const std::string path = "/shared_crowd/behind";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        const std::string writer = foreign_writer(admin, path);
        std::vector<pending<guard>> readers;
        for (int i = 0; i < 200; ++i)
            readers.push_back(begin_read(lock));
        co_await until_queued(admin, path, 201);
        co_await until_watches_only(server().port(), remote.zk.session_id(), writer);
        remote.link.forget();
        admin.remove(writer);
        std::vector<guard> held;
        for (auto& r : readers)
            held.push_back(co_await granted(r));
        CHECK(remote.link.count(opcode::get_children2) == 0);
        held.clear();
        readers.clear();
    });
}
