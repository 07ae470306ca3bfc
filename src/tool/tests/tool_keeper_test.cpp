// The keeper of zklock run: when it ends early, is stopped, or cannot do its work.
#include "tool/tests/tool_scene.hpp"

#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <utility>

using namespace zklock::test;

namespace {

/// A tool that waits behind somebody who holds the lock, with its keeper.
struct waiting_tool {
    waiting_tool(tool_scene& scene, const std::string& path, const std::vector<std::string>& command = {"true"},
                 const std::string& how = "run")
        : first(scene.start({"run", path}, "first"))
    {
        static_cast<void>(scene.await_line("first"));
        std::vector<std::string> arguments{how, path, "--"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        second = scene.start(std::move(arguments), "second");
        admin_client admin(server().port());
        wait_until("a queue of two", default_limit, [&] { return admin.children(path).size() == 2; });
        keeper = await_child(second.pid());
    }
    void let_go() { CHECK(zklock::test::let_go(first) == 0); }

    child_process first, second;
    pid_t keeper = 0;
};

/// The process has descriptors, and gets no more. Gives the limit that it had.
rlimit allow_no_descriptors(pid_t id)
{
    rlimit before{};
    REQUIRE(::prlimit(id, RLIMIT_NOFILE, nullptr, &before) == 0);
    const rlimit none{3, before.rlim_max};
    REQUIRE(::prlimit(id, RLIMIT_NOFILE, &none, nullptr) == 0);
    return before;
}

/// Until a process has taken all signals that it was sent.
void await_no_pending_signal(pid_t id)
{
    wait_until("no pending signal", default_limit, [id] {
        std::ifstream status("/proc/" + std::to_string(id) + "/status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("ShdPnd:"))
                return line.find_first_not_of("0\t", 7) == line.npos;
        return false;
    });
}

} // namespace

TEST_CASE("a keeper that dies while the tool waits ends the wait")
{
    tool_scene scene;
    waiting_tool waits(scene, "/keeper/waits");
    ::kill(waits.keeper, SIGKILL);
    CHECK(waits.second.wait() == 125);
    CHECK(scene.contents("second").find("keep watch") != std::string::npos);
    admin_client admin(server().port());
    CHECK(admin.children("/keeper/waits").size() == 1);
    waits.let_go();
    CHECK(admin.children("/keeper/waits").empty());
}

TEST_CASE("a keeper that cannot make a process says so")
{
    tool_scene scene;
    waiting_tool waits(scene, "/keeper/limit");
    allow_no_descriptors(waits.keeper);
    waits.let_go();
    CHECK(waits.second.wait() == 125);
    CHECK(scene.contents("second").find("cannot run true") != std::string::npos);
}

TEST_CASE("lead stands again when its keeper could not make a process: the next term may be better")
{
    tool_scene scene;
    waiting_tool leads(scene, "/keeper/lead", {"sh", "-c", "echo $$ >up; exec sleep 1000"}, "lead");
    const rlimit before = allow_no_descriptors(leads.keeper);
    leads.let_go();
    scene.await_text("second", "cannot run sh");
    REQUIRE(::prlimit(leads.keeper, RLIMIT_NOFILE, &before, nullptr) == 0);
    static_cast<void>(scene.await_line("up"));
    ::kill(leads.second.pid(), SIGTERM);
    CHECK(leads.second.wait() == 128 + SIGTERM);
}

TEST_CASE("what a stopped keeper was told, it does when it goes on")
{
    tool_scene scene;
    // The session is long: the signals below may take a while.
    auto tool = scene.start({"run", "--session-timeout", "120", "--kill-after", "2", "/keeper/full", "--", "sh", "-c",
                             "trap '' USR1; echo $$ >command; exec sleep 1000"});
    static_cast<void>(scene.await_pid("command"));
    const pid_t keeper = await_child(tool.pid());
    ::kill(keeper, SIGSTOP);
    for (int i = 0; i < 600; ++i) { // more than there is room for
        ::kill(tool.pid(), SIGUSR1);
        await_no_pending_signal(tool.pid());
    }
    ::kill(tool.pid(), SIGTERM);
    await_no_pending_signal(tool.pid());
    ::kill(keeper, SIGCONT);
    CHECK(tool.wait() == 128 + SIGTERM);
}

TEST_CASE("a keeper that was stopped for longer than a lease heeds all extensions that have come meanwhile")
{
    tool_scene scene;
    const auto session = std::chrono::seconds(12);
    auto tool = scene.start({"run", "--session-timeout", "12", "/keeper/late", "--", "sh", "-c",
                             "trap 'exit 5' USR1; echo $$ >command; while :; do sleep 1000 & wait; done"});
    static_cast<void>(scene.await_pid("command"));
    const pid_t keeper = await_child(tool.pid());
    ::kill(keeper, SIGSTOP);
    const auto until = steady_clock::now() + session; // no lease is longer
    wait_until("the end of the lease that the keeper knows", default_limit,
               [&] { return steady_clock::now() > until; });
    ::kill(keeper, SIGCONT);
    tool.signal(SIGUSR1);
    CHECK(tool.wait() == 5);
}

TEST_CASE("a keeper that cannot look at /proc takes nobody in the command's group for dead")
{
    tool_scene scene;
    auto tool = scene.start(
        {"run", "/keeper/blind", "--", "sh", "-c", "mkfifo go; sleep 1000 & echo $! >member; read line <go; exit 4"});
    const pid_t member = scene.await_pid("member");
    allow_no_descriptors(await_child(tool.pid()));
    CHECK(scene.run_command({"sh", "-c", "echo go >go"}).status == 0);
    CHECK(tool.wait() == 4);
    CHECK_FALSE(lives(member)); // it was stopped before the lock was given back
}

TEST_CASE("a process that has ended, and that nobody waits for, does not keep the lock")
{
    tool_scene scene;
    // The parent leaves the group, and the child that has ended stays in it.
    auto tool = scene.start({"run", "/keeper/zombie", "--", "sh", "-c",
                             "mkfifo up; perl -e 'if (!fork) { exit 0 } setpgrp(0, 0); "
                             "open(my $up, \">up\"); print $up \"$$\\n\"; close $up; sleep 1000' & "
                             "read parent <up; echo $parent >parent; exit 4"});
    CHECK(tool.wait() == 4);
    const pid_t parent = scene.await_pid("parent");
    CHECK(lives(parent)); // it has left the group, and nothing was lost: it may go on
    ::kill(parent, SIGKILL);
}

TEST_CASE("a keeper that somebody has stopped is woken: while the command runs, and when the tool ends")
{
    tool_scene scene;
    auto tool =
        scene.start({"run", "/keeper/woken", "--", "sh", "-c", "mkfifo go; echo $$ >command; read line <go; exit 4"});
    static_cast<void>(scene.await_pid("command"));
    ::kill(await_child(tool.pid()), SIGSTOP);
    CHECK(scene.run_command({"sh", "-c", "echo go >go"}).status == 0);
    CHECK(tool.wait() == 4);

    waiting_tool waits(scene, "/keeper/woken");
    ::kill(waits.keeper, SIGSTOP);
    waits.second.signal(SIGTERM);
    CHECK(waits.second.wait() == 128 + SIGTERM);
    waits.let_go();
}

TEST_CASE("a command that has become another user's cannot be killed, which is told at once")
{
    tool_scene scene;
    std::filesystem::permissions(scene.file("."), std::filesystem::perms(0755));
    const std::string nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
    const ended_tool possible =
        scene.run_command({"sh", "-c",
                           "cp \"$(command -v setpriv)\" as_root && chmod 4755 as_root && test \"$(" + nobody +
                               "./as_root --reuid=0 id -u)\" = 0 && " + nobody + tool_scene::program() + " --version"});
    if (possible.status != 0)
        return skip("a command of another user needs root: " + possible.text);
    auto tool =
        scene.start_command({"sh", "-c",
                             "exec " + nobody + tool_scene::program() + " run --server-tick 0.5 --kill-after 0.1 " +
                                 "/keeper/other -- ./as_root --reuid=0 sh -c 'echo $$ >command; exec sleep 1000'"});
    const pid_t command = scene.await_pid("command");
    tool.signal(SIGTERM);
    scene.await_text("output", "1 processes of the command are another user's");
    CHECK(scene.contents("output").find("cannot be killed\n") == std::string::npos); // which is told after 5 s
    CHECK(tool.running());
    CHECK(lives(command));
    ::kill(command, SIGKILL);
    CHECK(tool.wait() == 128 + SIGKILL);
}

TEST_CASE("without /proc a command is kept by its group, which is told at the start")
{
    tool_scene scene;
    const std::string hidden = "mount -t tmpfs none /proc && ";
    if (scene.run_command({"unshare", "-m", "sh", "-c", hidden + "true"}).status != 0)
        return skip("to hide /proc needs root");
    const ended_tool blind =
        scene.run_command({"unshare", "-m", "sh", "-c",
                           hidden + tool_scene::program() + " run --server-tick 0.5 --kill-after 0.1 /keeper/no_proc " +
                               "-- sh -c 'sleep 1000 & exit 4'"});
    CHECK(blind.status == 4);
    CHECK(blind.text.find("there is no /proc") != std::string::npos);
}
