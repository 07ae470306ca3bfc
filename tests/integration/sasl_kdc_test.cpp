// sanitizers: address
// program: kerberos
// A KDC that does not answer holds a call for half a minute. Nobody waits for it but the client that needs a ticket.
#include "integration/fork_scene.hpp"
#include "integration/sasl_scene.hpp"

using namespace zklock::test;

namespace {

/// Its address sanitizer aborts where a thread that is stopped unwinds frames that it has not compiled; clang's does
/// not.
#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
constexpr bool gcc_sanitizes = true;
#else
constexpr bool gcc_sanitizes = false;
#endif

const auto kdc_server = knowing_by_kerberos();

/// Half of what the call takes, and more than anything else does.
constexpr auto soon = 13s;

/// The KDC takes connections, and does not answer.
class silence {
public:
    silence() { usual_realm().pause(); }
    ~silence() { usual_realm().resume(); }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;
};

bool waits_for_kdc(bridge_client& c)
{
    return std::ranges::any_of(c.store().failures(), [](const auto& each) {
        return each.second.find("(KDC) has answered") != std::string::npos;
    });
}

/// A client that is connecting, and asks the KDC: it has been looked for in vain for a moment.
struct stuck_client {
    explicit stuck_client(asio::io_context& io, const std::string& keytab)
        : zk(io, by_keytab(keytab)), lock(zk, "/kdc/stuck"), waiting(begin_acquire(lock))
    {
    }
    client zk;
    mutex lock;
    pending<guard> waiting;
};

} // namespace

TEST_SUITE_BEGIN("kerberos" * needs_kdc());

TEST_CASE("KDC that is silent: the executor goes on, and the context's end does not wait")
{
    const auto keytab = usual_realm().keytab("alice");
    (void)server();
    const silence kdc;
    auto io = std::make_unique<asio::io_context>();
    std::optional<stuck_client> one(std::in_place, *io, keytab);
    const auto began = steady_clock::now();
    auto longest = steady_clock::duration::zero();
    for (auto now = began; now < began + 2s;) {
        io->restart();
        io->run_one_for(10ms);
        longest = std::max(longest, steady_clock::now() - now);
        now = steady_clock::now();
    }
    CHECK(longest < 1s);
    CHECK_FALSE(one->waiting.ended());
    one.reset();
    io.reset();
    CHECK(steady_clock::now() - began < soon);
}

TEST_CASE("a process that ends while it asks a silent KDC" * doctest::skip())
{
    auto options = by_keytab(usual_realm().keytab("alice"), "localhost:1");
    options.session_timeout = 3s;
    usual_realm().pause(); // and it ends with the process
    bridge_client c(options);
    c.run_until([&] { return c.said("no Kerberos server (KDC) has answered in time") != 0; });
}

// A case's own word on skipping stands in place of its suite's.
TEST_CASE("KDC that is silent: the end of the process does not wait either, and is like any other" *
          doctest::skip(gcc_sanitizes || !kerberos_realm::installed()))
{
    const temporary_directory directory;
    const auto began = steady_clock::now();
    // What Kerberos's libraries had for the call that is stopped goes with the process, and is no leak.
    child_process ends({"/usr/bin/env", "ASAN_OPTIONS=exitcode=66:detect_leaks=0",
                        std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip",
                        "--test-case=a process that ends while it asks a silent KDC"},
                       directory.path(), {});
    CHECK(ends.wait() == 0);
    CHECK(steady_clock::now() - began < soon);
}

TEST_CASE("KDC that is silent: the log tells so, and the client asks by no second call")
{
    const auto options = by_keytab(usual_realm().keytab("bob"));
    std::optional<silence> kdc(std::in_place);
    bridge_client c(options);
    c.run_until([&] { return waits_for_kdc(c); });
    c.run_until([&] { return c.said("was not dialed: no Kerberos server (KDC) has answered in time") != 0; });
    kdc.reset();
    c.wait_connected();
    c.close();
}

TEST_CASE("KDC that is silent: forty clients wait for it, and one that needs names, and no ticket, does not")
{
    const auto keytab = usual_realm().keytab("alice");
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        std::deque<client> many;
        std::optional<silence> kdc(std::in_place);
        for (int i = 0; i < 40; ++i)
            many.emplace_back(executor, by_keytab(keytab));
        for (auto& each : many)
            CHECK(error_in(co_await each.wait_connected(50ms)) == errc::not_connected);
        const auto began = steady_clock::now();
        client named(executor, fault_options(at_localhost(server().port()), long_session));
        must(co_await named.wait_connected(default_limit));
        CHECK(steady_clock::now() - began < soon);
        must(co_await named.close());
        kdc.reset();
        for (auto& each : many) // the first few need until their calls have ended
            must(co_await each.wait_connected(test_limit));
        for (auto& each : many)
            must(co_await each.close());
    });
}

TEST_CASE("KDC that is silent: a fork that Asio is told of does not wait; parent and child go on")
{
    const auto keytab = usual_realm().keytab("alice");
    (void)server();
    std::optional<silence> kdc(std::in_place);
    asio::io_context io;
    stuck_client one(io, keytab);
    const auto began = steady_clock::now();
    while (steady_clock::now() < began + 500ms) {
        io.restart();
        io.run_one_for(10ms);
    }
    const int result = in_child(io, [&] {
        io.run_for(200ms);
        return one.waiting.ended() && !one.waiting.error() ? 1 : 0; // it is the parent's client
    });
    CHECK(result == 0);
    CHECK(steady_clock::now() - began < soon);
    kdc.reset();
    run_until(io, [&] { return one.waiting.ended(); });
    CHECK_FALSE(one.waiting.error());
    one.waiting.value() = guard();
    io.run_for(100ms);
}

TEST_CASE("KDC that is silent: a child that is forked off by surprise leaves its parent's client alone")
{
    const auto keytab = usual_realm().keytab("alice");
    (void)server();
    std::optional<silence> kdc(std::in_place);
    std::optional<asio::io_context> io(std::in_place);
    std::optional<stuck_client> one(std::in_place, *io, keytab);
    const auto began = steady_clock::now();
    while (steady_clock::now() < began + 500ms) {
        io->restart();
        io->run_one_for(10ms);
    }
    CHECK(in_child([&] {
              one.reset();
              io.reset();
              return 0;
          }) == 0);
    CHECK(steady_clock::now() - began < soon);
    kdc.reset();
    run_until(*io, [&] { return one->waiting.ended(); });
    CHECK_FALSE(one->waiting.error());
    one->waiting.value() = guard();
    io->restart();
    io->run_for(100ms);
}

TEST_SUITE_END();
