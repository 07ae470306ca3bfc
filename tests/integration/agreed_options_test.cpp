// sanitizers: address
// program: told
// The options of a path: locks of one client have to agree on them as long as they live, though nobody uses the path.
#include "integration/semaphore_scene.hpp"

using namespace zklock::test;

namespace {

/// Paths rest for half of it, or a little longer.
constexpr milliseconds session{4'000};

/// The lines of a client's log that tell of refusals, each once. The client runs on the test's thread.
class refusals {
public:
    [[nodiscard]] client_options of_client(milliseconds time_out = long_session)
    {
        client_options o = fault_options(server().address(), time_out);
        o.log = [this](log_level level, std::string_view line) {
            if (const auto at = line.find(" is refused: "); level == log_level::error && at != line.npos)
                lines_.emplace_back(line.substr(line.rfind(' ', at - 1) + 1));
        };
        return o;
    }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

private:
    std::vector<std::string> lines_;
};

const std::string by_locks = ", as in other locks of this client on the path";

awaitable<void> use(mutex lock)
{
    co_await take_turn(lock, 60s);
}

awaitable<void> use(semaphore gate, std::size_t permits)
{
    co_await take_turn(gate.permits_of(permits), 60s);
}

const mutex_options heeding = [] {
    mutex_options o;
    o.also_heeds.emplace_back(); // bare numbers
    return o;
}();

} // namespace

TEST_CASE("a mutex that lives, its path at rest: others that do not agree are refused, until it is gone")
{
    const std::string path = "/agreed/rest";
    refusals told;
    play<0>({.clean = {path}}, [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, told.of_client(session));
        std::optional<mutex> first(std::in_place, zk, path, heeding);
        mutex second(zk, path);
        co_await use(*first);
        co_await until("nobody has used the path for long", [&] { return !admin.exists(path); });

        // Somebody whom the second would not heed has the lock.
        admin.create_all(path);
        const std::string theirs = admin.create(path + "/", {}, create_mode::ephemeral_sequential);
        CHECK(error_in(co_await second.acquire(60s)) == errc::invalid_option);
        CHECK(told.lines().size() == 1);
        CHECK(told.lines().back() == path + " is refused: also_heeds is {}, and has to be {\"\"}" + by_locks);
        CHECK(error_in(co_await second.try_acquire()) == errc::invalid_option);
        CHECK(error_in(co_await first->try_acquire()) == errc::busy);
        admin.remove(theirs);
        co_await use(*first);
        co_await use(mutex(zk, path, heeding));
        CHECK(error_in(co_await second.acquire(60s)) == errc::invalid_option);
        CHECK(told.lines().size() == 1); // each line once in a while

        first.reset();
        co_await use(second);
        first.emplace(zk, path, heeding);
        CHECK(error_in(co_await first->acquire(60s)) == errc::invalid_option);
        CHECK(told.lines().back() == path + " is refused: also_heeds is {\"\"}, and has to be {}" + by_locks);
        co_await use(second);
        must(co_await zk.close());
        CHECK(error_in(co_await first->acquire(60s)) == errc::closed);
        admin.remove_all(path);
    });
}

TEST_CASE("a lock that is gone, its release under way: the next one waits for that, and has its own options")
{
    const std::string path = "/agreed/releases";
    refusals told;
    play<0>({.clean = {path}}, [&](const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, told.of_client());
        std::int64_t last = 0;
        for (int times = 0; times < 20; ++times) {
            {
                mutex first(zk, path, heeding);
                const guard held = must(co_await first.acquire(60s));
                CHECK(held.fencing_token() > last);
                last = held.fencing_token();
            } // both in the background
            mutex second(zk, path);
            guard held = must(co_await second.acquire(60s));
            CHECK(held.fencing_token() > last);
            last = held.fencing_token();
            std::optional<mutex> third(std::in_place, zk, path, heeding);
            CHECK(error_in(co_await third->acquire(60s)) == errc::invalid_option); // somebody holds it
            third.reset();
            {
                const guard dropped = std::move(held);
            }
        }
        const auto refused = told.lines().size(); // the same line again and again is not always said
        CHECK(refused >= 1);

        // A try looks: whether the release is done by then is the servers' matter.
        co_await use(mutex(zk, path));
        {
            mutex first(zk, path, heeding);
            const guard held = must(co_await first.acquire(60s));
        }
        auto once = co_await mutex(zk, path).try_acquire();
        CHECK((once || once.error() == errc::busy));
        if (once)
            co_await release(std::move(once).value());

        const std::string gates = path + "_gates";
        semaphore_options two, three;
        two.permits = 2;
        three.permits = 3;
        for (int times = 0; times < 20; ++times) {
            {
                semaphore first(zk, gates, two);
                const auto held = must(co_await first.permits_of(2).acquire(60s));
            }
            semaphore second(zk, gates, three);
            const auto held = must(co_await second.permits_of(3).acquire(60s));
        }
        CHECK(told.lines().size() == refused);
        must(co_await zk.close());
    });
}

TEST_CASE("locks of every kind have to agree, alone and as parts of several")
{
    const std::string path = "/agreed/kinds", beside = path + "_beside";
    refusals told;
    play<0>({.clean = {path, beside}}, [&](const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, told.of_client());
        const lock_owner me;
        auto reign = [](leadership&) -> awaitable<void> { co_return; };
        std::optional<multi_lock> both(std::in_place, mutex(zk, beside), mutex(zk, path, heeding));
        multi_guard all = must(co_await both->acquire(60s));
        must(co_await std::move(all).release());

        multi_lock others(mutex(zk, beside), mutex(zk, path));
        CHECK(error_in(co_await others.acquire(60s)) == errc::invalid_option);
        reentrant_mutex own(zk, path);
        CHECK(error_in(co_await own.owned_by(me).acquire(60s)) == errc::invalid_option);
        CHECK(error_in(co_await own.owned_by(me).try_acquire()) == errc::invalid_option);
        election chair(zk, path);
        CHECK(error_in(co_await chair.lead(60s, reign)) == errc::invalid_option);
        shared_mutex book(zk, path);
        CHECK(error_in(co_await book.acquire(60s)) == errc::invalid_option);
        CHECK(error_in(co_await book.shared().acquire(60s)) == errc::invalid_option);
        owned_shared_mutex own_book(zk, path);
        CHECK(error_in(co_await own_book.shared(me).acquire(60s)) == errc::invalid_option);
        CHECK(told.lines().size() == 2);
        CHECK(told.lines().front() == path + " is refused: also_heeds is {}, and has to be {\"\"}" + by_locks);
        CHECK(told.lines().back() ==
              path + " is refused: the lock is a shared mutex, and has to be a mutex or an election" + by_locks);
        guard held = must(co_await mutex(zk, beside).acquire(60s)); // what was refused has left nothing behind
        co_await release(std::move(held));

        // An owner's lock that lives, and a leader's.
        both.reset();
        std::optional<reentrant_mutex> first(std::in_place, zk, path, heeding);
        co_await take_turn(first->owned_by(me), 60s);
        CHECK(error_in(co_await own.owned_by(me).acquire(60s)) == errc::invalid_option);
        first.reset();
        must(co_await chair.lead(60s, reign));
        CHECK(error_in(co_await mutex(zk, path, heeding).acquire(60s)) == errc::invalid_option);
        co_await take_turn(own.owned_by(me), 60s); // has the options of the election
        must(co_await zk.close());
    });
}

TEST_CASE("what was refused, for whatever reason, keeps nobody from the path; what was cancelled does")
{
    const std::string path = "/agreed/refused";
    refusals told;
    play<0>({.clean = {path}}, [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, told.of_client());
        mutex impossible(zk, path, with(&mutex_options::mark, "stock-1"));
        CHECK(error_in(co_await impossible.acquire(60s)) == errc::invalid_option);
        {
            // In use, though the lock itself is gone: the second is refused, and the third is not.
            const lock_owner me;
            guard held = must(co_await reentrant_mutex(zk, path, heeding).owned_by(me).acquire(60s));
            mutex second(zk, path);
            CHECK(error_in(co_await second.acquire(60s)) == errc::invalid_option);
            auto third = co_await queued(admin, path, 2, begin_acquire(mutex(zk, path, heeding)));
            co_await release(std::move(held));
            co_await take_turn(third);
        }
        CHECK(told.lines().size() == 2);

        const std::string theirs = admin.create(path + "/", {}, create_mode::ephemeral_sequential);
        std::optional<mutex> first(std::in_place, zk, path, heeding);
        auto waiting = co_await queued(admin, path, 2, begin_acquire(*first));
        waiting.cancel();
        CHECK(co_await waiting.end() == asio::error::operation_aborted);
        co_await until("what was cancelled has gone", [&] { return admin.children(path).size() == 1; });
        mutex second(zk, path);
        CHECK(error_in(co_await second.try_acquire()) == errc::invalid_option);
        first.reset();
        co_await use(second);
        admin.remove(theirs);
        must(co_await zk.close());
    });
}

TEST_CASE("semaphores that mean different numbers: the second is refused while the first lives")
{
    const std::string path = "/agreed/permits";
    refusals told;
    play<0>({.clean = places_of(path)}, [&](const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, told.of_client());
        std::optional<semaphore> two(std::in_place, zk, path, 2);
        semaphore three(zk, path, 3);
        CHECK(error_in(co_await two->permits_of(5).acquire(60s)) == errc::invalid_option); // which it does not have
        co_await use(three, 3);
        CHECK(error_in(co_await two->acquire(60s)) == errc::invalid_option);
        three = semaphore(zk, path, 3);
        co_await use(*two, 2);
        co_await no_permit_left(server().port(), path);
        CHECK(error_in(co_await three.permits_of(3).acquire(60s)) == errc::invalid_option);
        CHECK(told.lines().back() == path + " is refused: permits is 3, and has to be 2, as in other semaphores of "
                                            "this client on the path");
        CHECK(error_in(co_await three.try_acquire()) == errc::invalid_option);
        two.reset();
        co_await use(three, 3);
        must(co_await zk.close());
        CHECK(error_in(co_await three.acquire()) == errc::closed);
    });
}
