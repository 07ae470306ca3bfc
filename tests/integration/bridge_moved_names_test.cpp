// sanitizers: none
// Names that lead somewhere else than before, while another ensemble lives at the old address: what it says of the
// session, it says of another one.
#include "integration/bridge_client.hpp"
#include "runtime/stores_in_memory.hpp"
#include "support/skip.hpp"
#include "support/temporary_directory.hpp"
#include "support/unique_fd.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace zklock;
using namespace zklock::test;
using tcp = asio::ip::tcp;

namespace {

/// Who resolves the names that end with ".test": each has an address, or an error. While the answers are held back,
/// questions wait.
class resolver {
public:
    void say(const std::string& name, std::string address, int error = 0)
    {
        const std::lock_guard lock(mutex_);
        answers_[name] = {std::move(address), error};
    }
    void hold(bool on)
    {
        const std::lock_guard lock(mutex_);
        held_ = on;
        changed_.notify_all();
    }
    /// How many were asked since the start.
    [[nodiscard]] int asked()
    {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    std::pair<std::string, int> ask(std::string_view name)
    {
        std::unique_lock lock(mutex_);
        ++asked_;
        changed_.wait(lock, [this] { return !held_; });
        return answers_.at(std::string{name});
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::pair<std::string, int>> answers_;
    bool held_ = false;
    int asked_ = 0;
} names;

/// A context waits in its destructor for the name that is being resolved: goes before it.
struct answers_at_the_end {
    answers_at_the_end() = default;
    answers_at_the_end(const answers_at_the_end&) = delete;
    answers_at_the_end& operator=(const answers_at_the_end&) = delete;
    ~answers_at_the_end() { names.hold(false); }
};

using socket_ptr = std::shared_ptr<tcp::socket>;

asio::awaitable<void> pump(socket_ptr from, socket_ptr to)
{
    std::array<char, 4096> buffer{};
    for (boost::system::error_code ec;;) {
        const auto got =
            co_await from->async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
        if (!ec)
            co_await asio::async_write(*to, asio::buffer(buffer.data(), got),
                                       asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            break;
    }
    boost::system::error_code gone;
    to->shutdown(tcp::socket::shutdown_both, gone);
    from->shutdown(tcp::socket::shutdown_both, gone);
}

/// An address at which one server lives, and later another. It works on a thread of its own.
class place {
public:
    place(const std::string& address, std::uint16_t port)
        : acceptor_(context_, tcp::endpoint(asio::ip::make_address(address), port))
    {
        asio::co_spawn(context_, accept(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    ~place()
    {
        context_.stop();
        thread_.join();
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

    /// From now on that server lives here, or with 0 one that is silent; all connections are cut.
    void belongs_to(std::uint16_t server_port)
    {
        asio::post(context_, [this, server_port] {
            server_port_ = server_port;
            boost::system::error_code gone;
            for (const auto& each : open_)
                each->shutdown(tcp::socket::shutdown_both, gone);
            open_.clear();
        });
    }

private:
    asio::awaitable<void> accept()
    {
        for (;;) {
            const auto client = std::make_shared<tcp::socket>(co_await acceptor_.async_accept(asio::use_awaitable));
            open_.push_back(client);
            if (server_port_ == 0)
                continue;
            const auto server = std::make_shared<tcp::socket>(context_);
            boost::system::error_code ec;
            server->connect({asio::ip::address_v4::loopback(), server_port_}, ec);
            if (ec)
                continue;
            asio::co_spawn(context_, pump(client, server), asio::detached);
            asio::co_spawn(context_, pump(server, client), asio::detached);
        }
    }

    asio::io_context context_{1};
    tcp::acceptor acceptor_;
    std::vector<socket_ptr> open_;
    std::uint16_t server_port_ = 0;
    std::thread thread_;
};

/// Two ensembles, and two addresses with the same port: the first is ours at the start.
struct two_ensembles {
    zookeeper_server ours, other;
    port_lease port;
    place old_place{"127.0.0.1", port.port()}, new_place{"127.0.0.2", port.port()};

    two_ensembles()
    {
        reset();
        // The other one has come further, or it would hang up on who has seen more.
        bridge_client c{options_for(other.address())};
        c.wait_connected();
        for (int n = 0; n < 300; ++n)
            c.store().create("/n-", "", node_kind::ephemeral_sequential, nullptr, [](const auto&) {});
        REQUIRE(c.sync("/") == outcome::ok);
        c.close();
    }
    void reset()
    {
        old_place.belongs_to(ours.port());
        new_place.belongs_to(ours.port());
    }
    [[nodiscard]] std::string at_port(const std::string& host) const
    {
        return host + ':' + std::to_string(port.port());
    }
    void other_moves_in() { old_place.belongs_to(other.port()); }
};

two_ensembles& ensembles()
{
    static two_ensembles both;
    return both;
}

/// While it lives, this thread, and those that it starts, have hosts of their own in /etc/hosts, and a network that has
/// the loopback interface only: so nobody else can be asked.
class own_hosts {
public:
    own_hosts()
    {
        if (!network_ || !mounts_ || !here_ || ::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
            return;
        entered_ = true;
        write("");
        made_ = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(file().c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0 && bring_up();
        error_ = errno;
    }
    ~own_hosts()
    {
        if (!entered_)
            return;
        REQUIRE(::setns(mounts_.get(), CLONE_NEWNS) == 0);
        REQUIRE(::setns(network_.get(), CLONE_NEWNET) == 0);
        REQUIRE(::fchdir(here_.get()) == 0);
    }
    own_hosts(const own_hosts&) = delete;
    own_hosts& operator=(const own_hosts&) = delete;

    /// False where none can be had, and the test is skipped: who may not, cannot run it.
    [[nodiscard]] bool made() const
    {
        if (!made_)
            skip("no network and mount namespaces can be made here (" + std::string(std::strerror(error_)) + ")");
        return made_;
    }
    /// The file stays the same, or the mount would show the old one.
    void write(const std::string& lines) const { std::ofstream(file()) << lines; }

private:
    [[nodiscard]] std::string file() const { return directory_.path() / "hosts"; }
    static bool bring_up()
    {
        ifreq loopback{};
        std::strcpy(loopback.ifr_name, "lo");
        loopback.ifr_flags = IFF_UP | IFF_RUNNING;
        const unique_fd any{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        return ::ioctl(any.get(), SIOCSIFFLAGS, &loopback) == 0;
    }

    unique_fd network_{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
    unique_fd mounts_{::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)};
    unique_fd here_{::open(".", O_RDONLY | O_CLOEXEC)};
    temporary_directory directory_;
    bool entered_ = false;
    bool made_ = false;
    int error_ = errno;
};

client_options options_at(const std::string& servers, milliseconds session_timeout)
{
    auto options = options_for(servers);
    options.session_timeout = session_timeout;
    options.connect_backoff = options.connect_backoff_limit = 50ms;
    return options;
}

std::ptrdiff_t lines_with(const bridge_client& c, const std::string& text)
{
    return std::ranges::count_if(c.log, [&](const std::string& line) { return line.find(text) != line.npos; });
}

const std::string disbelieved = "has expired, which is not believed";

} // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    static auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (!node || !std::string_view{node}.ends_with(".test"))
        return real(node, service, hints, found);
    const auto [address, error] = names.ask(node);
    return error != 0 ? error : real(address.c_str(), service, hints, found);
}

TEST_CASE("another ensemble at the old address is not believed, and the session goes on where the name leads now")
{
    two_ensembles& there = ensembles();
    there.reset();
    names.say("moves.test", "127.0.0.1");
    bridge_client c{options_at(there.at_port("moves.test"), 60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    const auto session = c.session;
    REQUIRE(c.create("/kept", node_kind::ephemeral).result == outcome::ok);

    names.hold(true);
    there.other_moves_in();
    c.run_until([&] { return lines_with(c, disbelieved) >= 2; });
    CHECK(c.expiries == 0);
    CHECK(c.connections == 1);
    names.say("moves.test", "127.0.0.2");
    names.hold(false);
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK_FALSE(c.was_renewed);
    CHECK(c.expiries == 0);
    CHECK(c.get("/kept").stat.ephemeral_owner == session);
    c.close();
}

TEST_CASE("an attempt under way to an address that is named no more is ended")
{
    two_ensembles& there = ensembles();
    there.reset();
    names.say("moves.test", "127.0.0.1");
    bridge_client c{options_at(there.at_port("moves.test"), 60'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    const auto session = c.session;

    names.hold(true);
    there.old_place.belongs_to(0); // an attempt there lasts for ten seconds
    c.run_until([&] { return lines_with(c, "connecting to 127.0.0.1:") == 2; });
    names.say("moves.test", "127.0.0.2");
    names.hold(false);
    const auto start = steady_clock::now();
    c.wait_connected(2);
    CHECK(steady_clock::now() - start < 8s);
    CHECK(lines_with(c, "no host name leads to 127.0.0.1:") == 1);
    CHECK(c.session == session);
    c.close();
}

TEST_CASE("that no such name is known confirms nothing; a name that leads there does")
{
    two_ensembles& there = ensembles();
    there.reset();
    names.say("goes.test", "127.0.0.1");
    bridge_client c{options_at(there.at_port("goes.test"), 2000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    const auto session = c.session;

    names.say("goes.test", "", EAI_NONAME);
    there.other_moves_in();
    c.wait_disconnected();
    const auto lost = steady_clock::now();
    c.run_until([&] { return steady_clock::now() > lost + 5s && lines_with(c, disbelieved) >= 2; });
    CHECK(c.expiries == 0);
    CHECK(c.connections == 1);
    CHECK(lines_with(c, "host names cannot be asked") == 0);
    names.say("goes.test", "127.0.0.1");
    c.wait_connected(2);
    CHECK(c.expiries == 1);
    CHECK(c.was_renewed);
    CHECK(c.session != session);
    c.close();
}

TEST_CASE("a name that cannot be asked confirms its last address once the session should be over, with a warning")
{
    two_ensembles& there = ensembles();
    for (const bool silent : {false, true}) {
        CAPTURE(silent);
        there.reset();
        names.say("fails.test", "127.0.0.1");
        auto options = options_at(there.at_port("fails.test"), 4000ms);
        options.server_tick = 500ms;
        bridge_client c{options};
        answers_at_the_end at_end;
        c.wait_connected();

        if (silent)
            names.hold(true);
        else
            names.say("fails.test", "", EAI_AGAIN);
        there.other_moves_in();
        c.wait_disconnected();
        const auto lost = steady_clock::now();
        c.wait_connected(2);
        // With a lease's margin, and a tick. It may have been lost a moment before we heard of it.
        CHECK(steady_clock::now() >= lost + 4000ms + 1000ms + 500ms - 100ms);
        CHECK(c.expiries == 1);
        CHECK(c.was_renewed);
        CHECK(lines_with(c, disbelieved) >= 1);
        CHECK(lines_with(c, "host names cannot be asked") == 1);
        c.close();
    }
}

TEST_CASE("a machine that slept till the session should be over does not wait for that again")
{
    two_ensembles& there = ensembles();
    there.reset();
    names.say("fails.test", "127.0.0.1");
    bridge_client c{options_at(there.at_port("fails.test"), 40'000ms)};
    answers_at_the_end at_end;
    c.wait_connected();
    names.say("fails.test", "", EAI_AGAIN);
    there.other_moves_in();
    c.wait_disconnected();
    const auto lost = steady_clock::now();
    c.run_until([&] { return lines_with(c, disbelieved) != 0; });
    runtime::move_lease_clock(60s);
    c.wait_connected(2);
    CHECK(steady_clock::now() < lost + 30s);
    CHECK(c.was_renewed);
    CHECK(lines_with(c, "host names cannot be asked") == 1);
    c.close();
}

TEST_CASE("a name whose question is from before the connection ended is asked again")
{
    asio::io_context context;
    const auto goes_on = asio::make_work_guard(context);
    answers_at_the_end at_end;
    const auto resolver = std::make_shared<bridge::host_resolver>(runtime::make_strand(context.get_executor()),
                                                                  bridge::parse_servers("asked.test:1").value());
    names.say("asked.test", "127.0.0.1");
    names.hold(true);
    const int before = names.asked();
    const auto nobody = [](const auto&, const auto&) {};
    const auto run_until = [&](const auto& holds) {
        const auto end = steady_clock::now() + default_limit;
        while (!holds() && steady_clock::now() < end)
            context.run_one_for(10ms);
        REQUIRE(holds());
    };
    resolver->resolve({}, nobody, [] {});
    run_until([&] { return names.asked() == before + 1; });
    const auto lost = steady_clock::now();
    resolver->resolve(lost, nobody, [] {});
    CHECK(names.asked() == before + 1); // no question is asked twice at a time
    names.hold(false);
    run_until([&] { return names.asked() == before + 2 && resolver->complete(); });
    REQUIRE(resolver->found().size() == 1);
    CHECK(resolver->found().front()->asked >= lost);
    CHECK_FALSE(resolver->found().front()->unanswered_since);
    names.say("asked.test", "", EAI_AGAIN);
    resolver->resolve(lost, nobody, [] {});
    run_until([&] { return resolver->complete(); });
    REQUIRE(resolver->found().size() == 1); // its last one
    CHECK(resolver->found().front()->unanswered_since);
    names.say("asked.test", "", EAI_NONAME);
    resolver->resolve(lost, nobody, [] {});
    run_until([&] { return resolver->complete(); });
    CHECK(resolver->found().empty());
}

TEST_CASE("a machine whose hosts change: the session goes on at the new address")
{
    const own_hosts hosts;
    if (!hosts.made())
        return;
    two_ensembles there;
    const std::string list = there.at_port("zoo-1.moved") + ',' + there.at_port("zoo-2.moved");
    hosts.write("127.0.0.1 zoo-1.moved\n127.0.0.1 zoo-2.moved\n");
    bridge_client c{options_at(list, 60'000ms)};
    c.wait_connected();
    const auto session = c.session;
    REQUIRE(c.create("/kept", node_kind::ephemeral).result == outcome::ok);

    SUBCASE("of which both names tell")
    {
        hosts.write("127.0.0.2 zoo-1.moved\n127.0.0.2 zoo-2.moved\n");
    }
    SUBCASE("of which one tells, and the other cannot be asked")
    {
        hosts.write("127.0.0.2 zoo-2.moved\n");
    }
    there.other_moves_in();
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK_FALSE(c.was_renewed);
    CHECK(c.expiries == 0);
    CHECK(c.get("/kept").stat.ephemeral_owner == session);
    c.close();
}
