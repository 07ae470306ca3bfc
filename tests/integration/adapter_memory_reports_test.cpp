// sanitizers: none
// program: memory
// Memory that fails once in an acquire or in a commit, at whichever allocation: whoever asked is told, and the other
// client is served.
#include "integration/memory_once_scene.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <string>
#include <utility>

using namespace zklock;
using namespace zklock::test;

namespace {

enum class holder { nobody, same_client, other_client };

constexpr holder holders[] = {holder::nobody, holder::same_client, holder::other_client};

} // namespace

TEST_CASE("memory fails once in an acquire: it reports, nothing stays, and others go on")
{
    two_clients both;
    admin_client admin(server().port());
    const std::string path = "/memory";
    mutex lock(both.c, path), others_lock(both.other, path), held_on(both.c, "/memory-held-on");
    guard kept = both.take(held_on);
    for (const holder whose : holders) {
        int troubled = 0;
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(static_cast<int>(whose));
            CAPTURE(number);
            guard held;
            if (whose != holder::nobody)
                held = both.take(whose == holder::same_client ? lock : others_lock);
            const told acquired, theirs; // guards are destroyed in the handler
            bool behind = false;
            const auto others = [&] {
                both.run_other();
                if (whose == holder::nobody || (behind && !held)) // the path may be gone
                    return;
                const std::size_t queued = admin.children(path).size();
                if (queued == 2 && !std::exchange(behind, true))
                    others_lock.acquire(theirs.handler());
                if (queued == 3)
                    held = guard();
            };

            asio::cancellation_signal cancel;
            const begun met = begin_short_of_memory(
                both.io, number, acquired, cancel,
                [&] { lock.acquire(asio::bind_cancellation_slot(cancel.slot(), acquired.handler())); }, others);
            failed = met.failed;
            if (!behind)
                others_lock.acquire(theirs.handler());
            held = guard();
            const int thrown = met.thrown + both.until([&] { return theirs.is_over(); });
            CAPTURE(thrown);
            CHECK(thrown <= 1);
            CHECK((acquired.dropped() || acquired.well() || acquired.without_memory() || acquired.cancelled()));
            if (acquired.dropped() || acquired.cancelled())
                CHECK(thrown == 1);
            CHECK(theirs.well());
            CHECK(kept);
            troubled += !acquired.well();
            if (!failed) {
                CHECK(thrown == 0);
                CHECK(acquired.well());
            }
        }
        CHECK(troubled != 0);
    }
    kept = guard();
    both.close_both();
    expect_clean(server(), {path, "/memory-held-on"});
}

TEST_CASE("memory fails once in a commit, of a holder or of anybody: it reports what was done, and others go on")
{
    two_clients both;
    admin_client admin(server().port());
    const std::string path = "/memory", written = "/memory-written";
    admin.create(written, "0");
    mutex lock(both.c, path), others_lock(both.other, path), held_on(both.c, "/memory-held-on");
    guard kept = both.take(held_on);
    for (const bool guarded : {true, false}) {
        int reported = 0;
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(guarded);
            CAPTURE(number);
            guard held = both.take(lock);
            const told committed, lost, theirs;
            held.wait_lost(lost.handler());
            others_lock.acquire(theirs.handler()); // its guard is destroyed in the handler
            both.until_queued(others_lock, 2);
            const std::string before = admin.get(written), value = "of a transaction, and no short text " + before;
            transaction made;
            made.set(written, value);

            asio::cancellation_signal cancel;
            const auto handler = [&] { return asio::bind_cancellation_slot(cancel.slot(), committed.handler()); };
            const begun met = begin_short_of_memory(both.io, number, committed, cancel, [&] {
                if (guarded)
                    held.commit(made, handler());
                else
                    both.c.commit(made, handler());
            });
            failed = met.failed;
            CHECK(held);
            CHECK_FALSE(lost.is_over());
            held = guard();
            const int thrown = met.thrown + both.until([&] { return lost.is_over() && theirs.is_over(); });
            CAPTURE(thrown);
            const bool unknown = committed.failed_with(errc::outcome_unknown);
            CHECK(thrown <= 1);
            CHECK((committed.dropped() || committed.well() || committed.without_memory() || committed.cancelled() ||
                   unknown));
            if (committed.dropped() || committed.cancelled())
                CHECK(thrown == 1);
            const std::string after = admin.get(written);
            CHECK((after == value || after == before));
            if (committed.well())
                CHECK(after == value);
            if (committed.without_memory() || committed.cancelled())
                CHECK(after == before);
            CHECK(lost.cancelled());
            CHECK(theirs.well());
            CHECK(kept);
            reported += committed.without_memory() + unknown;
            if (!failed) {
                CHECK(thrown == 0);
                CHECK(committed.well());
            }
            admin.set(written, std::to_string(number));
        }
        CHECK(reported != 0);
    }
    kept = guard();
    both.close_both();
    admin.remove(written);
    expect_clean(server(), {path, "/memory-held-on"});
}
