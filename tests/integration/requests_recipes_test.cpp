// sanitizers: none
// program: requests
// What the operations of the other recipes cost in requests to the server: all of them, reads included.
// (requests_test.cpp counts those of the mutex.)
#include "integration/requests_scene.hpp"
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock::test;

namespace {

/// Who waits behind others has its node, a list of them, and the watches of the one before it and of its own node.
void expect_requests_of_waiter(proxy& link)
{
    expect_requests(link, {{opcode::create2, 1}, {opcode::get_children2, 1}, {opcode::get_data, 2}});
}
awaitable<void> until_waits_behind(const remote_client& remote, std::string predecessor)
{
    const auto watched = [&] {
        return remote.link.count(opcode::get_data) >= 2 &&
               watches_node(server().port(), remote.zk.session_id(), predecessor);
    };
    co_await until("it waits", watched);
}

} // namespace

TEST_CASE("re-entrant: a create for the first hold and a delete for the last, nothing for those between")
{
    const std::string path = "/requests_recipes/reentrant";
    play_counted(path, [&](remote_client& remote) -> awaitable<void> {
        reentrant_mutex lock(remote.zk, path);
        const lock_owner me;
        for (const bool first_time : {true, false}) {
            guard first = must(co_await lock.owned_by(me).acquire());
            if (first_time)
                expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_data, 1}});
            else
                expect_requests(remote.link, {{opcode::create2, 1}});
            guard second = must(co_await lock.owned_by(me).acquire());
            guard third = must(co_await lock.owned_by(me).try_acquire());
            co_await release(first, third);
            expect_requests(remote.link, {});
            co_await release(std::move(second));
            expect_requests(remote.link, {{opcode::remove, 1}});
        }
    });
}

TEST_CASE("several locks as one: what each of them costs, and no more; the first that is busy ends a try")
{
    const std::string above = "/requests_recipes/multi/";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        for (const char* name : {"a", "b", "c"})
            admin.create_all(above + name);
        co_await warm_up(remote, elsewhere);
        mutex a(remote.zk, above + "a"), b(remote.zk, above + "b"), c(remote.zk, above + "c");
        multi_lock all(a, b, c);
        for (const bool first_time : {true, false}) {
            multi_guard held = must(co_await all.acquire());
            if (first_time)
                expect_requests(remote.link, {{opcode::create2, 3}, {opcode::get_data, 3}});
            else
                expect_requests(remote.link, {{opcode::create2, 3}});
            must(co_await std::move(held).release());
            CHECK(removes(remote.link) == 3);
            const std::size_t deletes = remote.link.count(opcode::remove) + remote.link.count(opcode::multi);
            CHECK(remote.link.count(opcode::any) == deletes);
            CHECK(deletes <= 3);
            remote.link.forget();
        }
        const std::string holder = foreign_contender(admin, above + "a");
        CHECK(error_in(co_await all.try_acquire()) == errc::busy);
        expect_requests(remote.link, {{opcode::get_children2, 1}});
        admin.remove(holder);
    };
    play<1>({.sessions = {120s}, .clean = {above + "a", above + "b", above + "c"}}, story);
}

TEST_CASE("election: a create and a delete for a term; a list, and the nodes' data or the first one's")
{
    const std::string path = "/requests_recipes/election";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        election chair(remote.zk, path);
        auto at_once = [](leadership&) -> awaitable<void> { co_return; };
        for (const bool first_time : {true, false}) {
            must(co_await chair.lead(at_once));
            if (first_time)
                expect_requests(remote.link, {{opcode::create2, 1}, {opcode::get_data, 1}, {opcode::remove, 1}});
            else
                expect_requests(remote.link, {{opcode::create2, 1}, {opcode::remove, 1}});
        }
        const auto nobody = must(co_await chair.leader());
        CHECK_FALSE(nobody);
        expect_requests(remote.link, {{opcode::get_children2, 1}});

        bool leading = false;
        bool over = false;
        auto until_stopped = [&](leadership&) -> awaitable<void> {
            leading = true;
            static_cast<void>(co_await sleep_for_ever());
        };
        auto reigns = [&]() -> awaitable<void> { must(co_await chair.lead(until_stopped)); };
        asio::co_spawn(executor, reigns(), [&over](std::exception_ptr e) {
            CHECK_FALSE(e);
            over = true;
        });
        must(co_await chair.wait_for_leadership());
        co_await until("it leads", [&] { return leading; });
        expect_requests(remote.link, {{opcode::create2, 1}});
        must(co_await chair.wait_for_leadership()); // it does
        expect_requests(remote.link, {});

        const std::string behind = foreign_contender(admin, path);
        const auto stand = must(co_await chair.contenders());
        CHECK(stand.size() == 2);
        expect_requests(remote.link, {{opcode::get_children2, 1}, {opcode::get_data, 2}});
        const auto leads = must(co_await chair.leader());
        REQUIRE(leads);
        CHECK(leads->ours);
        // The first of contenders(): the data of the others are not read.
        expect_requests(remote.link, {{opcode::get_children2, 1}, {opcode::get_data, 1}});
        must(co_await chair.resign());
        co_await until("lead() has returned", [&] { return over; });
        expect_requests(remote.link, {{opcode::remove, 1}});
        admin.remove(behind);
    });
}

TEST_CASE("shared mutex: a reader behind a writer, a writer behind a reader, and tries that find it busy")
{
    const std::string path = "/requests_recipes/shared";
    play_counted(path, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        shared_mutex lock(remote.zk, path);
        co_await take_turn(lock.shared()); // the path is known from now on
        remote.link.forget();

        // A try reads, and writes nothing.
        const std::string writer = foreign_writer(admin, path);
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        expect_requests(remote.link, {{opcode::get_children2, 1}});
        CHECK(error_in(co_await lock.shared().try_acquire()) == errc::busy);
        expect_requests(remote.link, {{opcode::get_children2, 1}});

        auto reads = begin_read(lock);
        co_await until_waits_behind(remote, writer);
        expect_requests_of_waiter(remote.link);
        admin.remove(writer);
        guard held = co_await granted(reads);
        expect_requests(remote.link, {}); // its end is the grant
        co_await release(std::move(held));
        expect_requests(remote.link, {{opcode::remove, 1}});

        const std::string next_writer = foreign_writer(admin, path);
        auto follows = begin_write(lock);
        co_await until_waits_behind(remote, next_writer);
        expect_requests_of_waiter(remote.link);
        admin.remove(next_writer);
        held = co_await granted(follows);
        expect_requests(remote.link, {{opcode::get_children2, 1}}); // it might have read on under its number
        co_await release(std::move(held));
        expect_requests(remote.link, {{opcode::remove, 1}});

        const std::string reader = foreign_reader(admin, path);
        CHECK(error_in(co_await lock.try_acquire()) == errc::busy);
        expect_requests(remote.link, {{opcode::get_children2, 1}});
        auto writes = begin_write(lock);
        co_await until_waits_behind(remote, reader);
        expect_requests_of_waiter(remote.link);
        CHECK(error_in(co_await lock.shared().try_acquire()) == errc::busy); // known without a look
        expect_requests(remote.link, {});
        admin.remove(reader);
        held = co_await granted(writes);
        expect_requests(remote.link, {}); // its end is the grant
        co_await release(std::move(held));
        expect_requests(remote.link, {{opcode::remove, 1}});
    });
}

namespace {

/// A semaphore whose path is known already: what everything costs from now on is counted.
awaitable<void> get_known(remote_client& remote, admin_client& admin, semaphore gate)
{
    co_await take_turn(gate);
    const std::string line = gate.path() + "/locks";
    co_await until_queued(admin, line, 0);
    must(co_await remote.zk.exists("/")); // all that it has sent was answered
    remote.link.forget();
}

/// The lock of the line is given back behind the grant.
awaitable<void> until_line_left(const remote_client& remote)
{
    co_await until("the lock is given back", [&] { return remote.link.count(opcode::remove) == 1; });
}

/// Each node that stands for a permit is looked at, 100 to 200 ms after the grant.
awaitable<void> until_looked_at(const remote_client& remote, std::size_t permits)
{
    const auto all_looked_at = [&] {
        const auto history = remote.link.history();
        return permits == static_cast<std::size_t>(std::count_if(history.begin(), history.end(), [](const auto& r) {
                   return r.op == opcode::get_data && r.path.find("/leases/") != std::string::npos;
               }));
    };
    co_await until("the permits' nodes are looked at", all_looked_at);
}

} // namespace

TEST_CASE("semaphore: a shared count is read along with the leases; what is compared, by the first acquire only")
{
    const std::string counted = "/requests_recipes/counted";
    const std::string compared = "/requests_recipes/compared";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        for (const char* part : {"/locks", "/leases"}) {
            admin.create_all(counted + part);
            admin.create_all(compared + part);
        }
        co_await warm_up(remote, elsewhere);
        const std::string count = "/requests_recipes/count";
        const auto with_count = with(&semaphore_options::permits, 3, &semaphore_options::count_path, count);
        const auto with_check = with(&semaphore_options::permits, 3, &semaphore_options::check_permits, true);
        const semaphore gates[] = {{remote.zk, counted, with_count}, {remote.zk, compared, with_check}};
        for (const semaphore& gate : gates) {
            CAPTURE(gate.path());
            co_await get_known(remote, admin, gate);
            for (int i = 0; i < 2; ++i) {
                permits held = must(co_await gate.permits_of(2).acquire());
                co_await until_line_left(remote);
                const std::size_t counts_read = gate.path() == counted ? 1 : 0;
                expect_requests(remote.link, {{opcode::create2, 1},
                                              {opcode::multi, 1},
                                              {opcode::get_children2, 1},
                                              {opcode::get_data, counts_read},
                                              {opcode::remove, 1}});
                must(co_await held.release(1));
                expect_requests(remote.link, {{opcode::remove, 1}});
                co_await release(std::move(held));
                expect_requests(remote.link, {{opcode::remove, 1}});
                const std::string line = gate.path() + "/locks";
                co_await until_queued(admin, line, 0);
            }
        }
        admin.remove(count);
    };
    play<1>({.sessions = {120s},
             .clean = {counted + "/locks", counted + "/leases", compared + "/locks", compared + "/leases"}},
            story);
}

TEST_CASE("semaphore: waiters behind the head cost what a mutex's do; a part given back; who has permits")
{
    const std::string path = "/requests_recipes/gate";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        for (const char* part : {"/locks", "/leases"})
            admin.create_all(path + part);
        co_await warm_up(remote, elsewhere);
        semaphore gate(remote.zk, path, 4);
        co_await get_known(remote, admin, gate);
        remote.link.forget();
        permits all = must(co_await gate.permits_of(4).acquire());
        co_await until_line_left(remote);
        co_await until_looked_at(remote, 4);
        remote.link.forget();
        const auto holders = must(co_await gate.holders());
        CHECK(holders.size() == 4);
        expect_requests(remote.link, {{opcode::get_children2, 1}, {opcode::get_data, 4}});

        // Somebody else is the head of the line, so that those behind it are ours alone.
        auto head = co_await queued(admin, path + "/leases", 5, begin(semaphore(other.zk, path, 4), 1));
        const std::string line = path + "/locks";
        const std::string first = line + "/" + queue_of(admin, line).front();
        auto second = begin(gate, 2);
        co_await until_waits_behind(remote, first);
        expect_requests_of_waiter(remote.link);
        auto third = co_await queued(admin, line, 3, begin(gate, 1));
        expect_requests(remote.link, {{opcode::create2, 1}});
        third.cancel();
        co_await until_queued(admin, line, 2);
        expect_requests(remote.link, {{opcode::remove, 1}});

        // Two given back are one request; with one of them the head goes, and the second has to wait for more.
        must(co_await all.release(2));
        permits one = co_await granted(head);
        co_await until_permits(admin, path, 5);
        CHECK_FALSE(second.ended());
        CHECK(remote.link.count(opcode::remove) == 0);
        CHECK(removes(remote.link) == 2);
        must(co_await all.release(1));
        permits two = co_await granted(second);
        co_await release(one, two, all);
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = places_of(path)}, story);
}
