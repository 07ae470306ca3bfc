// The session's lease: kept by heartbeats, lost, and what it needs of the servers.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

TEST_CASE("a lost lease is a loss, told once, before the release, and the node is deleted")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    const auto until = a->handle->held_until();
    s.clock.pass(until - s.clock.now() - 1ms);
    CHECK(a->handle->held(s.clock.now()));
    CHECK(a->losses == 0);
    s.servers.requests.clear(); // heartbeats and watches that nobody answers
    s.clock.pass(1ms);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    CHECK(a->losses == 1);
    CHECK(s.servers.pending() == "remove /p/" + scene::node(1, 0));
    s.release(*a);
    CHECK(a->released == errc::lost);
    CHECK(a->losses == 1);
}

TEST_CASE("heartbeats keep the lease")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    for (int beat = 0; beat < 20; ++beat) {
        s.clock.pass(2'600ms);
        std::string seen;
        while (!s.servers.requests.empty()) {
            const auto r = s.servers.take();
            seen += r.what;
            if (r.show)
                r.show(5, "me");
            else
                r.answer(outcome::ok);
        }
        CHECK(seen.ends_with("sync /"));
    }
    CHECK(a->losses == 0);
    CHECK(a->handle->held_until() > s.clock.now() + 2s);
}

TEST_CASE("that the session was taken up counts from its answer, however long the servers' history is looked at")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.clock.pass(1s);
    s.lose_connection();
    s.clock.pass(3s);
    const auto sent = s.clock.now();
    s.clock.pass(100ms);
    const auto answered = s.clock.now();
    s.servers.observer->on_connected({5, 10s, false, sent});
    s.clock.pass(2s);
    REQUIRE(s.session->state() != connection_state::connected);
    show_writes_kept(s);
    REQUIRE(s.session->state() == connection_state::connected);
    s.clock.pass(0ms);
    s.answer_syncs();
    s.clock.pass(answered + 2125ms - s.clock.now()); // a margin
    const auto until = a->handle->held_until();
    CHECK(until < sent + 9s);
    s.enqueue("/q", 0);
    CHECK(a->handle->held_until() == sent + 9900ms);
    CHECK(a->losses == 0);
}

TEST_CASE("what is refused does not renew the lease: a write or a sync, by a server alone or the C client")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    const auto until = a->handle->held_until();
    for (const outcome refusal : {outcome::no_auth, outcome::invalid_acl, outcome::bad_arguments}) {
        CAPTURE(static_cast<int>(refusal));
        s.clock.pass(800ms);
        const auto b = s.acquire("/q");
        asked(s).to("create /q/" + prefix(s.uuids)).ends(refusal);
        CHECK(b->ended);
        CHECK(a->handle->held_until() == until);
    }
    s.clock.pass(100ms); // a heartbeat is due
    asked(s).to("sync /").ends(outcome::server_error);
    CHECK(a->handle->held_until() == until);
    CHECK_FALSE(s.servers.asks("sync /")); // the next comes when it would have come
    s.clock.pass(2'100ms);
    CHECK_FALSE(s.servers.asks("sync /"));
    s.clock.pass(400ms);
    asked(s).to("sync /").ends(outcome::ok);
    CHECK(a->handle->held_until() > until);
    CHECK(a->losses == 0);
}

TEST_CASE("a connection that is too slow for a lease grants nothing: a try ends after a time-out, and others wait")
{
    constexpr auto timeout = 2'500ms; // of which a tick of 2 s leaves little
    semaphore_scene s;
    s.lose_connection();
    s.servers.observer->on_expired();
    s.connect(6, true, timeout);
    // Every answer comes after 300 ms, and the lease of the first one has lasted for as long as it can.
    const auto exchange = [&s] {
        while (!s.servers.asks("sync /"))
            s.clock.pass(10ms);
        s.clock.pass(300ms);
        s.answer_syncs();
    };
    exchange();
    const auto waits = s.enqueue("/p", 0);
    asked(s).to("watch /p").alone(1, 100);
    const auto tries = s.acquire("/q", {}, acquire_mode::look_once);
    asked(s).to("children /q").list({});
    asked(s).to("create /q/" + prefix(s.uuids)).number(101, 0).to("watch /q").alone(1, 101);
    const auto permit = s.want(1, permits_of(1), acquire_mode::look_once);
    for (const auto began = s.clock.now(); s.clock.now() < began + timeout - 10ms;) {
        REQUIRE_FALSE(tries->ended);
        REQUIRE_FALSE(permit->ended);
        s.clock.pass(10ms);
        if (s.servers.asks("sync /"))
            exchange();
    }
    exchange();
    exchange();
    CHECK(tries->ended == errc::not_connected);
    CHECK(permit->ended == errc::not_connected);
    CHECK_FALSE(waits->ended);
    s.answer_syncs();
}

TEST_CASE("heartbeats of many clients that were answered at one moment spread, and are hardly more")
{
    constexpr int clients = 100;
    constexpr auto passes = 300s;
    struct fleet {
        std::chrono::milliseconds timeout, farthest, closest; ///< answers come up to a tenth of a second later
        int most;                                             ///< at any moment, at last
    };
    for (const auto& [timeout, farthest, closest, most_at_last] : {
             fleet{10s, 2600ms, 2125ms, clients / 6}, // of 4 in the mean
             fleet{8s, 2453ms, 2000ms, clients / 6},  // of 5: a tick is a quarter
             fleet{6s, 1132ms, 1000ms, clients / 4},  // of 10: a tick is a third
         }) {
        CAPTURE(timeout.count());
        std::vector<int> in_tenths(3000); // of a second
        int beats = 0;
        for (int client = 0; client < clients; ++client) {
            scene s;
            s.start();
            s.connect(0x1000001 + client, true, timeout);
            for (auto& tenth : in_tenths) {
                s.clock.pass(100ms);
                const auto asked = std::count_if(s.servers.requests.begin(), s.servers.requests.end(),
                                                 [](const auto& r) { return r.what == "sync /"; });
                tenth += static_cast<int>(asked);
                beats += static_cast<int>(asked);
                s.answer_syncs();
            }
        }
        CHECK(beats >= clients * (passes / farthest));
        CHECK(beats <= clients * (passes / closest + 1));
        const auto most = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
            return *std::max_element(in_tenths.begin() + from, in_tenths.begin() + to);
        };
        CHECK(most(0, 26) >= clients / 10);
        CHECK(most(2500, 3000) <= most_at_last);
    }
}

TEST_CASE("an ensemble that was set back is named once: in a session that goes on, and in a new one")
{
    for (const bool renewed : {false, true}) {
        CAPTURE(renewed);
        scene s;
        int said = 0;
        s.options.log = [&said](log_level level, std::string_view line) {
            if (line.find("set back") == line.npos)
                return;
            CHECK(level == log_level::warning);
            CHECK(line.find("transaction 700") != line.npos);
            CHECK(line.find("transaction 103") != line.npos);
            ++said;
        };
        s.start();
        s.connect();
        s.hold("/o", 500);
        s.hold("/p", 600);
        CHECK(said == 0);
        s.lose_connection();
        if (renewed)
            s.servers.observer->on_expired();
        s.connect(renewed ? 6 : 5, renewed);
        const auto back = s.enqueue("/q", 3);
        CHECK(said == 1);
        s.enqueue("/r", 4);
        CHECK(said == 1);
    }
}

TEST_CASE("a lease that could never last is an invalid option, also for who came before the connection")
{
    scene s;
    s.options.lease_margin = 9800ms;
    s.start();
    const auto early = s.acquire("/p");
    CHECK_FALSE(early->ended);
    s.connect();
    CHECK(early->ended == errc::invalid_option);
    CHECK(s.acquire("/p")->ended == errc::invalid_option);
}

TEST_CASE("servers that grant less than a lease needs are refused, and named in the log, until they grant more")
{
    scene s;
    std::vector<std::string> said;
    s.options.log = keep_log(said, log_level::error);
    s.start();
    s.connect();
    const auto held = s.hold("/p", 0);
    s.servers.observer->on_disconnected();
    const auto waits = s.acquire("/q");
    s.connect(5, false, 2s); // of a tick, for all that is stated
    CHECK(held->losses == 1);
    CHECK(waits->ended == errc::invalid_option);
    CHECK(s.acquire("/q")->ended == errc::invalid_option);
    REQUIRE(said.size() == 1);
    CHECK(said.front().find("2000 ms") != std::string::npos);
    s.servers.observer->on_expired();
    s.connect(6, true, 10s);
    CHECK(said.size() == 1);
    CHECK_FALSE(s.acquire("/r")->ended);
    CHECK(s.servers.asks("/r"));
}

TEST_CASE("the servers' tick counts in what they grant, not in what is asked for")
{
    for (const auto& [tick, granted, possible] :
         {std::tuple{2000ms, 4000ms, true}, {2000ms, 2500ms, true}, {2000ms, 2000ms, false}, {500ms, 1000ms, true}}) {
        CAPTURE(granted.count());
        scene s;
        s.options.session_timeout = 1s;
        s.options.server_tick = tick;
        s.start();
        s.connect(5, true, granted);
        CHECK(s.acquire("/p")->ended.has_value() == !possible);
    }
}
