// sanitizers: none
// program: tls
// For which name a certificate has to be: that by which the user named the address that is being tried.
#include "integration/names_scene.hpp"
#include "integration/tls_scene.hpp"

#include <cstdarg>
#include <thread>

#include <fcntl.h>

using namespace zklock::test;

namespace {

/// Which threads have opened the authority's file.
class openings {
public:
    void note(std::string_view path)
    {
        if (!path.ends_with("/ca.pem"))
            return;
        const std::lock_guard lock(mutex_);
        by_.push_back(std::this_thread::get_id());
    }
    std::vector<std::thread::id> take()
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(by_, {});
    }

private:
    std::mutex mutex_;
    std::vector<std::thread::id> by_;
} opened;

} // namespace

extern "C" int open(const char* path, int flags, ...)
{
    static auto real = reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, "open"));
    std::va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    opened.note(path);
    return real(path, flags, mode);
}

// Names that end with ".test" are this machine's; those that begin with "hang" are answered when a test allows it.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    std::string_view name{node ? node : ""};
    while (name.ends_with('.'))
        name.remove_suffix(1);
    if (name.starts_with("hang"))
        questions.ask();
    return real_getaddrinfo(name.ends_with(".test") ? "127.0.0.1" : node, service, hints, found);
}

namespace {

const auto names_server = secured();
constexpr int most = 32; // threads

server_options with_names(std::vector<std::string> names)
{
    server_options options = with_secure_port();
    options.secure->key_store = usual_authority().certify(with(&certificate_wish::names, std::move(names))).store;
    return options;
}

} // namespace

TEST_CASE("a server is known by its name, however the name is written, and by no other")
{
    zookeeper_server one(with_names({"DNS:one.test"}));
    play_connected(secure_options(one.secure_address("one.test")));
    play_connected(secure_options(one.secure_address("ONE.test")));
    play_connected(secure_options(one.secure_address("one.test.")));
    play_refused(secure_options(one.secure_address("two.test")), "hostname mismatch");
    play_refused(secure_options(one.secure_address()), "IP address mismatch");
    play_refused(secure_options(one.secure_address("sub.one.test")), "hostname mismatch");
    expect_clean(one, {"/tls/usable"});
}

TEST_CASE("an address with two names is tried by both, whichever of them the certificate is for")
{
    for (const std::string name : {"one.test", "two.test"}) {
        CAPTURE(name);
        zookeeper_server named(with_names({"DNS:" + name}));
        const std::string one = named.secure_address("one.test"), two = named.secure_address("two.test");
        for (int i = 0; i < 5; ++i) { // the order is left to chance
            play_connected(secure_options(one + ',' + two));
            play_connected(secure_options(two + ',' + one));
        }
        play_connected(secure_options(named.secure_address() + ',' + one + ',' + two));
        expect_clean(named, {"/tls/usable"});
    }
}

TEST_CASE("files are read on another thread than the executor's, and again only if they have changed")
{
    auto was_changed = [age = std::chrono::hours(2)]() mutable {
        std::filesystem::last_write_time(usual_authority().file(),
                                         std::filesystem::file_time_type::clock::now() - age--);
    };
    was_changed();
    play<0>([&]() -> awaitable<void> {
        proxy link(server().secure_port(), std::nullopt, speech::tls);
        opened.take();
        client zk(co_await asio::this_coro::executor, secure_options(link.address()));
        must(co_await zk.wait_connected(default_limit));
        const auto read_elsewhere = [] {
            const auto by = opened.take();
            CHECK(by.size() == 1);
            CHECK(std::ranges::find(by, std::this_thread::get_id()) == by.end());
        };
        read_elsewhere();
        co_await reconnect(zk, link);
        CHECK(opened.take().empty());
        was_changed();
        co_await reconnect(zk, link);
        read_elsewhere();
        must(co_await zk.close());
    });
}

TEST_CASE("threads that are stuck with names: a client whose server is an address reads its files all the same")
{
    play<0>({.clean = {"/tls/usable"}}, [&]() -> awaitable<void> {
        questions.allow(0);
        client_options unknown = secure_options("hang-0.test:1");
        for (int i = 1; i < most + 8; ++i)
            unknown.servers += ",hang-" + std::to_string(i) + ".test:1";
        client stuck(co_await asio::this_coro::executor, unknown);
        co_await until("all are stuck", [] { return questions.waiting() == most; });
        const client_options numeric = secure_options(server().secure_address());
        co_await expect_connected(numeric);
        CHECK(questions.waiting() == most);
        questions.allow_all();
        must(co_await stuck.close());
    });
}

TEST_CASE("an address without a name is in the certificate, or refused; a scope is in none")
{
    zookeeper_server numbered(with_names({"IP:127.0.0.1"}));
    play_connected(secure_options(numbered.secure_address()));
    play_refused(secure_options(numbered.secure_address("one.test")), "hostname mismatch");

    client_options options = secure_options("[fe80::1%lo]:2281");
    const auto fault = find_fault(options);
    REQUIRE(fault);
    CHECK(fault->option == "servers");
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options);
        CHECK(error_in(co_await zk.wait_connected(default_limit)) == errc::invalid_option);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    options.tls = tls_options();
    CHECK_FALSE(find_fault(options));
}
