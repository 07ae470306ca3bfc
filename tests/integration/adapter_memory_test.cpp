// sanitizers: none
// program: memory
// No memory, or an executor that throws: what the exception meets may be lost, and nothing else.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"
#include "support/one_server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

using starter = std::function<void(client&, const failing_executor&, asio::cancellation_slot, const ending&)>;

const std::vector<std::pair<const char*, starter>>& operations()
{
    static const auto bound = [](const failing_executor& on, asio::cancellation_slot slot, const ending& e) {
        return asio::bind_cancellation_slot(slot, asio::bind_executor(on, e.handler()));
    };
    static const std::vector<std::pair<const char*, starter>> all{
        {"wait_connected", [](client& c, const auto& on, auto slot, const ending& e) {
             c.wait_connected(1h, bound(on, slot, e));
         }},
        {"get", [](client& c, const auto& on, auto slot, const ending& e) { c.get("/", bound(on, slot, e)); }},
        {"acquire", [](client& c, const auto& on, auto slot, const ending& e) {
             mutex(c, "/memory").acquire(bound(on, slot, e));
         }},
        {"contenders", [](client& c, const auto& on, auto slot, const ending& e) {
             mutex(c, "/memory").contenders(bound(on, slot, e));
         }},
        {"wait_for_leadership", [](client& c, const auto& on, auto slot, const ending& e) {
             election(c, "/memory").wait_for_leadership(bound(on, slot, e));
         }},
    };
    return all;
}

} // namespace

TEST_CASE("one handler cannot be posted: it is lost, the others are told, and the client closes")
{
    for (std::size_t failing = 0; failing < operations().size(); ++failing)
        for (const bool cancelled : {true, false}) {
            CAPTURE(operations()[failing].first);
            CAPTURE(cancelled);
            asio::io_context io;
            client c(io, options_for("127.0.0.1:1"));
            std::vector<ending> endings(operations().size());
            std::vector<asio::cancellation_signal> signals(operations().size());
            std::vector<std::shared_ptr<bool>> fails;
            for (std::size_t i = 0; i < operations().size(); ++i) {
                fails.push_back(std::make_shared<bool>(false));
                operations()[i].second(c, {io.get_executor(), fails[i]}, signals[i].slot(), endings[i]);
            }
            io.poll(); // all have begun
            *fails[failing] = true;
            int thrown = 0;
            if (cancelled) {
                signals[failing].emit(asio::cancellation_type::terminal);
                thrown += run_past_failures(io, [&] { return endings[failing].is_over(); });
                CHECK(thrown == 1);
            }
            const ending closed, again;
            c.close(closed.handler());
            c.close(again.handler());
            const auto all_over = [&] {
                return closed.is_over() && again.is_over() && std::ranges::all_of(endings, &ending::is_over);
            };
            thrown += run_past_failures(io, all_over);
            CHECK(thrown == 1);
            for (std::size_t i = 0; i < operations().size(); ++i) {
                CAPTURE(operations()[i].first);
                CHECK(endings[i].is_over());
                CHECK(*endings[i].calls == (i == failing ? 0 : 1));
            }
            CHECK(*closed.calls == 1);
            CHECK(*again.calls == 1);
            CHECK(c.state() == connection_state::closed);
        }
}

TEST_CASE("the handler of a close cannot be posted: other closes are told")
{
    asio::io_context io;
    client c(io, options_for("127.0.0.1:1"));
    const auto fails = std::make_shared<bool>(false);
    const ending closed, again;
    c.close(asio::bind_executor(failing_executor(io.get_executor(), fails), closed.handler()));
    c.close(again.handler());
    *fails = true;
    CHECK(run_past_failures(io, [&] { return closed.is_over() && again.is_over(); }) == 1);
    CHECK(*closed.calls == 0);
    CHECK(*again.calls == 1);
}

namespace {

auto on(asio::cancellation_slot slot, const ending& e)
{
    return asio::bind_cancellation_slot(slot, e.handler());
}

/// A client that holds a lock and all permits of a semaphore, and what can be begun there. None but the reads and the
/// releases ends by itself.
struct busy_client {
    using begins = std::function<void(asio::cancellation_slot, const ending&)>;

    busy_client()
    {
        look.check(held.node());
        gate.acquire(2, [this](error_code ec, permits p) {
            CHECK_FALSE(ec);
            taken = std::move(p);
        });
        run_past_failures(io, [this] { return static_cast<bool>(taken); });
    }

    /// What was to be released when memory failed may still be held: so each time another lock.
    void release_another(asio::cancellation_slot slot, const ending& e)
    {
        mutex another(c, "/memory-released-" + std::to_string(++others));
        take(io, another).release(on(slot, e));
    }

    /// Closes the client: everything ends.
    void end(const std::vector<ending>& kept)
    {
        close(io, c);
        for (const ending& e : kept) {
            CHECK(e.is_over());
            CHECK(*e.calls <= 1);
        }
        held = guard();
        taken = permits();
        run_past_failures(io, [this] { return io.stopped(); });
        expect_clean(server());
    }

    asio::io_context io;
    client c{io, hasty_options_for(server().address())};
    mutex lock{c, "/memory"};
    semaphore gate{c, "/memory-of-permits", 2};
    guard held = take(io, lock);
    permits taken;
    transaction look;
    int others = 0;
    const std::vector<std::pair<const char*, begins>> all{
        {"acquire", [this](auto slot, const ending& e) { lock.acquire(on(slot, e)); }},
        {"acquire permits", [this](auto slot, const ending& e) { gate.acquire(2, on(slot, e)); }},
        {"get", [this](auto slot, const ending& e) { c.get("/", on(slot, e)); }},
        {"contenders", [this](auto slot, const ending& e) { lock.contenders(on(slot, e)); }},
        {"release", [this](auto slot, const ending& e) { release_another(slot, e); }},
        {"wait_lost", [this](auto slot, const ending& e) { held.wait_lost(on(slot, e)); }},
        {"wait_revoked", [this](auto slot, const ending& e) { held.wait_revoked(on(slot, e)); }},
        {"commit", [this](auto slot, const ending& e) { held.commit(look, on(slot, e)); }},
    };
};

} // namespace

TEST_CASE("no memory to begin with: an operation can be cancelled, and ends with the client")
{
    busy_client busy;
    std::vector<ending> kept; // until the close
    for (const auto& [name, begin] : busy.all)
        for (const bool cancelled : {true, false}) {
            for (int number = 1;; ++number) {
                CAPTURE(name);
                CAPTURE(number);
                busy.io.restart();
                busy.io.poll();
                asio::cancellation_signal cancel;
                const ending e;
                begin(cancel.slot(), e);
                const bool failed = run_one_short_of_memory(busy.io, number);
                if (cancelled || !failed) {
                    cancel.emit(asio::cancellation_type::terminal);
                    run_past_failures(busy.io, [&] { return e.is_over(); });
                    CHECK(*e.calls <= 1);
                } else {
                    kept.push_back(e);
                }
                if (!failed)
                    break;
            }
        }
    CHECK(kept.size() > busy.all.size());
    busy.end(kept);
}

namespace {

/// How far an operation has come when it is cancelled.
enum class progress { none, begun, queued /* perhaps */ };

} // namespace

TEST_CASE("no memory to cancel with, at the call or when the client comes to it: it can be cancelled again")
{
    busy_client busy;
    std::size_t failures = 0;
    for (const auto& [name, begin] : busy.all)
        for (const bool at_the_call : {true, false})
            for (const progress when : {progress::none, progress::begun, progress::queued}) {
                bool failed = true;
                for (int number = 1; failed; ++number) {
                    CAPTURE(name);
                    CAPTURE(at_the_call);
                    CAPTURE(static_cast<int>(when));
                    CAPTURE(number);
                    asio::cancellation_signal cancel;
                    const ending e;
                    begin(cancel.slot(), e);
                    busy.io.restart();
                    if (when == progress::begun)
                        busy.io.poll();
                    else if (when == progress::queued)
                        busy.io.run_for(5ms);
                    if (at_the_call) {
                        failed = cancel_short_of_memory(cancel, number);
                    } else {
                        cancel.emit(asio::cancellation_type::terminal);
                        const asio_fails_too everywhere;
                        failed = run_short_of_memory(busy.io, number, e);
                    }
                    failures += failed;
                    cancel.emit(asio::cancellation_type::terminal);
                    run_past_failures(busy.io, [&] { return e.is_over(); });
                    CHECK(*e.calls <= 1);
                    if (at_the_call || !failed)
                        CHECK(*e.calls == 1);
                }
            }
    CHECK(failures >= busy.all.size()); // the call alone takes memory
    busy.end({});
}

TEST_CASE("guards and clients are destroyed without memory: what was held is given back, and the session ends")
{
    constexpr std::size_t locks = 40; // more than there is room for among what waits for the client's strand
    asio::io_context io;
    std::optional<client> c(std::in_place, io, options_for(server().address()));
    client other(io, options_for(server().address()));
    const auto path = [](std::size_t i) { return "/memory-" + std::to_string(i); };
    std::vector<guard> held(locks);
    for (std::size_t i = 0; i < locks; ++i) {
        mutex(*c, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
        run_past_failures(io, [&] { return static_cast<bool>(held[i]); });
    }
    {
        const out_of_memory now;
        for (guard& g : held)
            g = guard();
    }
    for (std::size_t i = 0; i < locks; ++i)
        mutex(other, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
    run_past_failures(io, [&] { return std::ranges::all_of(held, [](const guard& g) { return static_cast<bool>(g); }); });
    held.clear();
    const ending closed;
    other.close(closed.handler());
    {
        const out_of_memory now;
        c.reset();
    }
    run_past_failures(io, [&] { return io.stopped(); });
    CHECK(*closed.calls == 1);
    expect_clean(server());
}

TEST_CASE("a context is destroyed without memory, while some wait for nodes, and a semaphore is in use")
{
    const std::string missing = "/a node whose path is too long to be kept without memory";
    auto io = std::make_unique<asio::io_context>();
    std::optional<client> c(std::in_place, *io, options_for(server().address()));
    const ending wait, line;
    semaphore gate(*c, "/a semaphore whose path is too long for that, too", 1);
    std::optional<permits> held;
    c->wait_created(missing, wait.handler());
    gate.acquire(1, [&held](error_code, permits got) { held = std::move(got); });
    run_past_failures(*io, [&] { return held && *held; });
    gate.acquire(1, line.handler());
    bool looked = false; // so the wait before has looked, too
    c->exists(missing, [&looked](const auto&...) { looked = true; });
    run_past_failures(*io, [&] { return looked; });
    {
        const out_of_memory now;
        io.reset();
    }
    CHECK(wait.is_over());
    CHECK(line.is_over());
    CHECK(*wait.calls == 0);
    CHECK(*line.calls == 0);
    held.reset();
    c.reset();
    expect_clean(server());
}

TEST_CASE("of those who wait for the same, one has an executor that throws: the others are told, and a release ends")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    const auto fails = std::make_shared<bool>(false);
    const failing_executor failing(io.get_executor(), fails);
    {
        const ending first, second;
        c.wait_connected(1h, asio::bind_executor(failing, first.handler()));
        c.wait_connected(1h, second.handler());
        *fails = true;
        CHECK(run_past_failures(io, [&] { return first.is_over() && second.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        *fails = false;
    }
    mutex lock(c, "/memory");
    guard held;
    for (const bool cancelled : {false, true}) {
        CAPTURE(cancelled);
        held = take(io, lock);
        const ending first, second, released;
        held.wait_lost(asio::bind_executor(failing, first.handler()));
        held.wait_lost(second.handler());
        io.restart();
        io.poll();
        *fails = true;
        asio::cancellation_signal cancel;
        std::move(held).release(asio::bind_cancellation_slot(cancel.slot(), released.handler()));
        if (cancelled)
            cancel.emit(asio::cancellation_type::terminal);
        CHECK(run_past_failures(io, [&] { return first.is_over() && second.is_over() && released.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        CHECK(*released.calls == 1);
        *fails = false;
    }
    held = take(io, lock);
    held = guard();
    close(io, c);
    expect_clean(server(), {"/memory"});
}

