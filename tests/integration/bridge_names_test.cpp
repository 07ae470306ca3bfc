// Host names of which the system's resolver takes its time: they may cost neither a session nor a server that is known.
#include "integration/bridge_client.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"
#include "zklock/zklock.hpp"

#include <condition_variable>
#include <set>

#include <dlfcn.h>
#include <netdb.h>

using namespace zklock::test;

namespace {

/// Who resolves names here: all are this machine's, and each question waits until it may be answered. Those that begin
/// with "quick" do not wait, and those that begin with "none" are known to nobody. Of those that begin with "later"
/// nothing is known when they are asked for the first time, and of those with "short" there is no memory for the
/// answer.
class resolver {
public:
    /// Answers so many questions more; others wait.
    void allow(int questions)
    {
        const std::lock_guard lock(mutex_);
        allowed_ = questions;
        changed_.notify_all();
    }
    void allow_all() { allow(std::numeric_limits<int>::max()); }
    /// How many were asked since the start.
    [[nodiscard]] int asked()
    {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    /// How many wait.
    [[nodiscard]] int waiting()
    {
        const std::lock_guard lock(mutex_);
        return waiting_;
    }
    /// Whether nobody has asked so before.
    bool is_first(std::string_view name)
    {
        const std::lock_guard lock(mutex_);
        return known_.emplace(name).second;
    }
    void question()
    {
        std::unique_lock lock(mutex_);
        ++asked_;
        ++waiting_;
        changed_.wait(lock, [this] { return allowed_ > 0; });
        --waiting_;
        --allowed_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::string, std::less<>> known_;
    int allowed_ = 0;
    int asked_ = 0;
    int waiting_ = 0;
} names;

/// A context waits in its destructor for the name that is being resolved: goes before it.
struct answers_at_the_end {
    answers_at_the_end() = default;
    answers_at_the_end(const answers_at_the_end&) = delete;
    answers_at_the_end& operator=(const answers_at_the_end&) = delete;
    ~answers_at_the_end() { names.allow_all(); }
};

client_options short_limits(const std::string& servers, milliseconds session_timeout)
{
    auto options = options_for(servers);
    options.session_timeout = session_timeout; // the resolver has a third of it
    return options;
}

} // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    static auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (!node || !std::string_view{node}.ends_with(".test"))
        return real(node, service, hints, found);
    const std::string_view name{node};
    if (name.starts_with("none"))
        return EAI_NONAME;
    if (name.starts_with("later") && names.is_first(name))
        return EAI_AGAIN;
    if (name.starts_with("short") && names.is_first(name))
        throw std::bad_alloc();
    if (name.starts_with("slow") || name.starts_with("zoo") || name.starts_with("late."))
        names.question();
    return real("127.0.0.1", service, hints, found);
}

TEST_CASE("a name that is not answered does not stand in the way of a server given by its address")
{
    const auto port = std::to_string(server().port());
    for (const auto& servers :
         {"slow.test:" + port + ",127.0.0.1:" + port, "127.0.0.1:" + port + ",slow.test:" + port}) {
        names.allow(0);
        const int before = names.asked();
        bridge_client c{short_limits(servers, 3000ms)};
        answers_at_the_end at_end;
        c.wait_connected();
        CHECK(names.asked() == before + 1);
        CHECK(names.waiting() == 1);
        CHECK(c.sync("/") == outcome::ok);
        c.close();
    }
}

TEST_CASE("no name is answered while the server is away for a moment: the session goes on")
{
    proxy between{server().port()};
    bridge_client c{short_limits("zoo.test:" + std::to_string(between.port()), 15'000ms)};
    answers_at_the_end at_end;
    names.allow(1);
    c.wait_connected();
    const auto session = c.session;
    between.refuse();
    between.cut();
    c.run_until([] { return names.waiting() == 1; }); // the address that was known has failed
    between.accept();
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK_FALSE(c.was_renewed);
    CHECK(names.waiting() == 1);
    c.close();
}

TEST_CASE("an answer that comes too late for a cycle joins a later one, and no question is asked twice meanwhile")
{
    port_lease dead;
    auto options = short_limits(
        "late.test:" + std::to_string(server().port()) + ",127.0.0.1:" + std::to_string(dead.port()), 3000ms);
    options.connect_backoff = options.connect_backoff_limit = 1ms;
    names.allow(0);
    const int before = names.asked();
    bridge_client c{options};
    answers_at_the_end at_end;
    const auto attempts = [&] {
        return std::count_if(c.log.begin(), c.log.end(), [&](const std::string& line) {
            return line == "connecting to 127.0.0.1:" + std::to_string(dead.port());
        });
    };
    c.run_until([&] { return attempts() >= 5; });
    CHECK(names.asked() == before + 1);
    names.allow(1); // and the next has to wait again
    c.wait_connected();
    CHECK(names.asked() <= before + 2);
    c.close();
}

TEST_CASE("names that are not answered, and names that nobody knows, do not delay the others")
{
    names.allow(0);
    const auto port = ':' + std::to_string(server().port());
    const int before = names.asked();
    bridge_client c{short_limits("slow-1.test" + port + ",none.test" + port + ",slow-2.test" + port + ",quick.test" +
                                     port + ",slow-3.test" + port,
                                 60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    c.run_until([&] { return names.waiting() == 3; });
    CHECK(names.asked() == before + 3);
    CHECK(std::ranges::any_of(c.log, [](const std::string& line) {
        return line.starts_with("cannot resolve none.test: ") && line.size() > 26;
    }));
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

TEST_CASE("a name that is answered while the attempts rest is tried at once")
{
    port_lease dead;
    names.allow(0);
    auto options = short_limits(
        "late.test:" + std::to_string(server().port()) + ",127.0.0.1:" + std::to_string(dead.port()), 60'000ms);
    options.connect_backoff = options.connect_backoff_limit = 60s;
    bridge_client c{options};
    answers_at_the_end at_end;
    const auto refused = "127.0.0.1:" + std::to_string(dead.port());
    c.run_until([&] {
        return std::ranges::any_of(c.log, [&](const std::string& line) {
            return line.starts_with("Socket " + refused) || line.starts_with("cannot connect to " + refused);
        });
    });
    names.allow_all();
    const auto start = steady_clock::now();
    c.wait_connected();
    CHECK(steady_clock::now() - start < 15s); // half of the back-off
    c.close();
}

TEST_CASE("a name that has failed is asked for again while another one is not answered")
{
    names.allow(0);
    const auto port = ':' + std::to_string(server().port());
    const int before = names.asked();
    bridge_client c{short_limits("slow-1.test" + port + ",later-1.test" + port, 60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    c.run_until([&] { return names.waiting() == 1; });
    CHECK(names.asked() == before + 1);
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

TEST_CASE("a lookup for which there was no memory has failed, and is tried again")
{
    const auto port = ':' + std::to_string(server().port());
    for (const std::string others : {"", ",slow-1.test:1"}) {
        CAPTURE(others);
        names.allow(0);
        const std::string name = "short-" + std::to_string(others.size()) + ".test";
        bridge_client c{short_limits(name + port + others, 60'000ms)};
        answers_at_the_end at_end;
        c.wait_connected();
        CHECK(std::ranges::any_of(c.log, [&](const std::string& line) {
            return line == "cannot resolve " + name + ": there was no memory for the answer";
        }));
        c.close();
    }
}

TEST_CASE("many names that hang: others have their turn beside them, up to a limit, and after it as they are answered")
{
    const auto port = ':' + std::to_string(server().port());
    constexpr int most = 32;
    for (const int slow : {20, 40}) {
        CAPTURE(slow);
        names.allow(0);
        std::string servers;
        for (int i = 0; i < slow; ++i)
            servers += "slow-" + std::to_string(i) + ".test" + port + ',';
        bridge_client c{short_limits(servers + "quick.test" + port, 60'000ms)};
        answers_at_the_end at_end;
        if (slow > most) {
            c.run_until([&] { return names.waiting() == most; });
            c.run_until([&, lines = c.log.size()] { return c.log.size() > lines; }); // one more round
            CHECK(names.waiting() == most);
            CHECK_FALSE(c.open);
            names.allow(1);
        }
        c.wait_connected();
        CHECK(c.sync("/") == outcome::ok);
        CHECK(names.waiting() <= most);
        c.close();
    }
}

TEST_CASE("clients of one context share a lookup that is under way")
{
    names.allow(0);
    const int before = names.asked();
    asio::io_context context;
    answers_at_the_end at_end;
    int waiting = 0, connected = 0;
    client_options options = short_limits("slow.test:" + std::to_string(server().port()), 60'000ms);
    options.connect_backoff = options.connect_backoff_limit = 1h; // each asks once
    options.log = [&](log_level, std::string_view line) {
        waiting += line.ends_with("host names are still being resolved");
    };
    client first(context, options), second(context, options);
    const auto run_until = [&](const auto& holds) {
        const auto end = steady_clock::now() + default_limit;
        for (context.restart(); !holds() && steady_clock::now() < end;)
            context.run_one_for(10ms);
        REQUIRE(holds());
    };
    run_until([&] { return waiting == 2 && names.waiting() == 1; });
    names.allow(1);
    for (client* each : {&first, &second})
        each->wait_connected(default_limit, [&, each](error_code ec) {
            CHECK_FALSE(ec);
            ++connected;
            each->close([](error_code) {});
        });
    run_until([&] { return connected == 2; });
    CHECK(names.asked() == before + 1);
    context.run();
}

TEST_CASE("a client that is closed while its names are looked up is gone at once, and the next one is served")
{
    names.allow(0);
    asio::io_context context;
    const int before = names.asked();
    answers_at_the_end at_end;
    client_options options = short_limits("slow-1.test:1,slow-2.test:1", 60'000ms);
    {
        client first(context, options);
        first.close([](error_code) {});
        context.run();
    }
    {
        client second(context, options);
        context.restart();
        while (names.asked() == before)
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
