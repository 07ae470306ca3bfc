// zklock run and signals: those that it passes on, those that end a wait, and those that end the tool itself, or its
// keeper, in the middle of everything.
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <signal.h>

using namespace zklock::test;

namespace {

/// A shell that has a child, a grandchild and a descendant in a session of its own, none of which heeds TERM; the files
/// self, child, grandchild and stranger have their numbers, and keeper its parent's.
const std::string family = R"(
    trap '' TERM
    echo $PPID >keeper.part; mv keeper.part keeper
    sh -c 'sh -c "echo \$\$ >grandchild; exec sleep 1000" & echo $$ >child; wait' &
    setsid sh -c 'echo $$ >stranger; exec sleep 1000' &
    echo $$ >self
    wait
)";

struct family_ids {
    explicit family_ids(tool_scene& scene)
        : keeper(scene.await_pid("keeper")), all{scene.await_pid("self"), scene.await_pid("child"),
                                                 scene.await_pid("grandchild"), scene.await_pid("stranger")}
    {
    }

    void await_ends() const
    {
        for (const pid_t each : all)
            await_end(each);
    }

    pid_t keeper;
    std::vector<pid_t> all;
};

} // namespace

TEST_CASE("a signal is passed on to the whole group, and the command's answer is the status")
{
    tool_scene scene;
    auto tool = scene.start({"run", "/signals/term", "--", "sh", "-c",
                             "trap 'echo heard >heard; exit 5' TERM; sleep 1000 & echo $! >child; wait"});
    const pid_t child = scene.await_pid("child");
    ::kill(tool.pid(), SIGTERM);
    CHECK(tool.wait() == 5);
    CHECK(scene.contents("heard") == "heard\n");
    CHECK_FALSE(lives(child)); // it has had the signal, too

    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2}) {
        const std::string name = "started." + std::to_string(number);
        auto simple = scene.start({"run", "/signals/each", "--", "sh", "-c", "echo $$ >" + name + "; exec sleep 1000"});
        static_cast<void>(scene.await_line(name));
        ::kill(simple.pid(), number);
        CHECK(simple.wait() == 128 + number);
    }
}

TEST_CASE("a signal ends a wait, and the place in the queue is given up at once")
{
    tool_scene scene;
    auto first = scene.start_holder({"run", "/signals/wait"}, "first");
    admin_client admin(server().port());
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
        auto second = scene.start({"run", "/signals/wait", "--", "true"}, "second");
        wait_until("a queue of two", default_limit, [&] { return admin.children("/signals/wait").size() == 2; });
        ::kill(second.pid(), number);
        CHECK(second.wait() == 128 + number);
        CHECK(admin.children("/signals/wait").size() == 1);
    }
    CHECK(let_go(first) == 0);
}

TEST_CASE("a signal ends a wait for a connection")
{
    tool_scene scene;
    auto tool = scene.start(
        {"run", "--verbose", "--servers", "127.0.0.1:1", "--connect-timeout", "0", "/signals/nowhere", "--", "true"});
    // Its signals are caught from the moment on at which /proc says so.
    const std::string caught = "cd /proc/" + std::to_string(tool.pid()) +
                               "; grep -qx zklock comm && grep -q '^SigCgt:.*[4567cdef]...$' status";
    wait_until("a handler of SIGTERM", default_limit, [&] {
        return scene.run_command({"sh", "-c", caught}).status == 0;
    });
    ::kill(tool.pid(), SIGTERM);
    CHECK(tool.wait() == 128 + SIGTERM);
}

TEST_CASE("what was ignored when the tool was started stays ignored")
{
    tool_scene scene;
    auto tool = scene.start_command(
        {"sh", "-c",
         "trap '' HUP; exec " + tool_scene::program() + " run /signals/nohup -- sh -c 'echo $$ >up; exec sleep 1000'"});
    const pid_t command = scene.await_pid("up");
    ::kill(tool.pid(), SIGHUP);
    ::kill(tool.pid(), SIGTERM); // comes later, and is passed on
    CHECK(tool.wait() == 128 + SIGTERM);
    await_end(command);
}

TEST_CASE("when the tool is killed, all that descends from the command dies")
{
    tool_scene scene;
    auto tool = scene.start({"run", "/signals/killed", "--", "sh", "-c", family});
    const family_ids ids(scene);
    ::kill(tool.pid(), SIGKILL);
    ids.await_ends();
    await_end(ids.keeper);
    CHECK(tool.wait() == 128 + SIGKILL);
}

TEST_CASE("when the keeper is killed, all that descends from the command dies, and the tool says so")
{
    tool_scene scene;
    auto tool = scene.start({"run", "/signals/keeper", "--", "sh", "-c", family});
    const family_ids ids(scene);
    CHECK(parent_of(ids.keeper) == tool.pid());
    ::kill(ids.keeper, SIGKILL);
    CHECK(tool.wait() == 125);
    for (const pid_t each : ids.all)
        CHECK_FALSE(lives(each));
    CHECK(scene.contents("output").find("killed") != std::string::npos);
    admin_client admin(server().port());
    CHECK(admin.children("/signals/keeper").empty());
}

TEST_CASE("the keeper is out of reach of what is sent to the groups of tool and command")
{
    tool_scene scene;
    auto tool = scene.start({"run", "/signals/groups", "--", "sh", "-c", family});
    const family_ids ids(scene);
    ::kill(-ids.all[0], SIGKILL); // the command's; the stranger is in another one
    CHECK(tool.wait() == 128 + SIGKILL);
    for (int i = 0; i < 3; ++i)
        CHECK_FALSE(lives(ids.all[static_cast<std::size_t>(i)]));
    CHECK(lives(ids.all[3])); // it has left the group, and nothing was lost: it may go on
    ::kill(ids.all[3], SIGKILL);
}

TEST_CASE("what the command leaves behind in its group has a while to end by itself, and then has to")
{
    tool_scene scene;
    // The first ends by itself when it has read a line, which comes after the command's end.
    auto patient = scene.start({"run", "--kill-after", "30", "--session-timeout", "120", "/signals/left", "--", "sh",
                                "-c", "mkfifo pipe; (read line <pipe; echo $line >late) & echo $$ >command"});
    const pid_t command = scene.await_pid("command");
    await_end(command);
    CHECK(patient.running());
    admin_client admin(server().port());
    CHECK(admin.children("/signals/left").size() == 1); // the lock is held meanwhile
    CHECK(scene.run_command({"sh", "-c", "echo by itself >pipe"}).status == 0);
    CHECK(patient.wait() == 0);
    CHECK(scene.contents("late") == "by itself\n");

    auto strict = scene.start(
        {"run", "/signals/left", "--", "sh", "-c",
         "sleep 1000 & echo $! >sleeper; (trap '' TERM; echo up >deaf.up; sleep 1000) & echo $! >deaf; exit 4"});
    CHECK(strict.wait() == 4);
    CHECK_FALSE(lives(scene.await_pid("sleeper")));
    CHECK_FALSE(lives(scene.await_pid("deaf")));
}
