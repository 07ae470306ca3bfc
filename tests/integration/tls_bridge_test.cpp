// sanitizers: address
// program: bridge
// The store over TLS: what the recipes use, how much at once, and how it ends.
#include "integration/bridge_client.hpp"
#include "integration/run_until.hpp"
#include "support/admin_client.hpp"
#include "support/certificate_authority.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"
#include "zklock/client.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

constexpr milliseconds long_before_the_end{20'000};

const server_starts_with bridge_with_tls([](server_options& options) { options.secure.emplace(); });

/// Its session does not end by itself while a test waits for its end.
client_options secure(const std::string& servers)
{
    auto options = options_for(servers);
    options.session_timeout = 60s;
    options.tls.enabled = true;
    options.tls.ca_file = usual_authority().file();
    return options;
}

client_options secure()
{
    return secure(server().secure_address());
}

bool has_line(const bridge_client& c, const std::string& part)
{
    return std::ranges::any_of(c.log, [&](const auto& line) { return line.find(part) != line.npos; });
}

void wait_gone(const std::string& path)
{
    admin_client look(server().port());
    wait_until("the session's node is gone", long_before_the_end, [&] { return !look.exists(path); });
}

/// An executor that throws on all threads but one.
struct of_one_thread {
    template <class F> void execute(F&& f) const
    {
        if (std::this_thread::get_id() != one) {
            *has_thrown = true;
            throw std::runtime_error("meant to");
        }
        asio::require(inner, asio::execution::blocking.never).execute(std::forward<F>(f));
    }
    [[nodiscard]] of_one_thread require(asio::execution::blocking_t::never_t) const { return *this; }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept { return inner.context(); }
    friend bool operator==(const of_one_thread&, const of_one_thread&) noexcept = default;

    asio::io_context::executor_type inner;
    std::shared_ptr<std::atomic<bool>> has_thrown = std::make_shared<std::atomic<bool>>(false);
    std::thread::id one = std::this_thread::get_id();
};

} // namespace

TEST_CASE("the executor throws at the thread that has read the files: the client fails as it is used next")
{
    asio::io_context io;
    const of_one_thread on{io.get_executor()};
    client c(on, secure());
    run_until(io, [&on] { return on.has_thrown->load(); });
    std::optional<error_code> why;
    wait_until("its refusal is known", default_limit, [&] { // which is after the throw
        if (c.state() != connection_state::failed)
            c.wait_connected(60s, [&why](error_code ec) { why = ec; });
        return c.state() == connection_state::failed;
    });
    run_until(io, [&why] { return why.has_value(); });
    CHECK(*why == errc::closed);
    expect_clean(server());
}

TEST_CASE("requests and their answers, watches, and a close in good order")
{
    {
        bridge_client c{secure()};
        c.wait_connected();
        CHECK(c.was_renewed);
        REQUIRE(c.create("/tls", node_kind::persistent, "x").result == outcome::ok);
        REQUIRE(c.create("/tls/ephemeral", node_kind::ephemeral).result == outcome::ok);
        CHECK(c.get("/tls", true).data == "x");
        CHECK(c.set("/tls", "y").result == outcome::ok);
        c.run_until([&] { return !c.events.empty(); });
        CHECK(c.children("/tls").names == std::vector<std::string>{"ephemeral"});
        c.close();
    }
    wait_gone("/tls/ephemeral");
    admin_client(server().port()).remove("/tls");
    expect_clean(server());
}

TEST_CASE("more than a pair of sockets holds, both ways: large nodes, and thousands of requests in a turn")
{
    bridge_client c{secure()};
    c.wait_connected();
    REQUIRE(c.create("/tls", node_kind::persistent).result == outcome::ok);
    const std::string large(900'000, 'x');
    REQUIRE(c.set("/tls", large).result == outcome::ok);
    std::size_t answered = 0, whole = 0;
    constexpr std::size_t all = 5'000, of_them_large = 20;
    asio::post(c.strand(), [&] {
        for (std::size_t n = 0; n < all; ++n)
            c.store().get(n % (all / of_them_large) == 0 ? "/tls" : "/zookeeper", false,
                          [&](const store::get_reply& r) {
                              ++answered;
                              whole += r.result == outcome::ok && r.data == large;
                          });
        for (std::size_t n = 0; n < of_them_large; ++n)
            c.store().set("/tls", large, store::any_version,
                          [&](const store::stat_reply& r) { answered += r.result == outcome::ok; });
    });
    c.run_until([&] { return answered == all + of_them_large; });
    CHECK(whole == of_them_large);
    CHECK(c.disconnections == 0);
    CHECK(c.remove("/tls") == outcome::ok);
    c.close();
    expect_clean(server());
}

TEST_CASE("a store that is destroyed without a close ends its session all the same")
{
    {
        bridge_client c{secure()};
        c.wait_connected();
        REQUIRE(c.create("/destroyed", node_kind::ephemeral).result == outcome::ok);
        c.destroy_store();
    }
    wait_gone("/destroyed");
    expect_clean(server());
}

TEST_CASE("a session goes on after its connection was cut")
{
    proxy link(server().secure_port(), std::nullopt, speech::tls);
    bridge_client c{secure(link.address())};
    c.wait_connected();
    const auto session = c.session;
    REQUIRE(c.create("/kept", node_kind::ephemeral).result == outcome::ok);
    for (std::size_t cuts = 1; cuts <= 3; ++cuts) {
        link.cut();
        c.wait_connected(1 + cuts);
        CHECK(c.session == session);
        CHECK(c.exists("/kept").result == outcome::ok);
    }
    c.close();
    wait_gone("/kept");
}

TEST_CASE("who cannot be trusted is not, and is named in the log")
{
    const certificate_authority other("another");
    auto options = secure();
    options.tls.ca_file = other.file();
    bridge_client c{options};
    c.run_until([&] { return c.store().is_insecure(); });
    CHECK(has_line(c, "no TLS with " + server().secure_address()));
    c.close();
}

TEST_CASE("a port without TLS is told as such")
{
    bridge_client c{secure(server().address())};
    c.run_until([&] { return c.store().is_insecure(); });
    const auto failures = c.store().failures();
    REQUIRE(failures.size() == 1);
    CHECK(failures.begin()->second.find("does its port speak TLS?") != std::string::npos);
    CHECK(c.connections == 0);
    c.close();
}

TEST_CASE("a server that is known by name and says nothing is given up in time: its address was looked up before")
{
    asio::io_context context;
    const asio::ip::tcp::acceptor silent(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    bridge_client c(secure("localhost:" + std::to_string(silent.local_endpoint().port())));
    c.run_until([&] { return has_line(c, "did not agree on TLS in time"); });
}
