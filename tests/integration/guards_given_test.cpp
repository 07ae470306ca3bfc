// sanitizers: none
// program: told
// Guards that are given to an operation: how often one hold may come back, and what is left when memory fails.
#include "adapter/locks/guard_state.hpp"

#include "integration/memory_scene.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

using namespace zklock::test;

namespace {

struct writer {
    asio::io_context io;
    client c{io, options_for(server().address())};
    shared_mutex book{c, "/given"};
    guard held = take(io, book);
    std::optional<error_code> lost;
    asio::cancellation_signal cancel;

    ~writer()
    {
        held = guard();
        close(io, c);
        expect_clean(server(), {"/given"});
    }
    /// Waits for the loss, and knows the guard before all others.
    void wait_lost()
    {
        held.wait_lost(asio::bind_cancellation_slot(cancel.slot(), [this](error_code ec) { lost = ec; }));
        io.restart();
        io.poll();
    }
    /// As after a downgrade that the servers refuse.
    void come_back()
    {
        constexpr int times = 100'000;
        for (int i = 0; i < times; ++i)
            held = zklock::detail::access::make<guard>(zklock::detail::access::state(held)->hand_over());
        REQUIRE(held);
    }
    void run_until_told()
    {
        run_past_failures(io, [&] { return lost.has_value(); });
    }
};

/// Gives the guard, while the so-and-so-manieth allocation fails. False if there were fewer: then it is given.
template <class Give> bool give_short_of_memory(int number, Give give)
{
    const asio_fails_too asio;
    try {
        const short_of_memory now(number);
        give();
        return false;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

} // namespace

TEST_CASE("a hold that has come back 100,000 times is lost, released and destroyed like any other")
{
    writer w;
    const std::weak_ptr first = zklock::detail::access::state(w.held);
    w.wait_lost();
    w.come_back();
    CHECK(first.expired()); // nobody needs it any more
    SUBCASE("lost") {
        admin_client admin(server().port());
        REQUIRE(admin.remove(w.held.node()));
        w.run_until_told();
        CHECK_FALSE(*w.lost);
        CHECK_FALSE(w.held);
    }
    SUBCASE("released") {
        const ending released;
        std::move(w.held).release(released.handler());
        w.run_until_told();
        CHECK(w.lost == error_code(asio::error::operation_aborted));
        run_past_failures(w.io, [&] { return released.is_over(); });
    }
    SUBCASE("destroyed") {
        w.held = guard();
        w.run_until_told();
        CHECK(w.lost == error_code(asio::error::operation_aborted));
    }
    SUBCASE("the wait is cancelled") {
        w.cancel.emit(asio::cancellation_type::terminal);
        w.run_until_told();
        CHECK(w.lost == error_code(asio::error::operation_aborted));
    }
}

TEST_CASE("memory fails as a guard is given, at whichever allocation: the guard keeps its lock")
{
    writer w;
    const ending ended;
    std::optional<asio::cancellation_signal> cancel;
    const auto handler = [&] {
        cancel.emplace(); // one keeps the memory that it has been given
        return asio::bind_cancellation_slot(cancel->slot(), ended.handler());
    };
    int failures = 0;
    SUBCASE("to a release") {
        while (give_short_of_memory(failures + 1, [&] { std::move(w.held).release(handler()); })) {
            CHECK(w.held);
            ++failures;
        }
    }
    SUBCASE("to a downgrade") {
        while (give_short_of_memory(failures + 1, [&] { w.book.downgrade(std::move(w.held), handler()); })) {
            CHECK(w.held);
            ++failures;
        }
    }
    CHECK(failures > 3);
    CHECK_FALSE(w.held);
    run_past_failures(w.io, [&] { return ended.is_over() || *ended.calls == 1; });
    CHECK(*ended.calls == 1);
}
