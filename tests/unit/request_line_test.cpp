// What users ask for besides locks: how much of it is under way at once, and who comes next.
#include "line_scene.hpp"

using namespace zklock::unit;

namespace {

constexpr std::size_t bytes = 256 * 1024; // a quarter of what a server reads at once

} // namespace

TEST_CASE("so many requests of users are under way at most, and the others follow in the order of the calls")
{
    connected<line_scene> s;
    line_scene::many reads;
    s.get(reads, 3 * window);
    CHECK(s.servers.requests.size() == window);
    for (std::size_t i = 0; i < 3 * window; ++i) {
        REQUIRE(s.servers.requests.front().what == numbered("get /n", i));
        s.show();
        CHECK(s.servers.requests.size() == std::min(window, 3 * window - i - 1));
    }
    CHECK(reads.ended == 3 * window);
    CHECK(reads.failed == 0);
    // Also of those that waited for a connection.
    line_scene late;
    line_scene::many waiting;
    late.get(waiting, 2 * window);
    late.connect();
    CHECK(late.servers.requests.size() == window);
}

TEST_CASE("a list may be long, so it counts as several reads")
{
    constexpr std::size_t most_lists = window / places_of_a_list;
    connected<line_scene> s;
    std::vector<line_scene::listing> lists(2 * most_lists);
    for (line_scene::listing& each : lists)
        s.contenders(each, "/p");
    CHECK(s.servers.requests.size() == most_lists);
    line_scene::many reads;
    s.get(reads, 1);
    CHECK(s.under_way("get ") == 0);
    for (std::size_t answered = 0; answered < 2 * most_lists; ++answered) {
        CHECK(s.under_way("children /p") == std::min(most_lists, 2 * most_lists - answered));
        s.answer_oldest(outcome::no_node);
    }
    CHECK(std::ranges::all_of(lists, [](const auto& each) { return each.ended == error_code(); }));
    s.show();
    CHECK(reads.ended == 1);
}

TEST_CASE("what locks need does not wait for it")
{
    connected<line_scene> s;
    const auto a = s.hold("/p", 3);
    line_scene::many reads;
    s.get(reads, 10 * window);
    CHECK(s.servers.requests.size() == window);
    s.release(*a);
    CHECK(s.servers.requests.back().what == "remove /p/" + scene::node(1, 3));
    const auto b = s.acquire("/q");
    CHECK(s.under_way("create /q/") == 1);
    CHECK(s.under_way("sync /") == 0);
    s.clock.pass(5s);
    CHECK(s.under_way("sync /") == 1); // the heartbeat
    CHECK(s.under_way("get ") == window);
    // Those who have it do not have it again: a read for each that is answered, and nothing before it is.
    s.servers.requests.front().answer(outcome::ok);
    CHECK(s.servers.requests.back().what == numbered("get /n", window));
}

TEST_CASE("the data of writes under way are bounded, but for those of one, and the order is kept")
{
    connected<line_scene> s;
    std::size_t ended = 0;
    const auto write = [&](const char* path, std::size_t size) {
        return nodes::set(*s.session, path, std::string(size, 'x'), any_version,
                          [&](error_code, node_stat) { ++ended; });
    };
    write("/a", bytes / 2);
    write("/b", bytes / 2);
    write("/c", 1);
    write("/d", 3 * bytes);
    write("/e", 0);
    nodes::get(*s.session, "/f", [&](error_code, node_content) { ++ended; });
    CHECK(s.servers.pending() == "set /a, set /b");
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /b, set /c");
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /c"); // the long one is sent alone
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /d, set /e, get /f");
    write("/g", 1);
    CHECK(s.servers.pending() == "set /d, set /e, get /f");
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /e, get /f, set /g");
    for (int i = 0; i < 3; ++i)
        s.answer_oldest(outcome::ok);
    CHECK(ended == 7);
    // A transaction counts as a whole.
    const std::string half(bytes / 2, 'x');
    nodes::commit(*s.session, transaction().set("/a", half).create("/b", half), {},
                  [&](error_code, commit_result) { ++ended; });
    write("/c", 1);
    CHECK(s.servers.pending() == "batch set /a, create /b");
    s.answer_oldest(outcome::no_node);
    CHECK(s.servers.pending() == "set /c");
    // What waits for a long one goes on when that one is given up.
    write("/d", bytes);
    const auto long_one = write("/e", bytes);
    write("/f", 1);
    CHECK(s.servers.pending() == "set /c");
    CHECK(long_one->withdraw() == withdrawal::withdrawn);
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /d");
    s.answer_oldest(outcome::ok);
    CHECK(s.servers.pending() == "set /f");
}

TEST_CASE("what is withdrawn is sent no more, and has others come up")
{
    connected<line_scene> s;
    line_scene::many reads;
    s.get(reads, 2 * window);
    line_scene::listing list;
    s.contenders(list, "/p");
    for (std::size_t i = 0; i < window + 7; ++i)
        CHECK(reads.handles[i]->withdraw() == withdrawal::withdrawn);
    CHECK(s.servers.requests.size() == window); // those that are on their way
    s.show();
    CHECK(s.servers.requests.back().what == numbered("get /n", window + 7));
    for (std::size_t i = 1; i < window; ++i)
        s.show();
    CHECK(reads.ended == 0);
    CHECK(s.servers.requests.size() == window - 7 + 1);
    CHECK(s.servers.requests.back().what == "children /p");
    for (std::size_t i = 7; i < window; ++i)
        s.show();
    s.list(line_scene::crowd(1'000));
    CHECK(s.servers.requests.size() == window);
    for (std::size_t i = 0; i < 10; ++i)
        s.show();
    CHECK(list.handle->withdraw() == withdrawal::withdrawn);
    CHECK(list.handle->withdraw() == withdrawal::ended);
    for (std::size_t i = 0; i < window; ++i)
        s.show();
    asked(s).nothing_else();
    CHECK_FALSE(list.ended);
    CHECK(reads.ended == window - 7);
    // All places are free again.
    s.get(reads, 2 * window);
    CHECK(s.servers.requests.size() == window);
}

TEST_CASE("thousands that wait end with the client, each once")
{
    connected<line_scene> s;
    line_scene::many reads;
    s.get(reads, 20'000);
    line_scene::listing list, waiting;
    s.contenders(waiting, "/p");
    s.close();
    CHECK(reads.ended == 20'000 - window);
    CHECK(waiting.ended == errc::closed);
    s.lose_answers();
    CHECK(reads.ended == 20'000);
    CHECK(reads.failed == 20'000);

    line_scene other;
    other.connect();
    other.contenders(list, "/p");
    other.list(line_scene::crowd(500));
    other.close();
    CHECK(list.ended == errc::closed); // it had more to send
    other.lose_answers();
}

TEST_CASE("what is not sent when a guard ends is known not to be done")
{
    line_scene s;
    s.session->requests().window = 1;
    s.connect();
    told<node_stat> first, second;
    told_end third;
    const auto sent = nodes::set(*s.session, "/a", "x", any_version, first.teller());
    const auto waits = nodes::set(*s.session, "/b", "x", any_version, second.teller());
    nodes::remove(*s.session, "/c", any_version, third.teller());
    waits->end_unsent(errc::not_owner);
    sent->end_unsent(errc::not_owner);
    s.clock.run();
    CHECK(second.ended_with(errc::not_owner));
    CHECK_FALSE(first.ended);
    s.answer_oldest(outcome::ok);
    CHECK(first.ended == error_code());
    CHECK(s.servers.pending() == "remove /c");
}

TEST_CASE("a transaction that could not be sent before a writer became a reader is refused; no lock is lost")
{
    line_scene s;
    s.session->requests().window = 1;
    s.connect();
    const auto a = s.hold_as_writer("/p");
    told<commit_result> sent, waiting, after;
    told<recipes::grant> downgraded;
    nodes::commit(*s.session, transaction(), s.claim_of(*a), sent.teller());
    nodes::commit(*s.session, transaction(), s.claim_of(*a), waiting.teller());
    CHECK(a->handle->downgrade(downgraded.teller()));
    const std::string reader = scene::downgraded("/p");
    CHECK(s.servers.pending() ==
          "batch " + s.own(*a) + ", batch create " + reader + ", remove " + a->given.node + " at version 0");
    s.servers.take().done({});
    s.clock.run();
    CHECK(sent.ended == error_code());
    CHECK(waiting.ended_with(errc::not_owner)); // behind the downgrade it would have found no node
    s.servers.take().done({reader});
    s.clock.run();
    CHECK(downgraded.ended == error_code());
    CHECK(a->losses == 0);
    nodes::commit(*s.session, transaction(), recipes::nodes::claim(a->handle, downgraded.value), after.teller());
    CHECK(s.servers.pending().ends_with("batch check " + reader));
}

TEST_CASE("a writer whose downgrade was refused goes on with transactions")
{
    connected<line_scene> s;
    const auto a = s.hold_as_writer("/p");
    told<commit_result> after;
    told<recipes::grant> downgraded;
    CHECK(a->handle->downgrade(downgraded.teller()));
    s.answer_oldest(outcome::no_auth);
    s.answer_oldest(outcome::no_node); // of a reader
    CHECK(downgraded.ended_with(errc::access_denied));
    nodes::commit(*s.session, transaction(), s.claim_of(*a), after.teller());
    CHECK(s.servers.pending() == "batch " + s.own(*a));
}
