// sanitizers: none
// program: memory
// A downgrade that finds its lease lapsed, where memory fails: it is told in time, and not only with the later release.
// There are no servers; it is in a program of such tests for the operator new that it brings.
#include "recipes/composed/reentrant_locks.hpp"
#include "unit/without_memory.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// There is memory again.
void go_on(scene& s)
{
    give_up_if_wanted(s);
    s.clock.pass(100ms);
}

} // namespace

TEST_CASE("a writer whose lease has lapsed, unnoticed or not, becomes a reader no more: it is told so at once")
{
    for (const bool noticed : {true, false}) {
        CAPTURE(noticed);
        play_without_memory([&](const auto& without_memory) {
            connected_scene s;
            const auto a = s.hold_as_writer("/p");
            s.clock.skip(1min);
            if (noticed)
                s.clock.pass(1s);
            CHECK(a->losses == (noticed ? 1 : 0));
            std::optional<error_code> told;
            std::function<void(error_code, recipes::grant)> done = [&](error_code ec, const recipes::grant&) {
                CHECK_FALSE(told);
                told = ec;
            };
            bool begun = false;
            without_memory([&] { begun = a->handle->downgrade(std::move(done)); });
            CHECK(begun);
            go_on(s);
            CHECK(told == make_error_code(errc::lost));
            CHECK(a->losses == 1);
            s.release(*a);
        });
    }
}

TEST_CASE("an owner who stops writing and reads on: his release is told at once, if the lease has lapsed by then")
{
    play_without_memory([](const auto& without_memory) {
        connected_scene s;
        manual_scheduler a_moment_ago; // the lease lapses between two looks at the clock
        recipes::reentrant_locks owners(*s.locks, a_moment_ago, std::make_shared<recipes::hold_counts>());
        const auto own = [&](queue::contender_kind kind) {
            const auto a = std::make_shared<scene::attempt>();
            a->handle = owners.acquire(1, "/p", {}, call_of(a), kind);
            s.clock.run();
            return a;
        };
        const auto writer = own(queue::contender_kind::writer);
        asked(s).to("create /p/" + prefix(1, "__WRIT__")).number(100, 0).to("watch /p").alone(1, 100);
        const auto reader = own(queue::contender_kind::reader);
        REQUIRE(reader->ended == error_code());
        s.clock.skip(1min);
        without_memory([&] { writer->handle->release([&](error_code ec) { writer->released = ec; }); });
        go_on(s);
        CHECK(writer->released == make_error_code(errc::lost));
        CHECK(reader->losses == 1);
        s.release(*reader);
    });
}
