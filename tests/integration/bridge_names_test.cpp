// Host names of which the system's resolver takes its time: they may cost neither a session nor a server that is known.
#include "integration/bridge_client.hpp"
#include "support/port_lease.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <netdb.h>

using namespace zklock;
using namespace zklock::test;

namespace {

/// Who resolves names here: all are this machine's, and each question waits until it may be answered.
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
    names.question();
    return real("127.0.0.1", service, hints, found);
}

TEST_CASE("a name that is not answered does not stand in the way of a server given by its address")
{
    zookeeper_server server;
    const auto port = std::to_string(server.port());
    for (const auto& servers : {"slow.test:" + port + ",127.0.0.1:" + port, "127.0.0.1:" + port + ",slow.test:" + port}) {
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
    zookeeper_server server;
    proxy between{server.port()};
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

TEST_CASE("an answer that comes too late for a cycle is there in the next, and no question is asked twice meanwhile")
{
    zookeeper_server server;
    port_lease dead;
    auto options = short_limits(
        "late.test:" + std::to_string(server.port()) + ",127.0.0.1:" + std::to_string(dead.port()), 3000ms);
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
