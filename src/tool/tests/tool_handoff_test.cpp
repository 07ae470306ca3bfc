// zklock run and lead with --handoff: the lock is handed over past the servers, who hear of it later.
#include "support/proxy.hpp"
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <stdlib.h>

using namespace zklock::test;

namespace {

const std::vector<std::string> by_options{"--handoff", "127.0.0.1:0", "--handoff-peers", "10.0.0.0/8,127.0.0.0/8"};

std::vector<std::string> joined(std::vector<std::string> all, const std::vector<std::string>& more)
{
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// The environment of the programs that are started, while this lives.
class environment {
public:
    environment()
    {
        ::setenv("ZKLOCK_HANDOFF", "127.0.0.1:0", 1);
        ::setenv("ZKLOCK_HANDOFF_PEERS", "10.0.0.0/8,127.0.0.0/8,", 1);
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    ~environment()
    {
        ::unsetenv("ZKLOCK_HANDOFF");
        ::unsetenv("ZKLOCK_HANDOFF_PEERS");
    }
};

/// Somebody holds the lock, and is asked to end while nothing that it says reaches the server: the next one has the
/// lock all the same, and says `told`.
void hand_over(const std::vector<std::string>& options, const std::string& voice, const std::string& told)
{
    const std::string path = "/handoff/tool";
    tool_scene scene;
    proxy link(server().port());
    admin_client admin(server().port());
    auto first = scene.start_holder(joined(joined({"run", "--servers", link.address()}, options), {path}), "first");
    const auto nodes = admin.children(path);
    REQUIRE(nodes.size() == 1);
    auto second =
        scene.start(joined(joined({"run", voice}, options), {path, "--", "sh", "-c", "echo inside"}), "second");
    wait_until("it waits", default_limit, [&] { return admin.children(path).size() == 2; });
    link.block(direction::requests);
    first.signal(SIGTERM);
    scene.await_text("second", "inside\n");
    CHECK(admin.exists(path + '/' + nodes.front()).has_value());
    CHECK(scene.contents("second").find(told) != std::string::npos);
    CHECK(second.wait() == 0);
    link.unblock();
    CHECK(first.wait() == 0);
    CHECK(admin.children(path).empty());
}

} // namespace

TEST_CASE("whoever waits has the lock before the servers have heard that it is free")
{
    hand_over(by_options, "--verbose", ", handed over past the servers\n");
    const environment set;
    hand_over({}, "--json", "\"handoff\":true");
}

TEST_CASE("a term of lead begins so, too")
{
    tool_scene scene;
    proxy link(server().port());
    auto first =
        scene.start(joined(joined({"run", "--servers", link.address()}, by_options), {"/handoff/lead"}), "first");
    static_cast<void>(scene.await_line("first"));
    auto next = scene.start(
        joined(joined({"lead", "-v"}, by_options), {"/handoff/lead", "--", "sh", "-c", "echo inside; exec sleep 600"}),
        "next");
    admin_client admin(server().port());
    wait_until("it waits", default_limit, [&] { return admin.children("/handoff/lead").size() == 2; });
    link.block(direction::requests);
    first.signal(SIGTERM);
    scene.await_text("next", "inside\n");
    CHECK(scene.contents("next").find(", handed over past the servers\n") != std::string::npos);
    link.unblock();
    CHECK(first.wait() == 0);
    CHECK(let_go(next) == 128 + SIGTERM);
}

TEST_CASE("a port is opened where a lock may be handed over so, and not for permits, or unasked")
{
    tool_scene scene;
    const auto listens = [&](const std::vector<std::string>& options) {
        ::setenv("ZKLOCK_LOG", "info", 1);
        const ended_tool ended = scene.run(joined(joined({"run"}, options), {"/handoff/ports", "--", "true"}));
        ::unsetenv("ZKLOCK_LOG");
        CHECK(ended.status == 0);
        CHECK(ended.text.find("connected to ") != std::string::npos);
        return ended.text.find("listens for other clients on 127.0.0.1:0") != std::string::npos;
    };
    CHECK(listens(by_options));
    CHECK_FALSE(listens({}));
    ::setenv("ZKLOCK_HANDOFF_PEERS", "no network", 1); // nobody looks
    CHECK_FALSE(listens({}));
    const environment set;
    CHECK(listens({"-s"}));
}

TEST_CASE("permits are not handed over so")
{
    tool_scene scene;
    const environment set;
    ::setenv("ZKLOCK_LOG", "info", 1);
    const ended_tool ended = scene.run({"run", "--limit", "2", "/handoff/permits", "--", "true"});
    ::unsetenv("ZKLOCK_LOG");
    CHECK(ended.status == 0);
    CHECK(ended.text.find("listens for other clients") == std::string::npos);
}

TEST_CASE("what is no address, and no network")
{
    tool_scene scene;
    const std::vector<std::vector<std::string>> wrong{{"--handoff", "here"},
                                                      {"--handoff", "127.0.0.1"},
                                                      {"--handoff", "127.0.0.1:0", "--handoff-peers", "10.0.0.0/8,x"},
                                                      {"--handoff", "127.0.0.1:0", "--handoff-advertise", "here"},
                                                      {"--handoff-advertise", "127.0.0.1"},
                                                      {"--handoff-peers", "127.0.0.0/8"}};
    for (const auto& options : wrong) {
        const ended_tool ended = scene.run(joined(joined({"run"}, options), {"/x", "--", "true"}));
        INFO(options.back(), ": ", ended.text);
        CHECK(ended.status == 120);
        CHECK(ended.text.find("handoff") != std::string::npos);
    }
    CHECK(scene.run(joined(joined({"ls"}, by_options), {"/x"})).status == 120);
}
