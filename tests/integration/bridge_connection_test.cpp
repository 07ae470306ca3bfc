// time limit: 900 s
// program: bridge_replaced
// replaces: zoo_aremove_all_watches
// Connections that end in every way the library knows, and how the store comes back.
#include "integration/bridge_client.hpp"
#include "support/four_letter_words.hpp"
#include "support/no_free_descriptors.hpp"
#include "support/own_sockets.hpp"
#include "support/proxy.hpp"
#include "support/replaced_c_client.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <time.h>

using namespace zklock::test;

namespace {

std::atomic<int> resolutions{0}; // names are looked up on threads
int local_removals = 0;

std::chrono::nanoseconds time_of_this_thread()
{
    timespec used{};
    REQUIRE(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
    return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

using names = std::vector<std::string>;

} // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    ++resolutions;
    static auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(node, service, hints, found);
}

// Called by the bridge: `local` for watches of which the server is not told.
extern "C" {
int remove_watches(void* handle, const char* path, int type, int local, void* done, const void* context)
    ZKLOCK_REPLACES(zoo_aremove_all_watches);
int real_remove_watches(void* handle, const char* path, int type, int local, void* done, const void* context)
    ZKLOCK_REPLACED(zoo_aremove_all_watches);

int remove_watches(void* handle, const char* path, int type, int local, void* done, const void* context)
{
    local_removals += local;
    return real_remove_watches(handle, path, type, local, done, context);
}
}

TEST_CASE("an idle connection lives on pings, resolves nothing, and a request on it leaves at once")
{
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address(), 4500ms)};
    between.forget();
    resolutions = 0;
    c.run_until([&] { return between.count(opcode::ping) >= 4; });
    auto least = steady_clock::duration::max();
    for (int i = 0; i < 20 || (i < 200 && least >= 200ms); ++i) {
        auto start = steady_clock::now();
        CHECK(c.sync("/") == outcome::ok);
        least = std::min(least, steady_clock::now() - start);
    }
    CHECK(least < 200ms); // a corked socket that nobody uncorks takes as long, every time
    for (int i = 0; i < 1000; ++i)
        CHECK(c.sync("/") == outcome::ok);
    CHECK(resolutions == 0);
    CHECK(c.disconnections == 0);
    close_clean(c);
}

TEST_CASE("a lost connection: answers first, then the news, then the same session again, without its watches")
{
    admin_client admin{server().port()};
    admin.create("/w");
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    auto session = c.session;
    CHECK(c.get("/w", true).result == outcome::ok);
    c.lines.clear();

    between.on_next(opcode::create2, moment::reply, fate::cut);
    for (const char* path : {"/1", "/2", "/3"})
        c.store().create(path, "", node_kind::ephemeral, nullptr, [&](const store::create_reply& r) {
            CHECK(r.result == outcome::unknown);
            CHECK(c.open);
            c.tell("unknown");
        });
    c.wait_connected(2);
    CHECK(c.lines == names{"unknown", "unknown", "unknown", "disconnected", "connected"});
    CHECK(c.session == session);
    CHECK(c.get("/1").stat.ephemeral_owner == session); // it was done, though nobody knew
    CHECK(watch_count(server().port()) == 0);
    CHECK(between.count(opcode::set_watches) == 0);
    admin.set("/w", "x");
    CHECK(c.sync("/") == outcome::ok);
    CHECK(c.events.empty());
    close_clean(c);
}

TEST_CASE("a watch that was taken back leaves nothing to be undone when the connection ends")
{
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    for (const char* node : {"/taken", "/taken-too", "/kept"}) {
        CHECK(c.create(node, node_kind::persistent).result == outcome::ok);
        CHECK(c.get(node, true).result == outcome::ok);
    }
    CHECK(c.unwatch("/taken") == outcome::ok);
    CHECK(c.unwatch("/taken-too") == outcome::ok);
    local_removals = 0;
    between.cut();
    c.wait_disconnected();
    CHECK(local_removals == 1);
    close_clean(c);
}

TEST_CASE("a send that fails closes the library's socket silently: requests are unknown, later ones not mixed up")
{
    connected_bridge_client c{options_for(server().address())};
    for (std::size_t round = 0; round < 20; ++round) {
        auto name = "/r" + std::to_string(round);
        c.lines.clear();
        auto tell = [&](const store::create_reply& r) {
            c.tell(r.result != outcome::unknown || !c.open ? "wrong" : r.undone ? "undone" : "unknown");
        };
        c.store().create(name + "-before", "", node_kind::ephemeral, nullptr, tell);
        auto sockets = sockets_to(server().port());
        REQUIRE(sockets.size() == 2); // the library's and Asio's
        ::shutdown(sockets[0], SHUT_WR);
        for (int i = 0; i < 3; ++i) // in the same turn: the first of them closes, the others come too late
            c.store().create(name + "-after" + std::to_string(i), "", node_kind::ephemeral, nullptr, tell);
        c.wait_connected(round + 2);
        CHECK(c.lines == names{"unknown", "unknown", "undone", "undone", "disconnected", "connected"});
        CHECK_FALSE(c.was_renewed);
        CHECK(sockets_to(server().port()).size() == 2);
        CHECK(c.sync("/") == outcome::ok);
        auto there = c.children("/").names;
        CHECK(std::count_if(there.begin(), there.end(),
                            [&](const auto& n) { return ('/' + n).starts_with(name + "-after"); }) == 0);
        CHECK(c.remove("/none") == outcome::no_node);
    }
    close_clean(c);
}

TEST_CASE("a request made inside the last answer of an epoch is answered before its end")
{
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    c.lines.clear();
    between.on_next(opcode::sync, moment::request, fate::cut);
    c.store().sync("/", [&](const store::reply& r) {
        CHECK(r.result == outcome::unknown);
        CHECK_FALSE(r.undone); // as far as can be known
        c.tell("first");
        c.store().remove("/x", store::any_version, [&](const store::reply& again) {
            CHECK(again.result == outcome::unknown);
            CHECK(again.undone);
            CHECK(c.open);
            c.tell("second");
        });
    });
    c.wait_connected(2);
    CHECK(c.lines == names{"first", "second", "disconnected", "connected"});
    close_clean(c);
}

TEST_CASE("a server that fails at a read is left once, for another may do it; if that was in vain, it is an answer")
{
    constexpr std::int32_t marshalling_error = -5; // of a node whose access list is lost there, say
    const std::string said = " answers with MARSHALLINGERROR (-5)", given_up = ": an answer has left open what became";
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address(), 60s)};
    std::size_t connections = 1;
    const auto fails_at = [&](opcode op) { between.refuse_next(op, marshalling_error); };
    for (std::ptrdiff_t times = 1; times <= 2; ++times) {
        CAPTURE(times);
        fails_at(opcode::get_data);
        CHECK(c.get("/", true).result == outcome::unknown);
        c.wait_connected(++connections);
        CHECK(c.said(given_up) == times);
        for (const bool watch : {false, true}) {
            fails_at(opcode::get_data);
            CHECK(c.get("/", watch).result == outcome::server_error);
            fails_at(opcode::exists);
            CHECK(c.exists("/", watch).result == outcome::server_error);
            fails_at(opcode::get_children2);
            CHECK(c.children("/", watch).result == outcome::server_error);
        }
        CHECK(c.get("/").result == outcome::ok);
        CHECK(c.connections == connections);
        between.cut(); // the next one may have another server
        c.wait_connected(++connections);
    }
    for (std::ptrdiff_t times = 3; times <= 4; ++times) { // what was written may be there
        fails_at(opcode::set_data);
        CHECK(c.set("/", {}).result == outcome::unknown);
        c.wait_connected(++connections);
        CHECK(c.said(given_up) == times);
    }
    CHECK(c.said(said) >= 1);
    CHECK(c.lines.size() == 2 * connections - 1);
    close_clean(c);
}

TEST_CASE("an expired session is told while disconnected, and followed by a new one")
{
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    auto session = c.session;
    CHECK(c.create("/e", node_kind::ephemeral).result == outcome::ok);
    c.lines.clear();
    between.expire_session();
    c.wait_connected(2);
    CHECK(c.lines == names{"disconnected", "expired", "connected, new"});
    CHECK(c.session != session);
    CHECK(c.get("/e").result == outcome::no_node);
    CHECK(c.create("/e", node_kind::ephemeral).stat.ephemeral_owner == c.session);
    close_clean(c);
}

TEST_CASE("a silent server is left in time, and an attempt that hangs is given up for the next server")
{
    proxy first{server().port()}, second{server().port()};
    connected_bridge_client c{options_for(first.address() + ',' + second.address(), 9000ms)};
    auto session = c.session;
    auto& used = first.connections() ? first : second;
    used.block(); // what is there hangs, and new connections are accepted and hang too
    c.wait_connected(2);
    CHECK(c.session == session);
    (&used == &first ? second : first).cut(); // goes back to the one that hangs, and must leave it in time
    c.wait_connected(3);
    CHECK(c.session == session);
    CHECK(c.expiries == 0);
    close_clean(c);
}

TEST_CASE("host names are resolved, also to IPv6, and a name without an address does not stand in the way")
{
    connected_bridge_client c{options_for("no-such-host.invalid:1,localhost:" + std::to_string(server().port()))};
    CHECK(c.sync("/") == outcome::ok);
    c.run_until([&] { return c.said("no-such-host.invalid") != 0; }); // the resolver may take its time
    c.close();

    port_lease nobody; // on IPv6 neither
    bridge_client six{options_for("[::1]:" + std::to_string(nobody.port()))};
    six.run_until([&] { return six.said("cannot connect to [::1]:" + std::to_string(nobody.port())) != 0; });
    close_clean(six);
}

TEST_CASE("more watches than fit into one packet do not keep a client from coming back")
{
    admin_client admin{server().port()};
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    const int count = 20'000;
    const std::string filling(60, 'x');
    int made = 0;
    CHECK(c.create("/many", node_kind::persistent).result == outcome::ok);
    for (int i = 0; i < count; ++i) {
        auto path = "/many/" + filling + std::to_string(i);
        c.store().create(path, "", node_kind::ephemeral, nullptr, [](const store::create_reply&) {});
        c.store().get(path, true, [&](const store::get_reply& r) { made += r.result == outcome::ok; });
        if (i % 500 == 499) // on a busy machine the loop alone would outlast the session
            c.run_until([&] { return made == i + 1; });
    }
    CHECK(made == count);
    CHECK(watch_count(server().port()) == count);
    between.cut();
    // One turn of the executor may not take long, whatever it has to clean up: the processor's time, so that it does
    // not matter who else runs.
    auto longest = std::chrono::nanoseconds::zero();
    while (c.connections < 2) {
        c.context().restart();
        if (c.context().run_one_for(default_limit) == 0)
            break;
        auto start = time_of_this_thread();
        c.run_ready();
        longest = std::max(longest, time_of_this_thread() - start);
    }
    CHECK(c.connections == 2);
    MESSAGE("longest turn with 20,000 watches: ", std::chrono::duration_cast<milliseconds>(longest).count(), " ms");
    CHECK(longest < 500ms);
    CHECK(c.session_timeout > 0ms);
    CHECK(watch_count(server().port()) == 0);
    close_clean(c);
}

TEST_CASE("no socket is inherited by child processes")
{
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    for (std::size_t round = 1; round <= 3; ++round) {
        auto sockets = sockets_to(between.port());
        CHECK(sockets.size() == 2);
        for (int fd : sockets)
            CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        between.cut();
        c.wait_connected(round + 1);
    }
    c.close();
    CHECK(sockets_to(between.port()).empty());
    expect_clean(server());
}

TEST_CASE("without a free descriptor, the duplicate of the socket that there is goes on being watched")
{
    connected_bridge_client c{options_for(server().address())};
    const auto first = sockets_to(server().port());
    REQUIRE(first.size() == 2);
    const int little = 1;
    REQUIRE(::setsockopt(first[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof little) == 0);
    {
        no_free_descriptors none;
        auto created = outcome::unknown;
        c.store().create("/large", std::string(500'000, 'x'), node_kind::ephemeral, nullptr,
                         [&](const store::create_reply& r) { created = r.result; });
        c.run_until([&] { return created == outcome::ok; }); // it has waited for writing
        CHECK(c.sync("/") == outcome::ok);
        CHECK(sockets_to(server().port()) == first);
    }
    CHECK(c.sync("/") == outcome::ok);
    c.run_ready();
    CHECK(sockets_to(server().port()) != first); // one that never waited for writing was due all the time
    CHECK(sockets_to(server().port()).size() == 2);
    CHECK(c.disconnections == 0);
    CHECK(c.sync("/") == outcome::ok);
    close_clean(c);
}

TEST_CASE("an ensemble's member dies under the client: the session moves to another")
{
    zookeeper_ensemble ensemble{3};
    connected_bridge_client c{options_for(ensemble.address())};
    auto session = c.session;
    CHECK(c.create("/e", node_kind::ephemeral).result == outcome::ok);
    for (std::size_t i = 0; i < 3; ++i)
        if (auto there = connected_sessions(ensemble[i].port());
            std::find(there.begin(), there.end(), session) != there.end())
            ensemble[i].kill();
    c.wait_disconnected();
    c.wait_connected(2);
    CHECK(c.session == session);
    // On a busy machine, the members that are left may lose each other once more, and then hang up.
    auto synced = outcome::unknown;
    test::read found;
    for (int i = 0; i < 10 && (synced == outcome::unknown || found.result == outcome::unknown); ++i) {
        c.run_until([&] { return c.open; });
        synced = c.sync("/");
        found = synced == outcome::unknown ? test::read() : c.get("/e");
    }
    CHECK(synced == outcome::ok);
    CHECK(found.result == outcome::ok);
    CHECK(found.stat.ephemeral_owner == session);
    c.close();
}
