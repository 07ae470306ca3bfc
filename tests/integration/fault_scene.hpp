#pragma once
// What the tests of faults have in common: sessions behind proxies of their own, operations that go on in the
// background, and a look at what is left on the server while the clients are still open.
#include "support/expect_clean.hpp"
#include "support/failure_report.hpp"
#include "support/four_letter_words.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"
#include "support/proxy.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <variant>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too
namespace asio = boost::asio;
using asio::any_io_executor;
using asio::awaitable;

inline constexpr milliseconds long_session{30'000}; ///< its heartbeats are too rare to disturb a short test

/// A path that no other test case of this program uses.
[[nodiscard]] inline std::string new_path()
{
    static int count = 0;
    return "/faults/" + std::to_string(count++);
}

/// The value; or the error, which fails the test.
template <class T> T must(result<T> r)
{
    if (r.has_error())
        throw std::runtime_error("unexpected error: " + r.error().message());
    if constexpr (!std::is_void_v<T>)
        return std::move(r).value();
}

/// Success has none.
template <class T> [[nodiscard]] error_code error_in(const result<T>& r)
{
    return r.has_error() ? r.error() : error_code();
}

/// Waits, in a coroutine, until `holds` is true: for what no operation of the library reports.
template <class F> awaitable<void> until(std::string_view what, F holds, milliseconds limit = default_limit)
{
    static_assert(std::is_trivially_destructible_v<F>, "gcc 12 would destroy it twice");
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto end = steady_clock::now() + limit;
    while (!holds()) {
        if (steady_clock::now() > end)
            throw std::runtime_error("not within " + std::to_string(limit.count()) + " ms: " + std::string(what));
        timer.expires_after(milliseconds{1});
        co_await timer.async_wait(asio::use_awaitable);
    }
}

/// The handler of an operation, and what it was called with. Copies share it.
template <class Value = std::monostate> class pending {
public:
    [[nodiscard]] auto handler() { return asio::bind_cancellation_slot(state_->cancel.slot(), completion{state_}); }
    [[nodiscard]] bool ended() const { return state_->calls != 0; }
    [[nodiscard]] error_code error() const { return state_->ec; }
    [[nodiscard]] Value& value() { return state_->value; }
    [[nodiscard]] steady_clock::time_point ended_at() const { return state_->at; }
    void cancel(asio::cancellation_type type = asio::cancellation_type::terminal) { state_->cancel.emit(type); }

    awaitable<error_code> end(milliseconds limit = default_limit)
    {
        const auto state = state_;
        co_await until(
            "the operation ended", [&state] { return state->calls != 0; }, limit);
        co_return state->ec;
    }

private:
    struct state {
        asio::cancellation_signal cancel;
        std::atomic<int> calls = 0; // an empty guard's handler runs on a thread of the system executor
        error_code ec;
        Value value;
        steady_clock::time_point at;
    };
    struct completion {
        std::shared_ptr<state> s;

        void operator()(error_code ec) { operator()(ec, Value()); }
        void operator()(error_code ec, Value value)
        {
            s->at = steady_clock::now();
            s->ec = ec;
            s->value = std::move(value);
            CHECK(++s->calls == 1);
        }
    };

    std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Of any lock; with a limit, if there is one.
template <class Held = guard, class Lock> [[nodiscard]] pending<Held> begin_acquire(Lock lock, auto... limit)
{
    pending<Held> p;
    lock.acquire(limit..., p.handler());
    return p;
}

[[nodiscard]] inline pending<> begin_release(guard& held)
{
    pending<> p;
    std::move(held).release(p.handler());
    return p;
}

/// Waits for the grant.
template <class Held> awaitable<Held> granted(pending<Held> attempt)
{
    const error_code ec = co_await attempt.end();
    if (ec)
        throw std::runtime_error("no grant: " + ec.message());
    co_return std::move(attempt.value());
}

/// Releases them, one after the other.
template <class... Held> awaitable<void> release(Held&&... held)
{
    (must(co_await std::move(held).release()), ...);
}

/// Acquires, with a limit if there is one, and releases.
template <class Lock> awaitable<void> take_turn(Lock lock, auto... limit)
{
    auto held = must(co_await lock.acquire(limit...));
    co_await release(held);
}
/// Waits for the grant, and releases.
template <class Held> awaitable<void> take_turn(pending<Held> attempt)
{
    Held held = co_await granted(std::move(attempt));
    co_await release(held);
}

inline awaitable<void> release_well(pending<guard>& held)
{
    auto releasing = begin_release(held.value());
    const error_code failed = co_await releasing.end();
    CHECK_MESSAGE(!failed, failed.message());
}

template <class Held> [[nodiscard]] pending<> begin_wait_lost(const Held& held)
{
    pending<> p;
    held.wait_lost(p.handler());
    return p;
}

[[nodiscard]] inline client_options fault_options(std::string servers, milliseconds session_timeout)
{
    client_options o;
    o.servers = std::move(servers);
    o.session_timeout = session_timeout;
    o.server_tick = usual_tick;
    o.connect_backoff = milliseconds{5};
    o.connect_backoff_limit = milliseconds{50};
    o.log = log_to([](log_level, std::string_view line) { report_on_failure("A client: " + std::string(line)); });
    return o;
}

/// Whoever has seen what is written here has seen more than servers that begin anew.
inline void write_much(zookeeper_server& written)
{
    admin_client admin(written.port());
    for (int i = 0; i < 100; ++i)
        admin.create("/much" + std::to_string(i));
}

/// A client whose connection can be disturbed.
struct remote_client {
    remote_client(asio::any_io_executor executor, std::uint16_t server_port,
                  milliseconds session_timeout = long_session)
        : link(server_port), zk(std::move(executor), fault_options(link.address(), session_timeout))
    {
    }

    awaitable<void> connect()
    {
        const result<void> connected = co_await zk.wait_connected(default_limit);
        REQUIRE(!connected.has_error());
    }
    awaitable<void> close()
    {
        const result<void> closed = co_await zk.close();
        CHECK(!closed.has_error());
    }
    awaitable<void> suspended()
    {
        co_await until("the client noticed", [this] { return zk.state() == connection_state::suspended; });
    }

    /// Until the link accepts again.
    awaitable<void> cut_off()
    {
        link.refuse();
        link.cut();
        return suspended();
    }

    proxy link;
    client zk;
};

/// Ends the program, as what no second attempt makes good.
[[noreturn]] inline void broken_promise(const char* what)
{
    std::cerr << "BROKEN PROMISE: " << what << std::endl;
    std::abort();
}

/// What the lock protects, from visitors on any threads: nobody else is inside, and the tokens grow.
struct critical_section {
    void enter(const guard& held)
    {
        if (inside.exchange(true))
            broken_promise("two inside");
        if (held.fencing_token() <= last_token.exchange(held.fencing_token()))
            broken_promise("a token that does not grow");
        ++grants;
    }
    void leave() { inside = false; }

    std::atomic<bool> inside = false;
    std::atomic<int> grants = 0;
    std::atomic<std::int64_t> last_token = 0;
};

/// Acquires, visits, releases.
inline awaitable<void> visit(mutex lock, critical_section& section)
{
    guard held = must(co_await lock.acquire(milliseconds{60'000}));
    section.enter(held);
    // So that others get a chance to be wrong meanwhile.
    const auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);
    section.leave();
    must(co_await std::move(held).release());
}

// --- the server's side ---------------------------------------------------------------------------------------------

/// How many children have been created under a path that has none now.
[[nodiscard]] inline int creates_under(admin_client& admin, const std::string& path)
{
    const auto found = admin.exists(path);
    REQUIRE(found);
    REQUIRE(found->num_children == 0);
    return found->cversion / 2; // a create and a delete each count one
}

[[nodiscard]] inline bool watches_node(std::uint16_t port, std::int64_t session, const std::string& node)
{
    const auto all = watches(port);
    const auto found = all.find(node);
    return found != all.end() && std::find(found->second.begin(), found->second.end(), session) != found->second.end();
}

/// Until the program's server has a watch of that client on the node. (A proxy between them does not see the look.)
inline awaitable<void> until_watched(const client& zk, std::string node)
{
    co_await until("the node is watched", [&] { return watches_node(server().port(), zk.session_id(), node); });
}

/// The contenders under a path, in the order of their numbers.
[[nodiscard]] inline std::vector<std::string> queue_of(admin_client& admin, const std::string& path)
{
    admin.sync(path);
    auto names = admin.children(path);
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
        return a.substr(a.size() - 10) < b.substr(b.size() - 10);
    });
    return names;
}

/// Waits until the path's node has so many children.
inline awaitable<void> until_queued(admin_client& admin, const std::string& path, std::size_t count,
                                    milliseconds limit = default_limit)
{
    const auto look = [&] {
        admin.sync("/");
        return admin.children(path).size() == count;
    };
    co_await until("so many are in the queue", look, limit);
}

/// An acquire that has begun, as soon as it is the last of so many in the queue.
template <class Held>
awaitable<pending<Held>> queued(admin_client& admin, const std::string& path, std::size_t count, pending<Held> attempt)
{
    co_await until_queued(admin, path, count);
    co_return attempt;
}

/// A contender's node, and not the path of a lock: on that, clients keep a watch for a while.
inline bool is_contender(std::string_view node)
{
    const std::string_view name = node.substr(node.rfind('/') + 1);
    const auto marked = [name](std::string_view mark) { return name.find(mark) != std::string_view::npos; };
    return marked("lock-") || marked("lock__") || marked("__WRIT__") || marked("__READ__");
}

inline bool contender_watched(std::uint16_t port)
{
    const auto all = watches(port);
    return std::any_of(all.begin(), all.end(), [](const auto& watched) { return is_contender(watched.first); });
}

/// Until the server has no ephemeral node and no watch, while the clients are still there. Their end would tidy up.
inline awaitable<void> nothing_left(std::uint16_t port)
{
    const auto nothing = [port] { return ephemeral_count(port) == 0 && !contender_watched(port); };
    co_await until("no node and no watch of one is left", nothing);
}

} // namespace zklock::test
