// The subcommands that look: below a path, for scripts, for as long as an answer takes, and while no server is there.
#include "tool/tests/tool_scene.hpp"

#include "support/proxy.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <algorithm>
#include <regex>
#include <sstream>

using namespace zklock::test;

TEST_CASE("ls says so of a path that is not there")
{
    tool_scene scene;
    const ended_tool none = scene.run({"ls", "/look/none"});
    CHECK(none.status == 0);
    CHECK(none.text == "/look/none: not there, so nobody\n");
    CHECK_FALSE(json_in(scene.run({"ls", "--json", "/look/none"}).text).at("exists").as_bool());
    admin_client admin(server().port());
    admin.create_all("/look/free");
    CHECK(scene.run({"ls", "/look/free"}).text == "/look/free: nobody\n");
    CHECK(json_in(scene.run({"ls", "--json", "/look/free"}).text).at("exists").as_bool());
}

TEST_CASE("ls -r shows each lock below that is in use, and nothing else; --held answers by the status")
{
    tool_scene scene;
    admin_client admin(server().port());
    admin.create_all("/below/a/unused/deeper");
    const std::string free = scene.run({"ls", "-r", "/below"}).text;
    CHECK(free == "/below: nobody, and nobody below\n");
    auto outer = scene.start({"run", "/below/a"}, "outer"); // a lock with another below
    auto inner = scene.start({"run", "/below/a/b/c"}, "inner");
    auto gate = scene.start({"run", "--limit", "2", "/below/gate"}, "gate");
    for (const char* const each : {"outer", "inner", "gate"})
        static_cast<void>(scene.await_line(each));
    for (const char* const root : {"/below", "/"}) {
        CAPTURE(root);
        const ended_tool all = scene.run({"ls", "-r", root});
        INFO(all.text);
        CHECK(all.status == 0);
        const auto at_a = all.text.find("/below/a\n");
        const auto at_c = all.text.find("/below/a/b/c\n");
        const auto at_gate = all.text.find("/below/gate (semaphore)\n");
        CHECK(at_a < at_c);
        CHECK(at_c < at_gate);
        CHECK(at_gate != std::string::npos);
        CHECK(all.text.find("unused") == std::string::npos);
        CHECK(all.text.find("/below/a/b\n") == std::string::npos);
        CHECK(all.text.find("zookeeper") == std::string::npos);
    }
    CHECK(count_lines(scene.run({"ls", "-r", "--json", "/below"}).text) == 3);
    CHECK(scene.run({"ls", "/"}).status == 120);

    const auto held = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"ls", "--held"});
        const ended_tool answer = scene.run(std::move(arguments));
        CHECK(answer.text.empty());
        return answer.status;
    };
    CHECK(held({"/below/a"}) == 0);
    CHECK(held({"/below/gate"}) == 0);
    CHECK(held({"/below/a", "/below/gate"}) == 0);
    CHECK(held({"/below/a", "/below/none"}) == 1);
    CHECK(held({"/below"}) == 1);
    CHECK(held({"-r", "/below"}) == 0);
    CHECK(held({"-r", "/below/a/unused"}) == 1);
    const ended_tool unknown =
        scene.run({"ls", "--held", "--servers", "127.0.0.1:1", "--connect-timeout", "0.1", "/below/a"});
    CHECK(unknown.status == 122);
    for (auto* const each : {&outer, &inner, &gate}) {
        CHECK(let_go(*each) == 0);
    }
}

TEST_CASE("ls --held says of a path that may not be read that it is not known")
{
    tool_scene scene;
    auto holder =
        scene.start_holder({"run", "--acl", "creator", "--auth", "digest:ann:secret", "/look/closed"}, "holder");
    for (const char* const words : {"/look/closed", "-r /look/closed", "/look/none /look/closed"}) {
        CAPTURE(words);
        const ended_tool refused = scene.run_command({"sh", "-c", tool_scene::program() + " ls --held " + words});
        CHECK(refused.status == 125);
        CHECK(refused.text == "zklock: /look/closed: access denied by the server\n");
    }
    CHECK(let_go(holder) == 0);
}

TEST_CASE("break looks again when the answer is there: one that has come to hold meanwhile is asked for anew")
{
    tool_scene scene;
    admin_client admin(server().port());
    auto holder = scene.start_holder({"run", "/look/break"}, "holder");
    auto waiter = scene.start({"run", "--name", "waiter", "/look/break"}, "waiter");
    wait_until("a queue of two", default_limit, [&] { return admin.children("/look/break").size() == 2; });
    auto names = admin.children("/look/break");
    std::ranges::sort(names, {}, [](const std::string& name) { return name.substr(name.size() - 10); });
    REQUIRE(scene.run_command({"mkfifo", "keys"}).status == 0);
    const auto type = [&](const std::string& line) {
        CHECK(scene.run_command({"sh", "-c", "echo " + line + " >keys"}).status == 0);
    };
    const std::string ask = "exec 3<>keys; script -qec \"" + tool_scene::program() + " break --session-timeout 4 " +
                            "/look/break " + names.back() + "\" /dev/null <keys";
    auto asks = scene.start_command({"sh", "-c", ask}, "asks");
    scene.await_text("asks", "waiter waits for /look/break");
    scene.await_text("asks", "[y/N]");
    CHECK(let_go(holder) == 0);
    static_cast<void>(scene.await_line("waiter"));
    type("y");
    scene.await_text("asks", "waiter holds /look/break");
    CHECK(waiter.running());
    CHECK(admin.children("/look/break").size() == 1);
    CHECK(let_go(waiter) == 0);
    type("y");
    scene.await_text("asks", "has gone by itself");
    CHECK(asks.wait() == 1);
}

TEST_CASE("top shows that the connection is lost, and that it is back")
{
    tool_scene scene;
    proxy link(server().port());
    auto plain = scene.start({"top", "--servers", link.address(), "/look/top"}, "plain");
    scene.await_text("plain", "/look/top");
    const std::string on_terminal = "stty rows 5 cols 40; exec " + tool_scene::program() + " top --server-tick 0.5 " +
                                    "--session-timeout 20 --servers " + link.address() + " /look/top /look/top2";
    auto holder = scene.start_holder({"run", "--name", "somebody-with-a-long-name", "/look/top"}, "holder");
    auto second = scene.start_holder({"run", "/look/top2"}, "second");
    auto drawn = scene.start_command({"script", "-qec", on_terminal, "/dev/null"}, "drawn");
    scene.await_text("drawn", "more lines)");
    link.refuse();
    link.cut();
    scene.await_text("plain", "no connection to " + link.address());
    scene.await_text("drawn", "No connection to " + link.address());
    link.accept();
    scene.await_text("plain", "connected to " + link.address() + " again");
    CHECK(plain.running());
    const auto lost = scene.contents("drawn").rfind("No connection");
    wait_until("a screen without trouble", default_limit, [&] {
        const std::string text = scene.contents("drawn");
        return text.rfind("more lines)") > text.rfind("No connection") && text.rfind("No connection") >= lost;
    });
    // No line is longer than the terminal, and no screen higher.
    std::string text = std::regex_replace(scene.contents("drawn"), std::regex("\x1b\\[[?0-9;]*[a-zA-Z]"), "\f");
    std::istringstream lines(text);
    std::size_t longest = 0, rows = 1, most = 1;
    for (std::string line; std::getline(lines, line); ++rows) {
        const auto begin = line.rfind('\f');
        if (begin != line.npos)
            rows = 1;
        const std::string own = line.substr(begin == line.npos ? 0 : begin + 1);
        longest = std::max(longest, own.size() - own.ends_with('\r'));
        most = std::max(most, rows);
    }
    CHECK(longest == 40);
    CHECK(most <= 5);
    for (auto* const each : {&holder, &second, &plain}) {
        CHECK(let_go(*each) == 0);
    }
}
