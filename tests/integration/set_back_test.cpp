// sanitizers: address
// Servers that come back without what a client has seen of them, and a quorum that was merely away.
// time limit: 900 s
#include "integration/fault_scene.hpp"
#include "integration/names_scene.hpp"

#include <boost/asio/detached.hpp>

#include <future>

using namespace zklock::test;

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    if (node == nullptr || node != std::string_view("both.families"))
        return real_getaddrinfo(node, service, hints, found);
    const int failed = real_getaddrinfo("::1", service, hints, found);
    return failed != 0 ? failed : real_getaddrinfo("127.0.0.1", service, hints, &(*found)->ai_next);
}

namespace {

constexpr milliseconds short_session{6'000};
/// With the margin of a lease of that session, and a tick.
constexpr milliseconds overdue(milliseconds session_timeout = short_session)
{
    return session_timeout + session_timeout / 4 + usual_tick;
}
// Of fault_options(), twice; the rest is the machine's.
constexpr milliseconds then_at_once{2 * 50 + 1'500};

/// What a candidate has seen of an election, which it stands for again and again.
struct reign {
    int terms = 0;
    bool leading = false;
    bool over = false;
};

awaitable<void> lead(election chair, reign& own, const reign& others)
{
    auto body = [&own, &others](leadership&) -> awaitable<void> {
        CHECK_FALSE(others.leading);
        ++own.terms;
        own.leading = true;
        (void)co_await sleep_for_ever();
        own.leading = false;
    };
    const result<void> led = co_await chair.lead(body);
    const error_code how = led.has_error() ? led.error() : error_code();
    const bool resigned = !how || how == asio::error::operation_aborted;
    CHECK((resigned || how == errc::lost)); // the term before it resigned
    own.over = true;
}

election_options for_ever()
{
    return with(&election_options::requeue, true);
}

/// A lock that is held, one that is waited for, one that is about to be released; a leader, and another candidate.
struct users {
    users(asio::any_io_executor executor, const std::string& servers, milliseconds session_timeout = short_session)
        : a(executor, options(servers, session_timeout)), b(executor, options(servers, session_timeout)),
          path(new_path()), first(a, path + "-chair", for_ever()), second(b, path + "-chair", for_ever())
    {
    }

    /// Notes which servers are told to end a session that they still have.
    [[nodiscard]] client_options options(const std::string& servers, milliseconds session_timeout)
    {
        auto o = fault_options(servers, session_timeout);
        o.log = [this, log = o.log](log_level level, std::string_view line) {
            told_to_end += line.find("is told to end it") != line.npos;
            log(level, line);
        };
        return o;
    }

    awaitable<void> begin()
    {
        for (client* zk : {&a, &b}) {
            must(co_await zk->wait_connected(default_limit));
        }
        held = begin_acquire(mutex(a, path));
        REQUIRE(!co_await held.end());
        waiting = begin_acquire(mutex(b, path));
        released = begin_acquire(mutex(a, path + "-released"));
        REQUIRE(!co_await released.end());
        lost = begin_wait_lost(held.value());
        const auto executor = co_await asio::this_coro::executor;
        asio::co_spawn(executor, lead(first, of_first, of_second), asio::detached);
        co_await until("the first leads", [this] { return of_first.leading; });
        asio::co_spawn(executor, lead(second, of_second, of_first), asio::detached);
        sessions = {a.session_id(), b.session_id()};
    }

    /// Before a test waits for a server, which stops its clients, too.
    awaitable<void> suspended()
    {
        co_await until("both have noticed", [this] {
            return a.state() == connection_state::suspended && b.state() == connection_state::suspended;
        });
    }

    /// Both are connected again, with their sessions.
    awaitable<void> go_on()
    {
        co_await until("both are connected", [this] {
            return a.state() == connection_state::connected && b.state() == connection_state::connected;
        });
        CHECK(a.session_id() == sessions[0]);
        CHECK(b.session_id() == sessions[1]);
    }

    /// Both have new sessions soon; the holder has lost, the waiter is granted, and the release has ended.
    awaitable<void> begin_anew(steady_clock::time_point no_sooner_than, steady_clock::time_point no_later_than)
    {
        co_await until("both have new sessions", [this] {
            return a.session_id() != 0 && a.session_id() != sessions[0] && b.session_id() != 0 &&
                   b.session_id() != sessions[1];
        });
        CHECK(steady_clock::now() > no_sooner_than);
        CHECK(steady_clock::now() < no_later_than);
        CHECK(!co_await lost.end());
        co_await ends(releasing);
        REQUIRE(!co_await waiting.end());
        auto releasing_it = begin_release(waiting.value());
        co_await ends(releasing_it);
        co_await take_turn(mutex(a, path));
        co_await take_turn(mutex(a, path + "-released"));
        co_await lead_again();
    }

    /// Somebody leads again; then both resign.
    awaitable<void> lead_again()
    {
        co_await until("there is another term", [this] {
            return of_first.terms + of_second.terms > 1 && of_first.leading != of_second.leading;
        });
        for (election* const chair : {&first, &second}) {
            must(co_await chair->resign());
        }
        co_await until("both have resigned", [this] { return of_first.over && of_second.over; });
    }

    /// While a test waits for a server, its clients stand still, and their leases may end.
    static awaitable<void> ends(pending<> release)
    {
        const error_code how = co_await release.end();
        CHECK((!how || how == errc::lost));
    }

    awaitable<void> close()
    {
        for (client* zk : {&a, &b}) {
            must(co_await zk->close());
        }
    }

    int told_to_end = 0;
    client a, b;
    const std::string path;
    election first, second;
    reign of_first, of_second;
    std::array<std::int64_t, 2> sessions{};
    pending<guard> held, waiting, released;
    pending<> lost, releasing;
};

/// One server, or an ensemble.
struct servers {
    explicit servers(std::size_t count)
    {
        if (count == 1)
            all = {&one.emplace()};
        else
            several.emplace(count);
        for (std::size_t i = 0; several && i < count; ++i)
            all.push_back(&(*several)[i]);
    }
    [[nodiscard]] std::string address() const { return several ? several->address() : one->address(); }
    /// Of one server, by a name that has two addresses, of which it serves one.
    [[nodiscard]] std::string address_by_name() const { return "both.families:" + std::to_string(one->port()); }
    void wait()
    {
        if (several)
            several->wait_all();
        else
            one->wait_serving();
    }
    /// Not on the clients' thread, which would stop them. Gives when all have begun a session: a busy machine's server
    /// answers `srvr` a second before that.
    awaitable<steady_clock::time_point> serve()
    {
        auto serving = std::async(std::launch::async, [this] {
            wait();
            for (auto* each : all)
                admin_client(each->port()).sync("/");
            return steady_clock::now();
        });
        co_await until(
            "all serve", [&serving] { return serving.wait_for(0s) == std::future_status::ready; }, test_limit);
        co_return serving.get();
    }
    void kill()
    {
        for (auto* each : all)
            each->kill();
    }
    void restore()
    {
        for (auto* each : all)
            each->restore();
    }
    void start()
    {
        for (auto* each : all)
            each->start();
    }
    /// A cold one is made while they do not run.
    awaitable<void> back_up(bool cold)
    {
        if (cold)
            kill();
        for (auto* each : all) {
            if (!cold)
                admin_client(each->port()).sync("/");
            each->back_up();
        }
        if (cold) {
            start();
            co_await serve();
        }
    }

    /// A holder, and a waiter.
    awaitable<void> until_both_queue(std::string path) const
    {
        admin_client admin(all[0]->port());
        co_await until_queued(admin, path, 2);
    }
    void expect_all_clean()
    {
        wait();
        if (several)
            expect_clean(*several);
        else
            expect_clean(*one);
    }

    std::optional<zookeeper_server> one;
    std::optional<zookeeper_ensemble> several;
    std::vector<zookeeper_server*> all;
};

/// With what servers come back.
struct set_back_to {
    enum { nothing, before_the_sessions, the_sessions } what;
    bool cold; ///< how the backup was made
    std::size_t servers;
    /// Unless they elect a leader, which has a higher epoch than anybody has seen, they hang up on who has seen more.
    bool hang_up;
    bool by_name = false;

    /// Servers that are stopped for a backup are back before the sessions that are in it should be over.
    [[nodiscard]] milliseconds session_timeout() const
    {
        return what == the_sessions && cold ? 2 * short_session : short_session;
    }
};

awaitable<void> set_back(servers& own, const set_back_to& to)
{
    if (to.what == set_back_to::before_the_sessions)
        co_await own.back_up(to.cold);
    const milliseconds session_timeout = to.session_timeout();
    const std::string address = to.by_name ? own.address_by_name() : own.address();
    users all(co_await asio::this_coro::executor, address, session_timeout);
    co_await all.begin();
    co_await own.until_both_queue(all.path);
    if (to.what == set_back_to::the_sessions) {
        co_await own.back_up(to.cold);
        co_await all.go_on();
    }
    write_much(*own.all[0]);
    // Each has seen it, and one node of the backup is gone.
    auto first = begin_release(all.released.value());
    co_await users::ends(first);
    all.released = begin_acquire(mutex(all.a, all.path + "-released"));
    REQUIRE(!co_await all.released.end());
    const result<std::vector<contender>> seen = co_await mutex(all.b, all.path).contenders();
    REQUIRE(!seen.has_error());

    own.kill();
    co_await all.suspended();
    const auto noticed = steady_clock::now();
    all.releasing = begin_release(all.released.value());
    if (to.what != set_back_to::nothing)
        own.restore();
    else
        for (auto* each : own.all)
            each->wipe();
    const bool sessions_live = to.what == set_back_to::the_sessions;
    if (sessions_live) // they have their time-out again, and shall outlast the clients' patience
        co_await until("they should almost be over", [&] { return steady_clock::now() > noticed + session_timeout; });
    own.start();
    const auto served = co_await own.serve();
    if (to.hang_up)
        co_await all.begin_anew(noticed + session_timeout,
                                std::max(noticed + overdue(session_timeout), served) + then_at_once);
    else
        co_await all.begin_anew(noticed, served + then_at_once);
    CHECK(all.told_to_end == (sessions_live ? 2 : 0));
    for (auto* each : own.all)
        co_await nothing_left(each->port());
    co_await all.close();
}

void set_back(const set_back_to& to)
{
    servers own(to.servers);
    const auto body = [&] { return set_back(own, to); };
    run_test(test_limit, body);
    own.expect_all_clean();
}

} // namespace

// Clients are back when their sessions should be over, and no later.

TEST_CASE("a server comes back without its data")
{
    for (const bool by_name : {false, true}) {
        CAPTURE(by_name);
        set_back({.what = set_back_to::nothing, .cold = true, .servers = 1, .hang_up = true, .by_name = by_name});
    }
}

TEST_CASE("so do the three of an ensemble")
{
    set_back({.what = set_back_to::nothing, .cold = true, .servers = 3, .hang_up = true});
}

TEST_CASE("a server is restored from a backup in which the sessions live: they are ended, with the nodes in it")
{
    for (const bool cold : {true, false}) {
        CAPTURE(cold);
        set_back({.what = set_back_to::the_sessions, .cold = cold, .servers = 1, .hang_up = true, .by_name = !cold});
    }
}

TEST_CASE(
    "so are the three of an ensemble, which had been stopped for the backup, and have the epoch again that followed")
{
    set_back({.what = set_back_to::the_sessions, .cold = true, .servers = 3, .hang_up = true});
}

TEST_CASE("a server is restored from a backup made before the sessions began")
{
    for (const bool cold : {true, false}) {
        CAPTURE(cold);
        set_back({.what = set_back_to::before_the_sessions, .cold = cold, .servers = 1, .hang_up = true});
    }
}

TEST_CASE("so are the three of an ensemble: if they ran during the backup, clients are back at once")
{
    for (const bool cold : {true, false}) {
        CAPTURE(cold);
        set_back({.what = set_back_to::before_the_sessions, .cold = cold, .servers = 3, .hang_up = cold});
    }
}

TEST_CASE("a quorum that is away for four time-outs loses nobody's place, and no session")
{
    zookeeper_ensemble three(3);
    const auto body = [&]() -> awaitable<void> {
        users all(co_await asio::this_coro::executor, three.address());
        co_await all.begin();
        std::vector<std::string> order;
        {
            admin_client admin(three[0].port());
            co_await until_queued(admin, all.path, 2);
            order = queue_of(admin, all.path);
        }
        const std::size_t left = three.follower();
        for (std::size_t i = 0; i < three.size(); ++i)
            if (i != left)
                three[i].kill();
        const auto until_then = steady_clock::now() + 4 * short_session;
        co_await all.suspended();
        const auto noticed = steady_clock::now();
        all.releasing = begin_release(all.released.value());
        CHECK(!co_await all.releasing.end()); // though its session may go on
        CHECK(steady_clock::now() > noticed + short_session);
        CHECK(steady_clock::now() < noticed + overdue() + then_at_once);
        CHECK(all.a.state() == connection_state::connecting);
        CHECK(all.a.session_id() == all.sessions[0]);
        co_await until("four time-outs have passed", [&] { return steady_clock::now() > until_then; });
        for (std::size_t i = 0; i < three.size(); ++i)
            if (i != left)
                three[i].start();
        // The one that was left may be a minute late: nobody waits for it here, where the clients would stand still.
        co_await all.go_on();
        CHECK(!co_await all.lost.end()); // its lease has ended, and it has left
        REQUIRE(!co_await all.waiting.end());
        CHECK(all.waiting.value().node() == all.path + "/" + order[1]);
        co_await release_well(all.waiting);
        CHECK(all.a.metrics().expiries == 0);
        co_await take_turn(mutex(all.b, all.path + "-released")); // whose node was to be deleted
        co_await all.lead_again();
        co_await all.close();
    };
    run_test(test_limit, body);
    three.wait_all();
    expect_clean(three);
}

TEST_CASE("three servers are restored from a backup made while they ran, and keep nobody out: clients find out what is "
          "missing, and what is back")
{
    servers three(3);
    const auto body = [&]() -> awaitable<void> {
        const milliseconds session_timeout = 4 * short_session; // so that those of the backup last until all serve
        users all(co_await asio::this_coro::executor, three.address(), session_timeout);
        co_await all.begin();
        client late(co_await asio::this_coro::executor, fault_options(three.address(), session_timeout));
        must(co_await late.wait_connected(default_limit));
        guard before = must(co_await mutex(late, all.path + "-later").acquire());
        auto its_loss = begin_wait_lost(before);
        co_await three.until_both_queue(all.path);
        co_await three.back_up(false);
        // One node is gone after it, and another is made. The backup has its parent: were that missing, too, others
        // might have deleted both.
        all.releasing = begin_release(all.released.value());
        CHECK(!co_await all.releasing.end());
        auto made_later = begin_acquire(mutex(late, all.path + "-later"));
        co_await three.until_both_queue(all.path + "-later");
        const auto session_of_late = late.session_id();

        three.kill();
        co_await all.suspended();
        three.restore();
        three.start();
        const auto served = co_await three.serve();
        co_await until("those whose nodes are back or missing have new sessions", [&] {
            const std::int64_t a = all.a.session_id(), c = late.session_id();
            return a != 0 && a != all.sessions[0] && c != 0 && c != session_of_late;
        });
        CHECK(steady_clock::now() < served + then_at_once);
        CHECK(!co_await its_loss.end());
        CHECK(!co_await all.lost.end());
        REQUIRE(!co_await all.waiting.end());
        REQUIRE(!co_await made_later.end()); // in its new session
        co_await release_well(made_later);
        CHECK(all.b.session_id() == all.sessions[1]); // it is as the backup has it
        for (const char* const of : {"-released", "-later"}) {
            co_await take_turn(mutex(all.b, all.path + of));
        }
        co_await release_well(all.waiting);
        co_await all.lead_again();
        co_await nothing_left(three.all[0]->port());
        must(co_await late.close());
        co_await all.close();
    };
    run_test(test_limit, body);
    three.expect_all_clean();
}
