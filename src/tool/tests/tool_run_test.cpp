// zklock run: what a command is given, and what becomes of its status.
#include "tool/tests/tool_scene.hpp"

#include "support/proxy.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <sstream>

using namespace zklock::test;

namespace {

const std::string& tool = tool_scene::program();

} // namespace

TEST_CASE("the status is the command's")
{
    tool_scene scene;
    CHECK(scene.run({"run", "/run/status", "--", "true"}).status == 0);
    CHECK(scene.run({"run", "/run/status", "--", "sh", "-c", "exit 7"}).status == 7);
    CHECK(scene.run({"run", "/run/status", "sh", "-c", "exit 255"}).status == 255);
    CHECK(scene.run({"run", "/run/status", "--", "sh", "-c", "kill -TERM $$"}).status == 128 + SIGTERM);
    CHECK(scene.run({"run", "/run/status", "--", "sh", "-c", "kill -KILL $$"}).status == 128 + SIGKILL);
    const ended_tool none = scene.run({"run", "/run/status", "--", "/no/such/program"});
    CHECK(none.status == 127);
    CHECK(none.text.find("/no/such/program") != std::string::npos);
    CHECK(scene.run({"run", "/run/status", "--", "/"}).status == 126);
    admin_client admin(server().port());
    CHECK(admin.children("/run/status").empty()); // it is given back in each case
}

TEST_CASE("the environment tells path, node and token")
{
    tool_scene scene;
    const ended_tool said =
        scene.run({"run", "/run/told", "--", "sh", "-c",
                   "echo $ZKLOCK_PATH; echo $ZKLOCK_NODE; echo $ZKLOCK_TOKEN; " + tool + " ls --json /run/told"});
    REQUIRE(said.status == 0);
    std::istringstream lines(said.text);
    std::string path, node, json;
    std::int64_t token = 0;
    lines >> path >> node >> token;
    lines >> std::ws;
    std::getline(lines, json);
    CHECK(path == "/run/told");
    const auto listing = json_in(json);
    const auto& contenders = listing.at("contenders").as_array();
    REQUIRE(contenders.size() == 1);
    CHECK(contenders[0].as_object().at("node").as_string() == node);
    CHECK(contenders[0].as_object().at("token").as_int64() == token);
    CHECK(contenders[0].as_object().at("holds").as_bool());
}

TEST_CASE("the command's environment has none of the tool's secrets, and all else")
{
    tool_scene scene;
    const ended_tool said = scene.run_command(
        {"sh", "-c",
         "ZKLOCK_AUTH=digest:ann:hidden-1 ZKLOCK_TLS_KEY_PASSWORD=hidden-2 ZKLOCK_SASL_PASSWORD=hidden-3 "
         "ZKLOCK_OWN=shown " +
             tool + " run /run/secrets -- env"});
    REQUIRE(said.status == 0);
    CHECK_MESSAGE(said.text.find("hidden-") == std::string::npos, said.text);
    CHECK(said.text.find("ZKLOCK_OWN=shown") != std::string::npos);
    CHECK(said.text.find("ZKLOCK_SERVERS=") != std::string::npos);
    CHECK(said.text.find("ZKLOCK_PATH=/run/secrets") != std::string::npos);
}

TEST_CASE("the command has stdin, and the descriptors that it would have without the tool")
{
    tool_scene scene;
    pipe_ends pipe;
    REQUIRE(::write(pipe.in.get(), "from stdin\n", 11) == 11);
    pipe.in = unique_fd();
    CHECK(scene.run({"run", "/run/input", "--", "cat"}, std::move(pipe.out)).text == "from stdin\n");

    const ended_tool both = scene.run_command({"sh", "-c",
                                               "exec 7</dev/null; sh -c 'cd /proc/$$/fd && echo *'; " + tool +
                                                   " run /run/input -- sh -c 'cd /proc/$$/fd && echo *'"});
    std::istringstream lines(both.text);
    std::string bare, guarded;
    std::getline(lines, bare);
    std::getline(lines, guarded);
    CHECK(bare.find('7') != std::string::npos);
    CHECK(guarded == bare);
}

TEST_CASE("standard descriptors that are closed are closed for the command, too, and do no harm")
{
    tool_scene scene;
    const std::string look = "open=; for each in 0 1 2; do [ -e /proc/$$/fd/$each ] && open=$open$each; done; "
                             "echo \"<$open>\" >seen; exit 6";
    const ended_tool closed = scene.run_command(
        {"sh", "-c", "exec <&- >&- 2>&-; " + tool + " run --server-tick 0.5 /run/closed -- sh -c '" + look + "'"});
    CHECK(closed.status == 6);
    CHECK(scene.contents("seen") == "<>\n");
}

TEST_CASE("a stderr that cannot be written is no reason to crash")
{
    tool_scene scene;
    CHECK(scene.run_command({"sh", "-c", tool + " run no/path true 2>/dev/full"}).status == 120);
    CHECK(scene.run_command({"sh", "-c", tool + " run --server-tick 0.5 -v /run/full -- sh -c 'exit 3' 2>/dev/full"})
              .status == 3);
}

TEST_CASE("the command's signals are as they would be without the tool")
{
    tool_scene scene;
    const std::string masks = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status";
    const ended_tool both =
        scene.run_command({"sh", "-c", "trap '' USR1; " + masks + "; echo; " + tool + " run /run/signals -- " + masks});
    const auto half = both.text.find("\n\n");
    REQUIRE(half != std::string::npos);
    CHECK(both.text.substr(half + 2) == both.text.substr(0, half + 1));
}

TEST_CASE("with -c the command is a line for the shell")
{
    tool_scene scene;
    CHECK(scene.run({"run", "-c", "/run/shell", "--", "exit $((3 + 4))"}).status == 7);
    CHECK(scene.run({"run", "/run/shell", "-c", "exit $((3 + 4))"}).status == 7);
    CHECK(scene.run({"run", "/run/shell", "-c", "exit", "7"}).status == 120);
    CHECK(scene.run({"run", "/run/shell", "-c"}).status == 120);
}

TEST_CASE("a command's own options are not the tool's")
{
    tool_scene scene;
    CHECK(scene.run({"run", "/run/words", "printf", "%s.", "-n", "--", "--help"}).text == "-n.--.--help.");
    CHECK(scene.run({"run", "/run/words", "--", "printf", "%s.", "-n", "--", "x"}).text == "-n.--.x.");
}

TEST_CASE("a lock that is not to be had has statuses of its own")
{
    tool_scene scene;
    auto first = scene.start_holder({"run", "/run/busy"}, "holder");
    CHECK(scene.run({"run", "-n", "/run/busy", "--", "true"}).status == 121);
    CHECK(scene.run({"run", "-w", "0", "/run/busy", "--", "true"}).status == 121);
    CHECK(scene.run({"run", "-n", "-E", "9", "/run/busy", "--", "true"}).status == 9);
    CHECK(scene.run({"run", "-n", "-E", "0", "/run/busy", "--", "touch", "inside"}).status == 0);
    CHECK_FALSE(std::filesystem::exists(scene.file("inside")));
    const ended_tool late = scene.run({"run", "-w", "2.5", "/run/busy", "--", "true"});
    CHECK(late.status == 124);
    CHECK(late.text.find("held by") != std::string::npos);
    CHECK(scene.run({"run", "-w", "2", "-E", "0", "/run/busy", "--", "false"}).status == 0);
    admin_client admin(server().port());
    CHECK(admin.children("/run/busy").size() == 1); // those that gave up have left nothing
    CHECK(let_go(first) == 0);
    CHECK(scene.run({"run", "-n", "/run/busy", "--", "true"}).status == 0);
}

TEST_CASE("readers share, and exclude writers")
{
    tool_scene scene;
    auto reader = scene.start_holder({"run", "-s", "/run/shared"}, "reader");
    CHECK(scene.run({"run", "-s", "-n", "/run/shared", "--", "true"}).status == 0);
    CHECK(scene.run({"run", "-x", "-n", "/run/shared", "--", "true"}).status == 121);
    CHECK(scene.run({"run", "-n", "/run/shared", "--", "true"}).status == 121);
    CHECK(let_go(reader) == 0);
    auto writer = scene.start_holder({"run", "-x", "/run/shared"}, "writer");
    CHECK(scene.run({"run", "-s", "-n", "/run/shared", "--", "true"}).status == 121);
    CHECK(let_go(writer) == 0);
}

TEST_CASE("--limit lets so many in")
{
    tool_scene scene;
    auto one = scene.start_holder({"run", "--limit", "2", "/run/limit"}, "one");
    CHECK(scene.run({"run", "--limit", "2", "-n", "/run/limit", "--", "true"}).status == 0);
    auto two = scene.start_holder({"run", "--limit", "2", "/run/limit"}, "two");
    CHECK(scene.run({"run", "--limit", "2", "-n", "/run/limit", "--", "true"}).status == 121);
    CHECK(let_go(one) == 0);
    CHECK(scene.run({"run", "--limit", "2", "-w", "30", "/run/limit", "--", "true"}).status == 0);
    CHECK(let_go(two) == 0);
}

TEST_CASE("without a command it prints node and token, and holds")
{
    tool_scene scene;
    auto plain = scene.start({"run", "/run/hold"}, "plain");
    std::istringstream line(scene.await_line("plain"));
    std::string node;
    std::int64_t token = 0;
    line >> node >> token;
    admin_client admin(server().port());
    CHECK(admin.exists(node).has_value());
    CHECK(token > 0);
    plain.signal(SIGINT);
    CHECK(plain.wait() == 0);
    CHECK_FALSE(admin.exists(node).has_value());

    auto json = scene.start({"run", "--json", "/run/hold"}, "json");
    scene.await_text("json", "\"token\"");
    CHECK(let_go(json) == 0);
    CHECK(scene.contents("json").find("\"path\":\"/run/hold\"") != std::string::npos);
}

TEST_CASE("--name and --verbose tell who holds, and where one stands")
{
    tool_scene scene;
    auto first = scene.start_holder({"run", "--name", "billing", "/run/named"}, "first");
    auto second = scene.start({"run", "--verbose", "/run/named", "--", "echo", "done"}, "second");
    scene.await_text("second", "place 2 of 2, held by billing");
    CHECK(let_go(first) == 0);
    CHECK(second.wait() == 0);
    CHECK(scene.contents("second").find("done\n") != std::string::npos);
}

TEST_CASE("no server is a status of its own")
{
    tool_scene scene;
    for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"-n"}, {"-w", "0.4"}}) {
        std::vector<std::string> arguments{"run", "--servers", "127.0.0.1:1", "--connect-timeout", "0.5"};
        arguments.insert(arguments.end(), how.begin(), how.end());
        arguments.insert(arguments.end(), {"/run/nowhere", "--", "true"});
        const ended_tool ended = scene.run(arguments);
        CHECK(ended.status == 122);
        CHECK(ended.text.find("127.0.0.1:1") != std::string::npos);
    }
}

TEST_CASE("no server is that status, too, for one who waited behind others when all fell silent")
{
    tool_scene scene;
    auto first = scene.start_holder({"run", "/run/silent"}, "holder");
    proxy link(server().port());
    auto second = scene.start({"run", "--servers", link.address(), "--session-timeout", "4", "-w", "12", "-E", "0",
                               "/run/silent", "--", "true"});
    admin_client admin(server().port());
    wait_until("it waits", default_limit, [&] { return admin.children("/run/silent").size() == 2; });
    link.block();
    CHECK(second.wait() == 122);
    CHECK(scene.contents("output").find("no connection to " + link.address()) != std::string::npos);
    CHECK(let_go(first) == 0);
}

TEST_CASE("arguments that cannot be used")
{
    tool_scene scene;
    const std::vector<std::vector<std::string>> wrong{
        {"run"},
        {"run", "--bogus", "/x", "true"},
        {"run", "/x", "--bogus"},
        {"run", "-w", "x", "/x"},
        {"run", "-w", "-1", "/x"},
        {"run", "-n", "-w", "1", "/x"},
        {"run", "-s", "-x", "/x"},
        {"run", "-s", "--limit", "2", "/x"},
        {"run", "--limit", "0", "/x"},
        {"run", "-E", "256", "/x"},
        {"run", "no/path", "true"},
        {"run", "/x/", "true"},
        {"run", "--auth", "secret", "/x", "true"},
        {"run", "--tls-ca", "/x.pem", "/x", "true"},
        {"lead", "/x"},
        {"ls"},
        {"break", "/x"},
    };
    for (const auto& arguments : wrong) {
        const ended_tool ended = scene.run(arguments);
        INFO(arguments.back(), ": ", ended.text);
        CHECK(ended.status == 120);
        CHECK(ended.text.size() > 10);
        CHECK(ended.text.find("secret") == std::string::npos);
    }
    CHECK(scene.run_command({tool}).status == 120);
    CHECK(scene.run_command({tool, "--version"}).text.starts_with("zklock "));
    CHECK(scene.run_command({tool, "run", "--help"}).status == 0);
}

TEST_CASE("--hold-at-least keeps the command's status, and the lock until so long after its grant")
{
    tool_scene scene;
    const auto began = steady_clock::now();
    auto tool = scene.start({"run", "-v", "--hold-at-least", "2.5", "/run/least", "--", "sh", "-c", "exit 7"});
    scene.await_text("output", "holding on");
    CHECK(scene.run({"run", "-n", "/run/least", "--", "true"}).status == 121);
    CHECK(tool.wait() == 7);
    CHECK(steady_clock::now() - began >= std::chrono::milliseconds(2500));
    CHECK(scene.run({"run", "-n", "/run/least", "--", "true"}).status == 0);
    // It is counted from the grant, and a command that lasts longer is not held up.
    const auto again = steady_clock::now();
    CHECK(scene.run({"run", "--hold-at-least", "3", "/run/least", "--", "sleep", "3"}).status == 0);
    CHECK(steady_clock::now() - again < std::chrono::seconds(6));
    CHECK(scene.run({"run", "--hold-at-least", "1000", "/run/least", "--", "/no/such/program"}).status == 127);
    CHECK(scene.run({"run", "--hold-at-least", "1", "/run/least"}).status == 120);
}

TEST_CASE("--hold-at-least is over at a loss, a signal, and a request")
{
    tool_scene scene;
    const auto start = [&](const std::string& output) {
        auto tool = scene.start({"run", "-v", "--revocable", "--hold-at-least", "1000", "/run/over", "--", "sh", "-c",
                                 "echo $ZKLOCK_NODE >node." + output + "; exit 7"},
                                output);
        scene.await_text(output, "holding on");
        return tool;
    };
    admin_client admin(server().port());
    auto loses = start("lost");
    REQUIRE(admin.remove(scene.await_line("node.lost")));
    CHECK(loses.wait() == 7);
    CHECK(scene.contents("lost").find("node_deleted") != std::string::npos);
    auto signalled = start("signalled");
    CHECK(let_go(signalled) == 7);
    auto asked = start("asked");
    CHECK(scene.run({"revoke", "/run/over"}).status == 0);
    CHECK(asked.wait() == 7);
    CHECK(admin.children("/run/over").empty());
}

TEST_CASE("-v tells of a connection that is lost and found, and of a command that is stopped and goes on")
{
    tool_scene scene;
    proxy link(server().port());
    auto tool = scene.start({"run", "-v", "--servers", link.address(), "/run/tells", "--", "sh", "-c",
                             "mkfifo pipe; echo $$ >command; read line <pipe; exit 6"});
    const pid_t command = scene.await_pid("command");
    link.cut();
    scene.await_text("output", "the connection to " + link.address() + " is lost: /run/tells can be held for ");
    scene.await_text("output", "connected to " + link.address() + " again\n");
    ::kill(command, SIGSTOP);
    scene.await_text("output", "the command was stopped by STOP");
    ::kill(command, SIGCONT);
    scene.await_text("output", "the command goes on");
    CHECK(scene.run_command({"sh", "-c", "echo go >pipe"}).status == 0);
    CHECK(tool.wait() == 6);
}
