// sanitizers: address
// program: public_headers
// election: who leads, for how long, and how it ends.
#include "integration/recipe_scene.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

using namespace zklock::test;

namespace {

election_options named(std::string who, bool requeue = false)
{
    return with<election_options>(&election_options::identifier, std::move(who), &election_options::requeue, requeue);
}

/// A lead() in a coroutine of its own.
struct reign {
    bool leading = false;
    int terms = 0;
    std::int64_t token = 0;
    error_code seen_by_body;
    std::optional<error_code> outcome;
    asio::cancellation_signal cancel;
};

/// Leads until it is stopped.
awaitable<void> lead_for_ever(election chair, reign& r)
{
    auto body = [&r](leadership& term) -> awaitable<void> {
        CHECK(term);
        CHECK(term.fencing_token() > r.token);
        r.token = term.fencing_token();
        ++r.terms;
        r.leading = true;
        r.seen_by_body = co_await sleep_for_ever();
        r.leading = false;
    };
    const result<void> led = co_await chair.lead(body);
    r.outcome = error_in(led);
}

void spawn_lead(asio::any_io_executor executor, election chair, reign& r)
{
    asio::co_spawn(executor, lead_for_ever(chair, r),
                   asio::bind_cancellation_slot(r.cancel.slot(), [&r](std::exception_ptr e) {
                       if (e)
                           r.outcome = asio::error::operation_aborted; // a cancelled coroutine throws
                   }));
}

} // namespace

TEST_CASE("first come, first elected; who stands, who leads; one create and one delete for a term")
{
    const std::string path = "/election/order";
    const auto story = [&](admin_client& admin, remote_client& first_host,
                           remote_client& second_host) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin.create_all(path);
        co_await warm_up(first_host, "/election/warm");
        election first(first_host.zk, path, named("first")), second(second_host.zk, path, named("second"));
        const auto nobody = must(co_await first.leader());
        CHECK_FALSE(nobody);

        bool ran = false;
        auto once = [&](leadership& term) -> awaitable<result<std::string>> {
            ran = true;
            CHECK(term.fencing_token() > 0);
            CHECK(term.held_until() > lease_clock::now());
            CHECK_FALSE(term.resigning());
            co_return term.node();
        };
        result<std::string> node = co_await first.lead(once);
        CHECK(must(node).starts_with(path + "/_c_"));
        CHECK(ran);
        CHECK(creates(first_host.link) == 1);
        CHECK(removes(first_host.link) == 1);

        reign a;
        reign b;
        spawn_lead(executor, first, a);
        must(co_await first.wait_for_leadership());
        co_await until("the body runs", [&] { return a.leading; });
        spawn_lead(executor, second, b);
        co_await until_queued(admin, path, 2);
        const auto stand = must(co_await second.contenders());
        REQUIRE(stand.size() == 2);
        CHECK(stand[0].identifier == "first");
        CHECK(stand[1].identifier == "second");
        CHECK(stand[1].ours);
        const auto leads = must(co_await second.leader());
        REQUIRE(leads);
        CHECK(leads->identifier == "first");

        // A mutex of the same path is excluded, and so is a late candidate with little patience.
        CHECK(error_in(co_await mutex(second_host.zk, path).try_acquire()) == errc::busy);
        auto impatient = [](leadership&) -> awaitable<void> { co_return; };
        election late(second_host.zk, path);
        const result<void> too_late = co_await late.lead(20ms, impatient);
        CHECK(error_in(too_late) == condition::not_in_time);

        pending<> waiting;
        second.wait_for_leadership(waiting.handler());
        CHECK_FALSE(waiting.ended());
        must(co_await first.resign());
        CHECK_FALSE(a.leading);
        CHECK(a.seen_by_body == asio::error::operation_aborted);
        co_await until("lead() has returned", [&] { return a.outcome.has_value(); });
        CHECK_FALSE(*a.outcome); // what the body gave
        CHECK_FALSE(co_await waiting.end());
        co_await until("the second leads", [&] { return b.leading; });
        CHECK(b.token > a.token);
        must(co_await second.resign());
        must(co_await second.resign()); // nothing left to resign from
        co_await until("lead() has returned", [&] { return b.outcome.has_value(); });
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}

TEST_CASE("requeue: again after the body and after a loss, until it resigns; lost without requeue")
{
    const std::string path = "/election/requeue";
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& host) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        election again(host.zk, path, named("again", true));

        reign r;
        spawn_lead(executor, again, r);
        co_await until("it leads", [&] { return r.leading; });
        const auto first_token = r.token;
        host.link.expire_session();
        co_await until("it leads again", [&] { return r.terms == 2 && r.leading; });
        CHECK(r.token > first_token);
        CHECK(r.seen_by_body == asio::error::operation_aborted);

        // Resigned while it waits for its next term: that the last was lost is over.
        const std::string foreign = foreign_contender(admin, path);
        host.link.expire_session();
        co_await until("it waits behind another", [&] { return !r.leading && queue_of(admin, path).size() == 2; });
        pending<> waiting;
        again.wait_for_leadership(waiting.handler());
        must(co_await again.resign());
        CHECK(co_await waiting.end() == asio::error::operation_aborted);
        co_await until("lead() has returned", [&] { return r.outcome.has_value(); });
        CHECK(*r.outcome == asio::error::operation_aborted);
        co_await until_only_left(server().port(), foreign);

        // Resigned before any term.
        reign none;
        spawn_lead(executor, again, none);
        co_await until_queued(admin, path, 2);
        must(co_await again.resign());
        co_await until("lead() has returned", [&] { return none.outcome.has_value(); });
        CHECK(*none.outcome == asio::error::operation_aborted);
        CHECK(none.terms == 0);
        admin.remove(foreign);

        // A body that returns is run again and again; its error ends it.
        int terms = 0;
        std::int64_t last = 0;
        auto counts = [&](leadership& term) -> awaitable<result<void>> {
            CHECK(term.fencing_token() > last);
            last = term.fencing_token();
            if (++terms == 3)
                co_return error_code(asio::error::eof);
            co_return result<void>(boost::outcome_v2::success());
        };
        const result<void> counted = co_await again.lead(counts);
        CHECK(error_in(counted) == asio::error::eof);
        CHECK(terms == 3);

        // A body that throws because it was asked to stop.
        bool in_body = false;
        auto throws = [&](leadership& term) -> awaitable<void> {
            in_body = true;
            asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(24));
            try {
                co_await timer.async_wait(asio::use_awaitable);
            } catch (...) {
                CHECK(term.resigning());
                throw;
            }
        };
        std::optional<error_code> stopped;
        auto leads = [&]() -> awaitable<void> {
            const result<void> led = co_await again.lead(throws);
            stopped = error_in(led);
        };
        asio::co_spawn(executor, leads(), [&](std::exception_ptr e) { CHECK_FALSE(e); });
        co_await until("it leads", [&] { return in_body; });
        must(co_await again.resign());
        co_await until("lead() has returned", [&] { return stopped.has_value(); });
        CHECK(*stopped == asio::error::operation_aborted);

        election once(host.zk, path);
        reign l;
        spawn_lead(executor, once, l);
        co_await until("it leads", [&] { return l.leading; });
        host.link.expire_session();
        co_await until("lead() has returned", [&] { return l.outcome.has_value(); });
        CHECK(*l.outcome == errc::lost);
        CHECK(l.terms == 1);
    });
}

TEST_CASE("cancelled, closed, bad input, tokens")
{
    const std::string path = "/election/cancelled";
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, fault_options(server().address(), long_session));
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        election chair(zk, path, named("chair"));

        // While it waits, and while it leads.
        const std::string foreign = foreign_contender(admin, path);
        reign waits;
        spawn_lead(executor, chair, waits);
        co_await until_queued(admin, path, 2);
        waits.cancel.emit(asio::cancellation_type::terminal);
        co_await until("it has ended", [&] { return waits.outcome.has_value(); });
        CHECK(*waits.outcome == asio::error::operation_aborted);
        co_await until_only_left(server().port(), foreign);
        admin.remove(foreign);
        reign leads;
        spawn_lead(executor, chair, leads);
        co_await until("it leads", [&] { return leads.leading; });
        leads.cancel.emit(asio::cancellation_type::terminal);
        co_await until("it has ended", [&] { return leads.outcome.has_value(); });
        CHECK_FALSE(leads.leading);
        co_await nothing_left(server().port());

        for (const auto type : cancellation_types) {
            pending<> wait;
            chair.wait_for_leadership(wait.handler());
            wait.cancel(type);
            CHECK(co_await wait.end() == asio::error::operation_aborted);
        }
        // A resignation that nobody waits for is one all the same; a body need not hurry.
        asio::steady_timer gate(executor, std::chrono::hours(24));
        bool in_body = false;
        bool asked = false;
        auto slow = [&](leadership&) -> awaitable<void> {
            in_body = true;
            co_await sleep_for_ever();
            asked = true;
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            error_code ec;
            co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        };
        std::optional<error_code> outcome;
        auto runs = [&]() -> awaitable<void> {
            const result<void> led = co_await chair.lead(slow);
            outcome = error_in(led);
        };
        asio::co_spawn(executor, runs(), [&](std::exception_ptr e) { CHECK_FALSE(e); });
        co_await until("it leads", [&] { return in_body; });
        pending<> resigning;
        chair.resign(resigning.handler());
        co_await until("the body was asked", [&] { return asked; });
        CHECK_FALSE(resigning.ended());
        resigning.cancel();
        CHECK(co_await resigning.end() == asio::error::operation_aborted);
        CHECK_FALSE(outcome);
        gate.cancel();
        co_await until("lead() has returned", [&] { return outcome.has_value(); });
        CHECK_FALSE(*outcome);

        auto nothing = [](leadership&) -> awaitable<void> { co_return; };
        election wrong(zk, "election");
        result<void> led = co_await wrong.lead(nothing);
        CHECK(error_in(led) == errc::invalid_path);
        CHECK(error_in(co_await wrong.leader()) == errc::invalid_path);
        auto later = chair.leader(asio::deferred);
        const std::optional<contender> none = co_await std::move(later)(asio::use_awaitable);
        CHECK_FALSE(none);
        pending<std::vector<contender>> listed;
        chair.contenders(listed.handler());
        CHECK_FALSE(co_await listed.end());
        co_await chair.resign(asio::use_awaitable);
        co_await nothing_left(server().port());

        reign closed;
        spawn_lead(executor, chair, closed);
        co_await until("it leads", [&] { return closed.leading; });
        election other(zk, path);
        pending<> wait;
        other.wait_for_leadership(wait.handler());
        must(co_await zk.close());
        CHECK(co_await wait.end() == errc::closed);
        co_await until("lead() has returned", [&] { return closed.outcome.has_value(); });
        CHECK(*closed.outcome == errc::lost);
        CHECK(error_in(co_await chair.resign()) == errc::closed);
        led = co_await chair.lead(nothing);
        CHECK(error_in(led) == errc::closed);
    };
    run_test(60s, body);
    expect_clean(server(), {path});
}
