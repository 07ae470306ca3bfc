// zklock ls, top, revoke, break and doctor, and --revocable.
#include "tool/tests/tool_scene.hpp"

#include "support/zookeeper_ensemble.hpp"

#include <doctest/doctest.h>

#include <boost/json/array.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

using namespace zklock::test;

namespace {

boost::json::array contenders_of(tool_scene& scene, const std::string& path)
{
    const ended_tool ended = scene.run({"ls", "--json", path});
    REQUIRE(ended.status == 0);
    return json_in(ended.text).at("contenders").as_array();
}

} // namespace

TEST_CASE("ls shows who holds and who waits")
{
    tool_scene scene;
    CHECK(scene.run({"ls", "/queue/none"}).text == "/queue/none: not there, so nobody\n");
    auto first = scene.start({"run", "--name", "first\x1b[2J", "/queue/ls"}, "first");
    const std::string node_and_token = scene.await_line("first");
    auto second = scene.start({"run", "--name", "second", "/queue/ls"}, "second");
    admin_client admin(server().port());
    wait_until("a queue of two", default_limit, [&] { return admin.children("/queue/ls").size() == 2; });

    const auto queue = contenders_of(scene, "/queue/ls");
    REQUIRE(queue.size() == 2);
    const auto& holds = queue[0].as_object();
    const auto& waits = queue[1].as_object();
    CHECK(holds.at("holds").as_bool());
    CHECK_FALSE(waits.at("holds").as_bool());
    CHECK(std::string(holds.at("node").as_string()) + ' ' + std::to_string(holds.at("token").as_int64()) ==
          node_and_token);
    CHECK(waits.at("identifier").as_string() == "second");
    CHECK(waits.at("sequence").as_int64() == holds.at("sequence").as_int64() + 1);
    CHECK(waits.at("token").as_int64() > holds.at("token").as_int64());
    CHECK(holds.at("age").as_double() >= 0);
    CHECK(std::string(holds.at("session").as_string()).starts_with("0x"));

    const std::string text = scene.run({"ls", "/queue/ls"}).text;
    CHECK(text.find("first?[2J") != std::string::npos); // what others wrote does not reach the terminal
    CHECK(text.find("holds") < text.find("waits"));
    CHECK(let_go(first) == 0);
    static_cast<void>(scene.await_line("second"));
    CHECK(let_go(second) == 0);
}

TEST_CASE("ls knows readers, and semaphores")
{
    tool_scene scene;
    auto one = scene.start({"run", "-s", "/queue/readers"}, "one");
    auto two = scene.start({"run", "-s", "/queue/readers"}, "two");
    static_cast<void>(scene.await_line("one"));
    static_cast<void>(scene.await_line("two"));
    const auto readers = contenders_of(scene, "/queue/readers");
    REQUIRE(readers.size() == 2);
    for (const auto& each : readers) {
        CHECK(each.as_object().at("shared").as_bool());
        CHECK(each.as_object().at("holds").as_bool());
    }
    auto permit = scene.start_holder({"run", "--limit", "1", "--name", "inside", "/queue/gate"}, "permit");
    auto waiter = scene.start({"run", "--limit", "1", "--name", "outside", "/queue/gate", "--", "true"}, "waiter");
    wait_until("one who waits", default_limit, [&] {
        const auto all = contenders_of(scene, "/queue/gate");
        return std::ranges::any_of(all, [](const auto& each) {
            return each.as_object().at("identifier").as_string() == "outside" &&
                   !each.as_object().at("holds").as_bool();
        });
    });
    CHECK(scene.run({"ls", "/queue/gate"}).text.find("semaphore") != std::string::npos);
    CHECK(let_go(permit) == 0);
    CHECK(waiter.wait() == 0);
}

TEST_CASE("a mutex on the path of a semaphore, and the other way round: warned of at the grant, and both listed")
{
    tool_scene scene;
    auto permit =
        scene.start_holder({"run", "--limit", "2", "--revocable", "--name", "permitted", "/queue/both"}, "permit");
    CHECK(scene.contents("permit").find("is in use as") == std::string::npos);
    auto mutex = scene.start({"run", "--revocable", "--name", "alone", "/queue/both"}, "mutex");
    scene.await_text("mutex", "is in use as a semaphore, too");
    const ended_tool second = scene.run({"run", "--limit", "2", "/queue/both", "--", "true"});
    CHECK(second.status == 0);
    CHECK(second.text.find("is in use as a mutex, too") != std::string::npos);

    const auto both = contenders_of(scene, "/queue/both");
    REQUIRE(both.size() == 2);
    CHECK(both[0].as_object().at("identifier").as_string() == "alone");
    CHECK_FALSE(both[0].as_object().at("permit").as_bool());
    CHECK(both[1].as_object().at("identifier").as_string() == "permitted");
    CHECK(both[1].as_object().at("permit").as_bool());
    const std::string text = scene.run({"ls", "/queue/both"}).text;
    CHECK(text.find("alone") < text.find("permitted"));
    CHECK(text.find("do not exclude each other") != std::string::npos);
    CHECK(json_in(scene.run({"revoke", "--json", "/queue/both"}).text).at("asked").as_int64() == 2);
    CHECK(permit.wait() == 0);
    CHECK(mutex.wait() == 0);
}

TEST_CASE("top tells of each change, until a signal comes")
{
    tool_scene scene;
    auto top = scene.start({"top", "--json", "/queue/top", "/queue/top-gate"}, "top");
    wait_until("both queues", default_limit, [&] { return count_lines(scene.contents("top")) == 2; });
    auto passing = scene.start({"run", "--name", "passing", "/queue/top"}, "passing");
    scene.await_text("top", "passing");
    CHECK(let_go(passing) == 0);
    wait_until("the end of it", default_limit, [&] {
        const std::string text = scene.contents("top");
        const auto last = text.rfind("\"path\":\"/queue/top\"");
        return text.find("\"contenders\":[]", last) < text.find('\n', last);
    });
    auto gate = scene.start({"run", "--limit", "1", "--name", "permitted", "/queue/top-gate"}, "gate");
    scene.await_text("top", "permitted");
    CHECK(top.running());
    top.signal(SIGINT);
    CHECK(top.wait() == 0);
    CHECK(let_go(gate) == 0);
}

TEST_CASE("top ends when nobody reads it any more")
{
    tool_scene scene;
    auto top = scene.start_command(
        {"sh", "-c", tool_scene::program() + " top --json --server-tick 0.5 /queue/head | head -n1"}, "head");
    wait_until("the end of top", default_limit, [&] {
        CHECK(scene.run({"run", "/queue/head", "--", "true"}).status == 0); // something to be told
        return !top.running();
    });
    CHECK(count_lines(scene.contents("head")) == 1);
}

TEST_CASE("revoke asks, and --revocable heeds it")
{
    tool_scene scene;
    CHECK(scene.run({"revoke", "/queue/revoke"}).status == 1);
    auto heeds =
        scene.start({"run", "--revocable", "--name", "polite", "/queue/revoke", "--", "sh", "-c",
                     "trap 'echo asked >asked; exit 3' TERM; echo $$ >command; while :; do sleep 1000 & wait; done"});
    static_cast<void>(scene.await_pid("command"));
    const ended_tool asked = scene.run({"revoke", "/queue/revoke"});
    CHECK(asked.status == 0);
    CHECK(asked.text.find("asked polite") != std::string::npos);
    CHECK(heeds.wait() == 3); // its lock was not lost
    CHECK(scene.contents("asked") == "asked\n");

    auto holds = scene.start_holder({"run", "--revocable", "/queue/revoke"}, "holds");
    const ended_tool json = scene.run({"revoke", "--json", "/queue/revoke"});
    CHECK(json_in(json.text).at("asked").as_int64() == 1);
    CHECK(holds.wait() == 0);

    auto deaf = scene.start_holder({"run", "/queue/revoke"}, "deaf");
    CHECK(scene.run({"revoke", "/queue/revoke"}).status == 0);
    CHECK(contenders_of(scene, "/queue/revoke")[0].as_object().at("revoked").as_bool());
    CHECK(deaf.running());
    CHECK(let_go(deaf) == 0);
}

TEST_CASE("break deletes the one node that is meant, and asks first")
{
    tool_scene scene;
    admin_client admin(server().port());
    admin.create_all("/queue/break");
    const std::string dead = admin.create("/queue/break/_c_00000000-0000-0000-0000-000000000000-lock-", "a dead man",
                                          create_mode::persistent_sequential);
    const ended_tool sick = scene.run({"doctor", "/queue/break"});
    CHECK(sick.status == 1);
    CHECK(sick.text.find("belongs to no session") != std::string::npos);
    CHECK(scene.run({"run", "-n", "/queue/break", "--", "true"}).status == 121);

    pipe_ends pipe; // no terminal: nobody could be asked
    CHECK(scene.run({"break", "/queue/break", "0"}, std::move(pipe.out)).status == 120);
    CHECK(admin.exists(dead).has_value());
    CHECK(scene.run({"break", "--yes", "/queue/break", "17"}).status == 1);
    CHECK(admin.exists(dead).has_value());
    const ended_tool no_text = scene.run({"break", "--yes", "--json", "/queue/break", "\xff"});
    CHECK(no_text.status == 1);
    CHECK(json_in(no_text.text).at("node").as_string() == "\xEF\xBF\xBD");
    const ended_tool controls = scene.run({"break", "--yes", "--json", "/queue/break", "\x1b\x7f\xC2\x9b\xC3\xA9"});
    CHECK(controls.text.find("\"\\u001b\\u007f\\u009b\xC3\xA9\"") != std::string::npos); // no byte of a terminal's
    CHECK(json_in(controls.text).at("node").as_string() == "\x1b\x7f\xC2\x9b\xC3\xA9");
    const ended_tool broken = scene.run({"break", "--yes", "/queue/break", "0"});
    CHECK(broken.status == 0);
    CHECK(broken.text.find(dead) != std::string::npos);
    CHECK_FALSE(admin.exists(dead).has_value());
    CHECK(scene.run({"run", "-n", "/queue/break", "--", "true"}).status == 0);

    // With a terminal, made by script(1).
    for (const auto& [answer, status] : {std::pair("n", 1), std::pair("y", 0)}) {
        const std::string again = admin.create("/queue/break/_c_00000000-0000-0000-0000-000000000000-lock-",
                                               "a dead man", create_mode::persistent_sequential);
        const ended_tool asked =
            scene.run_command({"sh", "-c",
                               std::string("echo ") + answer + " | script -qec \"" + tool_scene::program() +
                                   " break /queue/break " + again + "\" /dev/null"});
        INFO(asked.text);
        CHECK(asked.status == status);
        CHECK(asked.text.find("a dead man") != std::string::npos);
        CHECK(admin.exists(again).has_value() == (status != 0));
        admin.remove(again);
    }
}

TEST_CASE("a result that cannot be written on stdout is a failure, which is told")
{
    tool_scene scene;
    auto holder = scene.start_holder({"run", "--revocable", "/queue/full"}, "holder");
    for (const char* const words : {"ls /queue/full", "doctor", "revoke /queue/full"}) {
        CAPTURE(words);
        const std::string command = tool_scene::program() + " " + words + " 2>&1 >/dev/full";
        const ended_tool full = scene.run_command({"sh", "-c", command});
        CHECK(full.status == 125);
        CHECK(full.text.find("stdout cannot be written") != std::string::npos);
    }
    CHECK(holder.wait() == 0);
}

TEST_CASE("doctor finds nothing wrong where nothing is, and tells of each server")
{
    tool_scene scene;
    auto holder = scene.start_holder({"run", "--name", "somebody", "/queue/doctor"}, "holder");
    const ended_tool well = scene.run({"doctor", "/queue/doctor"});
    INFO(well.text);
    CHECK(well.status == 0);
    for (const char* const each :
         {"standalone", "time-out 20.000 s", "world:anyone", "held by somebody", "without the servers", "1.0 % apart",
          "leader's clock", "the lease counts on 500 ms"})
        CHECK_MESSAGE(well.text.find(each) != std::string::npos, each);
    const ended_tool too_long =
        scene.run_command({"sh", "-c", tool_scene::program() + " doctor --server-tick 0.1 /queue/doctor"});
    INFO(too_long.text);
    CHECK(too_long.status == 1);
    CHECK(too_long.text.find("the lease counts on 100 ms at most: say so") != std::string::npos);
    CHECK(let_go(holder) == 0);
    admin_client admin(server().port());
    for (const std::string& child : admin.children("/queue"))
        CHECK(child.find("doctor-") == std::string::npos); // what it has tried is gone

    const ended_tool half =
        scene.run({"doctor", "--connect-timeout", "20", "--servers", "127.0.0.1:1," + server().address()});
    CHECK(half.status == 1);
    CHECK(half.text.find("1 of 2 can be used") != std::string::npos);
    CHECK(scene.run({"doctor", "--connect-timeout", "1", "--servers", "127.0.0.1:1"}).status == 122);
    CHECK(json_in(scene.run({"doctor", "--json"}).text).at("verdict").as_string() == "ok");
}

TEST_CASE("doctor names the leader of an ensemble, and who may use a path")
{
    zookeeper_ensemble ensemble(3);
    tool_scene scene;
    const ended_tool well = scene.run({"doctor", "--servers", ensemble.address()});
    INFO(well.text);
    CHECK(well.status == 0);
    CHECK(well.text.find("leader") != std::string::npos);
    CHECK(well.text.find("follower") != std::string::npos);

    CHECK(scene.run({"run", "--auth", "digest:ann:secret", "--acl", "creator", "/queue/private/lock", "--", "true"})
              .status == 0);
    admin_client admin(server().port());
    const ended_tool stranger = scene.run({"run", "-n", "/queue/private/lock/below", "--", "true"});
    CHECK(stranger.status == 125);
    CHECK(stranger.text.find("access") != std::string::npos);
    const ended_tool sick = scene.run({"doctor", "/queue/private/lock"});
    CHECK(sick.status == 1);
    CHECK(scene.run({"doctor", "--auth", "digest:ann:secret", "/queue/private/lock"}).status == 0);
}

TEST_CASE("where authentication is demanded, doctor, ls and run end with the reason, and soon")
{
    server_options options;
    options.java = {"-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"};
    zookeeper_server demanding(options);
    tool_scene scene;
    const std::string servers = demanding.address();
    const std::string words = servers + " demands authentication (SESSIONCLOSEDREQUIRESASLAUTH, -124)";
    const auto check = [&](const std::vector<std::string>& arguments, int status) {
        const auto began = steady_clock::now();
        const ended_tool refused = scene.run(arguments);
        CAPTURE(arguments.front());
        INFO(refused.text);
        CHECK(refused.status == status);
        CHECK(refused.text.find(words) != std::string::npos);
        CHECK(refused.text.find("by a scheme that --auth has no credentials for") != std::string::npos);
        CHECK(refused.text.find("new session") == std::string::npos);
        CHECK(steady_clock::now() - began < std::chrono::seconds(30)); // the limit for a connection, and a busy machine
    };
    check({"doctor", "--servers", servers, "--connect-timeout", "20"}, 122);
    check({"ls", "--servers", servers, "--connect-timeout", "20", "/queue/demanded"}, 125);
    check({"run", "--servers", servers, "--connect-timeout", "20", "/queue/demanded", "--", "true"}, 125);
    for (const char* const words_of : {"doctor", "ls /queue/demanded", "run /queue/demanded -- true"}) {
        const std::string command = std::string(words_of);
        const auto space = command.find(' ');
        const std::string rest = space == command.npos ? "" : command.substr(space);
        const ended_tool well = scene.run_command({"sh", "-c",
                                                   tool_scene::program() + ' ' + command.substr(0, space) +
                                                       " --auth digest:ann:secret --servers " + servers + rest});
        INFO(well.text);
        CHECK(well.status == 0);
    }
}
