// zklock lead: term after term, and what ends it.
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <signal.h>

using namespace zklock::test;

TEST_CASE("lead runs the command in each term, and stands again")
{
    tool_scene scene;
    // Two stand; the one that leads says so, and ends its term when it is told to.
    const std::string term = "echo $0 $ZKLOCK_TOKEN >>terms; read line <pipe";
    REQUIRE(scene.run_command({"mkfifo", "pipe"}).status == 0);
    auto a = scene.start({"lead", "/lead/lead", "--", "sh", "-c", term, "a"}, "a");
    static_cast<void>(scene.await_line("terms"));
    auto b = scene.start({"lead", "/lead/lead", "--", "sh", "-c", term, "b"}, "b");
    admin_client admin(server().port());
    wait_until("both", default_limit, [&] { return admin.children("/lead/lead").size() == 2; });
    for (std::size_t terms = 1; terms < 4; ++terms) {
        CHECK(scene.run_command({"sh", "-c", "echo next >pipe"}).status == 0);
        wait_until("the next term", default_limit, [&] { return count_lines(scene.contents("terms")) == terms + 1; });
    }
    const std::string terms = scene.contents("terms");
    CHECK(terms[0] == 'a');
    CHECK(terms[terms.find('\n') + 1] == 'b'); // who has led stands behind
    CHECK(count_lines(terms) == 4);
    for (child_process* const each : {&a, &b})
        each->signal(SIGTERM); // one leads, and its command ends by that; the other waits
    CHECK(a.wait() == 128 + SIGTERM);
    CHECK(b.wait() == 128 + SIGTERM);
    CHECK(scene.run({"lead", "/lead/lead", "--", "/no/such/program"}).status == 127);
    CHECK(admin.children("/lead/lead").empty());
}

TEST_CASE("lead stands again after a loss")
{
    tool_scene scene;
    admin_client admin(server().port());
    auto leads = scene.start({"lead", "/lead/again", "--", "sh", "-c", "echo $ZKLOCK_NODE >>nodes; exec sleep 1000"});
    REQUIRE(admin.remove(scene.await_line("nodes")));
    wait_until("another term", default_limit, [&] { return count_lines(scene.contents("nodes")) == 2; });
    CHECK(let_go(leads) == 128 + SIGTERM);
}

TEST_CASE("lead stands again at a server that has lost its data")
{
    tool_scene scene;
    zookeeper_server own;
    auto leads = scene.start({"lead", "--servers", own.address(), "--session-timeout", "2", "/lead/wiped", "--", "sh",
                              "-c", "echo $ZKLOCK_TOKEN >>terms; exec sleep 1000"});
    static_cast<void>(scene.await_line("terms"));
    own.kill();
    own.wipe();
    own.restart();
    wait_until("another term", default_limit, [&] { return count_lines(scene.contents("terms")) == 2; });
    CHECK(let_go(leads) == 128 + SIGTERM);
    CHECK(admin_client(own.port()).children("/lead/wiped").empty());
}

TEST_CASE("HUP is the command's, to read its configuration again, and ends lead if it ends the command")
{
    tool_scene scene;
    auto leads = scene.start({"lead", "/lead/reload", "--", "sh", "-c",
                              "trap 'echo heard >>heard' HUP; trap 'exit 0' USR1; echo $$ >>terms; "
                              "while :; do sleep 1000 & wait; done"});
    static_cast<void>(scene.await_line("terms"));
    ::kill(leads.pid(), SIGHUP);
    static_cast<void>(scene.await_line("heard"));
    ::kill(leads.pid(), SIGUSR1); // the term ends as any other
    wait_until("another term", default_limit, [&] { return count_lines(scene.contents("terms")) == 2; });
    ::kill(leads.pid(), SIGTERM);
    CHECK(leads.wait() == 128 + SIGTERM);

    auto simple = scene.start({"lead", "/lead/hangup", "--", "sh", "-c", "echo $$ >up; exec sleep 1000"}, "simple");
    static_cast<void>(scene.await_line("up"));
    ::kill(simple.pid(), SIGHUP);
    CHECK(simple.wait() == 128 + SIGHUP);

    auto orderly = scene.start({"lead", "/lead/orderly", "--", "sh", "-c",
                                "trap 'exit 3' HUP; echo $$ >>orderly.up; while :; do sleep 1000 & wait; done"},
                               "orderly");
    static_cast<void>(scene.await_line("orderly.up"));
    ::kill(orderly.pid(), SIGHUP);
    CHECK(orderly.wait() == 3);
    CHECK(count_lines(scene.contents("orderly.up")) == 1);
}
