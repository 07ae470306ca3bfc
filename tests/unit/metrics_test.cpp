// The metrics as numbers and as text; and what a session counts of its connections.
#include "session_scene.hpp"
#include "support/prometheus_page.hpp"

#include "zklock/detail/event_sink.hpp"

using namespace zklock::unit;
using std::chrono::nanoseconds;
using test::prometheus_page;

namespace {

/// What a listener of a connection is told, where it is told.
struct states_told final : detail::event_sink<connection_event> {
    void notify(const connection_event& e) override
    {
        if (refuses)
            throw std::runtime_error("no more");
        events.push_back(e);
    }
    std::vector<connection_event> events;
    bool refuses = false;
};

} // namespace

TEST_CASE("a time belongs into the first bucket that reaches as far")
{
    using h = latency_histogram;
    CHECK(h::longest(0) == 32us);
    CHECK(h::longest(h::buckets - 2) > 2min);
    CHECK(h::longest(h::buckets - 1) == nanoseconds::max());
    CHECK(h::bucket_of(nanoseconds(-1)) == 0);
    CHECK(h::bucket_of(nanoseconds(0)) == 0);
    for (std::size_t i = 0; i + 1 < h::buckets; ++i) {
        CHECK(h::bucket_of(h::longest(i)) == i);
        CHECK(h::bucket_of(h::longest(i) + nanoseconds(1)) == i + 1);
    }
    CHECK(h::bucket_of(nanoseconds::max()) == h::buckets - 1);
}

TEST_CASE("counts, sums and quantiles")
{
    counters::latency_counter counter;
    CHECK(counter.read().count() == 0);
    CHECK(counter.read().quantile(0.5) == 0ns);
    for (int i = 0; i < 98; ++i)
        counter.add(50us);
    counter.add(1ms);
    counter.add(1h);
    counter.add(-1s); // clocks do not go back; nothing breaks if one does
    latency_histogram h = counter.read();
    CHECK(h.count() == 101);
    CHECK(h.sum == 98 * 50us + 1ms + 1h);
    CHECK(h.quantile(0) == 32us);
    CHECK(h.quantile(0.5) == 64us);
    CHECK(h.quantile(0.99) == 1024us);
    CHECK(h.quantile(1) == nanoseconds::max());
    CHECK(h.quantile(7) == nanoseconds::max());
    h += h;
    CHECK(h.count() == 202);
    CHECK(h.sum == 2 * (98 * 50us + 1ms + 1h));

    lock_metrics one, more;
    one.name = "one";
    more.acquired = 1, more.timed_out = 2, more.not_connected = 20, more.cancelled = 3, more.busy = 4;
    more.failed = 5, more.released = 6;
    more.lost_by[static_cast<std::size_t>(loss_reason::node_deleted)] = 7;
    more.waiting = 8, more.held = 9;
    more.waits = h;
    one += more;
    one += more;
    CHECK(one.name == "one");
    CHECK(one.acquired == 2);
    CHECK(one.not_connected == 40);
    CHECK(one.failed == 10);
    CHECK(one.released == 12);
    CHECK(one.lost(loss_reason::node_deleted) == 14);
    CHECK(one.lost(loss_reason::lease_ended) == 0);
    CHECK(one.lost() == 14);
    CHECK(one.waiting == 16);
    CHECK(one.held == 18);
    CHECK(one.waits.count() == 404);
    CHECK(one.holds.count() == 0);
}

TEST_CASE("Prometheus's text: each number where it belongs, any text in labels")
{
    metrics m;
    m.state = connection_state::suspended;
    m.reconnects = 1, m.disconnects = 2, m.expiries = 3, m.requests = 4, m.unseen = 5;
    m.authentication_failures = 1;
    m.heartbeats.counts[1] = 6;
    m.heartbeats.sum = 1500ms;
    m.handoff.taken = 11, m.handoff.given = 12, m.handoff.not_listed = 13, m.handoff.not_tried = 14;
    m.handoff.no_answer = 15, m.handoff.refused = 16;
    m.handoff.over_share = 19, m.handoff.accept_pauses = 20;
    m.handoff.listens = true, m.handoff.connected_to = 17, m.handoff.connected_from = 18;
    lock_metrics unnamed, named;
    unnamed.acquired = 7, unnamed.not_connected = 21;
    unnamed.waits.counts[0] = 1, unnamed.waits.counts[2] = 2, unnamed.waits.counts.back() = 3;
    const std::string odd = "a\"b\\c\nd ü\xff\xed\xa0\x80 \xe2\x82\xac \xf0\x9f\x98\x80 \xc0\x80 \xf5 \xe2\x82";
    named.name = odd;
    named.lost_by[static_cast<std::size_t>(loss_reason::session_expired)] = 8;
    named.held = 9, named.waiting = 10;
    m.by_name = {unnamed, named};
    const std::string as_told = "a\"b\\c\nd ü???? \xe2\x82\xac \xf0\x9f\x98\x80 ?? ? ??";
    {
        const prometheus_page page(prometheus_text(m));
        CHECK(page.value("zklock_connection_state", {{"state", "suspended"}}) == 1);
        CHECK(page.value("zklock_connection_state", {{"state", "connected"}}) == 0);
        CHECK(page.value("zklock_reconnects_total") == 1);
        CHECK(page.value("zklock_disconnects_total") == 2);
        CHECK(page.value("zklock_session_expiries_total") == 3);
        CHECK(page.value("zklock_authentication_failures_total") == 1);
        CHECK(page.value("zklock_requests_total") == 4);
        CHECK(page.value("zklock_unseen_guards_total") == 5);
        CHECK(page.value("zklock_heartbeat_seconds_count") == 6);
        CHECK(page.value("zklock_heartbeat_seconds_sum") == 1.5);
        CHECK(page.value("zklock_heartbeat_seconds_bucket", {{"le", "3.2e-05"}}) == 0);
        CHECK(page.value("zklock_heartbeat_seconds_bucket", {{"le", "6.4e-05"}}) == 6);
        CHECK(page.value("zklock_handoffs_taken_total") == 11);
        CHECK(page.value("zklock_handoffs_given_total") == 12);
        CHECK(page.value("zklock_handoff_failures_total", {{"reason", "not_listed"}}) == 13);
        CHECK(page.value("zklock_handoff_failures_total", {{"reason", "not_tried"}}) == 14);
        CHECK(page.value("zklock_handoff_failures_total", {{"reason", "no_answer"}}) == 15);
        CHECK(page.value("zklock_handoff_failures_total", {{"reason", "refused"}}) == 16);
        CHECK(page.value("zklock_handoff_failures_total", {{"reason", "over_share"}}) == 19);
        CHECK(page.value("zklock_handoff_accept_pauses_total") == 20);
        CHECK(page.value("zklock_handoff_listening") == 1);
        CHECK(page.value("zklock_handoff_connections", {{"direction", "to"}}) == 17);
        CHECK(page.value("zklock_handoff_connections", {{"direction", "from"}}) == 18);
        CHECK(page.value("zklock_acquires_total", {{"result", "acquired"}}) == 7);
        CHECK(page.value("zklock_acquires_total", {{"result", "not_connected"}}) == 21);
        CHECK(page.value("zklock_acquire_wait_seconds_count") == 6);
        CHECK(page.value("zklock_acquire_wait_seconds_bucket", {{"le", "0.000128"}}) == 3);
        CHECK(page.value("zklock_losses_total", {{"lock", as_told}, {"reason", "session_expired"}}) == 8);
        CHECK(page.value("zklock_held_locks", {{"lock", as_told}}) == 9);
        CHECK(page.value("zklock_waiting_acquires", {{"lock", as_told}}) == 10);
    }
    metrics other;
    m.labels = {{"client", "a"}, {"1 x", "y"}, {"state", "not told"}, {"le", "not told"}, {"", "z"}};
    other.labels = {{"client", "b"}, {"a-b", "told"}, {"a.b", "not told"}};
    const std::vector<metrics> both{m, other};
    const prometheus_page page((prometheus_text(both)));
    CHECK(page.value("zklock_requests_total", {{"client", "a"}, {"__x", "y"}, {"_", "z"}}) == 4);
    CHECK(page.value("zklock_requests_total", {{"client", "b"}, {"a_b", "told"}}) == 0);
    const prometheus_page::labels first{{"client", "a"}, {"__x", "y"}, {"_", "z"}, {"state", "suspended"}};
    CHECK(page.value("zklock_connection_state", first) == 1);
    CHECK(prometheus_page(prometheus_text(std::span<const metrics>())).size() == 0);
}

TEST_CASE("a session counts its connections, and how its heartbeats fare")
{
    connected_scene s;
    const auto& counted = s.counted;
    const auto beats = counted.heartbeats.read().count();
    CHECK(counted.heartbeat_delays.read().count() >= beats);
    s.clock.pass(3s);
    s.clock.pass(40ms); // which the answer takes
    s.answer_syncs();
    CHECK(counted.heartbeats.read().count() == beats + 1);
    CHECK(counted.heartbeats.read().sum >= 40ms);
    CHECK(counted.reconnects.read() == 0);
    CHECK(counted.disconnects.read() == 0);
    CHECK(counted.expiries.read() == 0);
    s.lose_connection();
    CHECK(counted.disconnects.read() == 1);
    s.connect(5, false);
    CHECK(counted.reconnects.read() == 1);
    s.lose_connection();
    s.expire();
    s.connect();
    CHECK(counted.reconnects.read() == 2);
    CHECK(counted.disconnects.read() == 2);
    CHECK(counted.expiries.read() == 1);
}

TEST_CASE("a stall that costs the session counts as a heartbeat's delay, once, whatever is noticed first")
{
    enum class first { timer, connection, new_session };
    for (const first noticed : {first::timer, first::connection, first::new_session}) {
        CAPTURE(static_cast<int>(noticed));
        connected_scene s;
        s.clock.skip(15s);
        if (noticed == first::timer)
            s.clock.pass(0s);
        s.lose_connection();
        s.expire();
        if (noticed == first::connection)
            s.clock.pass(0s);
        s.connect(6);
        s.come_to_rest();
        const latency_histogram delays = s.counted.heartbeat_delays.read();
        CHECK(delays.sum >= 12s);
        CHECK(delays.sum < 15s);
    }
}

TEST_CASE("a heartbeat that is due while there is no connection, and in time, was not delayed")
{
    connected_scene s;
    s.come_to_rest();
    const auto before = s.counted.heartbeat_delays.read().count();
    s.session->contact_lost(); // the end of the epoch is on its way
    s.clock.pass(9s);
    CHECK(s.counted.heartbeat_delays.read().count() == before);
}

TEST_CASE("a listener of the connection is told of each state, in order; one that cannot be told harms nobody")
{
    const auto told = std::make_shared<states_told>();
    std::vector<std::string> lines;
    scene s;
    s.options.listener = told;
    s.options.log = [&](log_level, std::string_view line) { lines.emplace_back(line); };
    s.start();
    s.connect();
    s.lose_connection();
    s.expire();
    told->refuses = true;
    s.connect();
    s.lose_connection();
    told->refuses = false;
    s.connect(5, false);
    bool closed = false;
    s.session->close([&] { closed = true; });
    s.clock.run();
    s.servers.closed();
    s.clock.run();
    std::string seen;
    for (const connection_event& e : told->events)
        seen += std::string(to_string(e.state)) + (e.session_id == 0 ? "" : "*") + ' ';
    CHECK(seen == "connected* suspended* connecting connected* closed ");
    const auto refused = [](const std::string& line) { return line.find("refuses its events: no more") != line.npos; };
    CHECK(std::count_if(lines.begin(), lines.end(), refused) >= 1);
    CHECK(closed);
}

TEST_CASE("credentials that are refused are counted, and told with the reason; after a close they are no news")
{
    const auto told = std::make_shared<states_told>();
    scene s;
    const auto& counted = s.counted;
    s.options.listener = told;
    s.start();
    s.connect();
    s.lose_connection();
    SUBCASE("while the client is used") {
        s.servers.observer->on_authentication_failed();
        s.clock.run();
        REQUIRE(told->events.size() == 3);
        CHECK(told->events[1].why == error_code());
        CHECK(told->events[2].state == connection_state::failed);
        CHECK(told->events[2].why == errc::authentication_failed);
        CHECK(told->events[2].session_id == 0);
        CHECK(counted.authentication_failures.read() == 1);
        CHECK(s.session->over() == errc::authentication_failed);
    }
    SUBCASE("when it is closing") {
        s.session->close([] {});
        s.servers.observer->on_authentication_failed();
        s.clock.run();
        CHECK(told->events.back().state == connection_state::closed);
        CHECK(counted.authentication_failures.read() == 0);
        CHECK(s.session->over() == errc::closed);
    }
}
