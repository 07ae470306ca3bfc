// Host names of which the system's resolver takes its time (it has a third of a session's): they may cost neither a
// session nor a server that is known.
#include "integration/bridge_client.hpp"
#include "integration/names_scene.hpp"
#include "support/proxy.hpp"
#include "support/run_until.hpp"
#include "zklock/zklock.hpp"

#include <set>

using namespace zklock::test;

namespace {

/// Whether nobody has asked for that name before.
bool is_first(std::string_view name)
{
    static std::mutex guards;
    static std::set<std::string, std::less<>> known;
    const std::lock_guard lock(guards);
    return known.emplace(name).second;
}

} // namespace

// All names that end with ".test" are this machine's. Those that begin with "none" are known to nobody. Of those that
// begin with "later" nothing is known when they are asked for the first time, and of those with "short" there is no
// memory for the answer.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    const std::string_view name{node ? node : ""};
    if (!name.ends_with(".test"))
        return real_getaddrinfo(node, service, hints, found);
    if (name.starts_with("none"))
        return EAI_NONAME;
    if (name.starts_with("later") && is_first(name))
        return EAI_AGAIN;
    if (name.starts_with("short") && is_first(name))
        throw std::bad_alloc();
    if (name.starts_with("slow") || name.starts_with("zoo") || name.starts_with("late."))
        questions.ask();
    return real_getaddrinfo("127.0.0.1", service, hints, found);
}

TEST_CASE("a name that is not answered does not stand in the way of a server given by its address")
{
    const auto port = std::to_string(server().port());
    for (const auto& servers :
         {"slow.test:" + port + ",127.0.0.1:" + port, "127.0.0.1:" + port + ",slow.test:" + port}) {
        questions.allow(0);
        const int before = questions.asked();
        bridge_client c{options_for(servers, 3000ms)};
        answers_at_the_end at_end;
        c.wait_connected();
        CHECK(questions.asked() == before + 1);
        CHECK(questions.waiting() == 1);
        CHECK(c.sync("/") == outcome::ok);
        c.close();
    }
}

TEST_CASE("no name is answered while the server is away for a moment: the session goes on")
{
    proxy between{server().port()};
    bridge_client c{options_for("zoo.test:" + std::to_string(between.port()), 15'000ms)};
    answers_at_the_end at_end;
    questions.allow(1);
    c.wait_connected();
    const auto session = c.session;
    between.refuse();
    between.cut();
    c.run_until([] { return questions.waiting() == 1; }); // the address that was known has failed
    between.accept();
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK_FALSE(c.was_renewed);
    CHECK(questions.waiting() == 1);
    c.close();
}

TEST_CASE("an answer that comes too late for a cycle joins a later one, and no question is asked twice meanwhile")
{
    port_lease dead;
    auto options = options_for(
        "late.test:" + std::to_string(server().port()) + ",127.0.0.1:" + std::to_string(dead.port()), 3000ms);
    options.connect_backoff = options.connect_backoff_limit = 1ms;
    questions.allow(0);
    const int before = questions.asked();
    bridge_client c{options};
    answers_at_the_end at_end;
    c.run_until([&] { return c.said("connecting to 127.0.0.1:" + std::to_string(dead.port())) >= 5; });
    CHECK(questions.asked() == before + 1);
    questions.allow(1); // and the next has to wait again
    c.wait_connected();
    CHECK(questions.asked() <= before + 2);
    c.close();
}

TEST_CASE("names that are not answered, and names that nobody knows, do not delay the others")
{
    questions.allow(0);
    const auto port = ':' + std::to_string(server().port());
    const int before = questions.asked();
    bridge_client c{options_for("slow-1.test" + port + ",none.test" + port + ",slow-2.test" + port + ",quick.test" +
                                    port + ",slow-3.test" + port,
                                60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    c.run_until([&] { return questions.waiting() == 3; });
    CHECK(questions.asked() == before + 3);
    CHECK(std::ranges::any_of(c.log, [](const std::string& line) {
        return line.starts_with("cannot resolve none.test: ") && line.size() > 26;
    }));
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

TEST_CASE("a name that is answered while the attempts rest is tried at once")
{
    port_lease dead;
    questions.allow(0);
    auto options = options_for(
        "late.test:" + std::to_string(server().port()) + ",127.0.0.1:" + std::to_string(dead.port()), 60'000ms);
    options.connect_backoff = options.connect_backoff_limit = 60s;
    bridge_client c{options};
    answers_at_the_end at_end;
    const auto refused = "127.0.0.1:" + std::to_string(dead.port());
    c.run_until([&] { return c.said("Socket " + refused) + c.said("cannot connect to " + refused) != 0; });
    questions.allow_all();
    const auto start = steady_clock::now();
    c.wait_connected();
    CHECK(steady_clock::now() - start < 15s); // half of the back-off
    c.close();
}

TEST_CASE("a name that has failed is asked for again while another one is not answered")
{
    questions.allow(0);
    const auto port = ':' + std::to_string(server().port());
    const int before = questions.asked();
    bridge_client c{options_for("slow-1.test" + port + ",later-1.test" + port, 60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    c.run_until([&] { return questions.waiting() == 1; });
    CHECK(questions.asked() == before + 1);
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

TEST_CASE("a lookup for which there was no memory has failed, and is tried again")
{
    const auto port = ':' + std::to_string(server().port());
    for (const std::string others : {"", ",slow-1.test:1"}) {
        CAPTURE(others);
        questions.allow(0);
        const std::string name = "short-" + std::to_string(others.size()) + ".test";
        bridge_client c{options_for(name + port + others, 60'000ms)};
        answers_at_the_end at_end;
        c.wait_connected();
        CHECK(c.said("cannot resolve " + name + ": there was no memory for the answer") != 0);
        c.close();
    }
}

TEST_CASE("many names that hang: others have their turn beside them, up to a limit, and after it as they are answered")
{
    const auto port = ':' + std::to_string(server().port());
    constexpr int most = 32;
    for (const int slow : {20, 40}) {
        CAPTURE(slow);
        questions.allow(0);
        std::string servers;
        for (int i = 0; i < slow; ++i)
            servers += "slow-" + std::to_string(i) + ".test" + port + ',';
        bridge_client c{options_for(servers + "quick.test" + port, 60'000ms)};
        answers_at_the_end at_end;
        if (slow > most) {
            c.run_until([&] { return questions.waiting() == most; });
            c.run_until([&, lines = c.log.size()] { return c.log.size() > lines; }); // one more round
            CHECK(questions.waiting() == most);
            CHECK_FALSE(c.open);
            questions.allow(1);
        }
        c.wait_connected();
        CHECK(c.sync("/") == outcome::ok);
        CHECK(questions.waiting() <= most);
        c.close();
    }
}

TEST_CASE("clients of one context share a lookup that is under way")
{
    questions.allow(0);
    const int before = questions.asked();
    asio::io_context context;
    answers_at_the_end at_end;
    int waiting = 0, connected = 0;
    client_options options = options_for("slow.test:" + std::to_string(server().port()), 60'000ms);
    options.connect_backoff = options.connect_backoff_limit = 1h; // each asks once
    options.log = [&](log_level, std::string_view line) {
        waiting += line.ends_with("host names are still being resolved");
    };
    client first(context, options), second(context, options);
    run_until(context, [&] { return waiting == 2 && questions.waiting() == 1; });
    questions.allow(1);
    for (client* each : {&first, &second})
        each->wait_connected(default_limit, [&, each](error_code ec) {
            CHECK_FALSE(ec);
            ++connected;
            each->close([](error_code) {});
        });
    run_until(context, [&] { return connected == 2; });
    CHECK(questions.asked() == before + 1);
    context.run();
}

TEST_CASE("a client that is closed while its names are looked up is gone at once, and the next one is served")
{
    questions.allow(0);
    asio::io_context context;
    const int before = questions.asked();
    answers_at_the_end at_end;
    client_options options = options_for("slow-1.test:1,slow-2.test:1", 60'000ms);
    {
        client first(context, options);
        first.close([](error_code) {});
        context.run();
    }
    {
        client second(context, options);
        context.restart();
        while (questions.asked() == before)
            context.run_one_for(10ms);
        const auto start = steady_clock::now();
        second.close([](error_code) {});
        context.run();
        CHECK(steady_clock::now() - start < 15s);
    }
    options.servers = "quick.test:" + std::to_string(server().port());
    client third(context, options);
    std::optional<error_code> connected;
    third.wait_connected(default_limit, [&](error_code ec) {
        connected = ec;
        third.close([](error_code) {});
    });
    context.restart();
    context.run();
    CHECK(connected == error_code());
}

TEST_CASE("an address to which several names lead is tried once, and keeps all of them")
{
    asio::io_context context;
    const auto goes_on = asio::make_work_guard(context);
    const auto listed = bridge::parse_servers("quick1.test:1,127.0.0.1:1,quick2.test:1,quick1.test:2,[::1]:1").value();
    const auto resolver = std::make_shared<bridge::host_resolver>(runtime::make_strand(context.get_executor()), listed);
    CHECK(resolver->found().size() == 2);
    resolver->resolve(
        {}, [](const auto&, const auto&) {}, [] {});
    while (resolver->busy())
        REQUIRE(context.run_one_for(default_limit) == 1);

    std::map<std::string, std::set<std::string>> found;
    for (const auto& address : resolver->found())
        for (const auto& given : address->given)
            CHECK(found[address->text].insert(given.host).second);
    CHECK(found == decltype(found){{"127.0.0.1:1", {"127.0.0.1", "quick1.test", "quick2.test"}},
                                   {"127.0.0.1:2", {"quick1.test"}},
                                   {"[::1]:1", {"::1"}}});
    CHECK(resolver->found().front()->socket.ipv4.sin_port == htons(1));
    CHECK(resolver->found().front()->socket.ipv4.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
}
