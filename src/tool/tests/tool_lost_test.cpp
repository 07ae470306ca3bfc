// zklock run when the lock is lost: nothing of the command is left when the next one has the lock.
#include "tool/tests/tool_scene.hpp"

#include "support/proxy.hpp"
#include "support/skip.hpp"
#include "support/undisturbed.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <functional>
#include <optional>

using namespace zklock::test;

namespace {

/// A command that does not heed TERM, and its child that does not either.
const std::string deaf =
    "trap 'echo term >term' TERM; (trap '' TERM; echo up >child.up; exec sleep 1000) & echo $! >child; "
    "echo $$ >command; while :; do wait; done";

/// A command that heeds TERM, and its child that does not, and has left the group.
const std::string scattered =
    "trap 'echo term >term; exit 0' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >child; exec sleep 1000' & "
    "echo $$ >command; wait";

/// The cases that wait for the end of a lease have a short one.
const std::string short_session = "8";

/// Tells of each process in the files `command` and `child` that may go on: not of one that has KILL pending, or is on
/// its way out of the kernel. Those execute nothing of their program any more, however long a busy machine leaves them
/// there, or a busy disk.
const std::string look = R"sh(
    for each in $(cat command child); do
        cd /proc/$each 2>/dev/null || continue
        grep -qs '^State:.[^ZX]' status || continue
        grep -qs '^S[ih][gd]Pnd:.*[13579bdf]..$' status && continue
        flags=$(cut -d ' ' -f 9 stat 2>/dev/null)
        [ $((${flags:-4} & 4)) = 0 ] || continue
        echo "$each is alive: $(cat stat)"
    done
    echo had it
)sh";

/// Waits for the lock of the other, and says whether it finds anything of the other's command.
child_process start_next(tool_scene& scene, const std::string& path)
{
    return scene.start({"run", path, "--", "sh", "-c", look}, "next");
}

void expect_clean(tool_scene& scene, child_process next, timed_scene& noted)
{
    noted.expect(next.wait() == 0, "the next one does not end well");
    const std::string text = scene.contents("next");
    noted.expect(text.find("is alive") == std::string::npos, text + scene.contents("output"));
    noted.expect(text.find("had it") != std::string::npos, "the next one has not had the lock: " + text);
}

/// The promise is for a tool that is allowed to run: the lease leaves it a quarter of a second to be late in.
void play(const std::function<void(timed_scene&)>& scene)
{
    const std::string wrong = play_undisturbed(250ms, scene);
    CHECK(wrong == "");
}

/// A command with a child in another group, under a lock whose servers can be cut off, and the next one that waits for
/// that lock.
struct kept_command {
    explicit kept_command(const std::string& path)
        : tool(scene.start({"run", "--servers", link.address(), "--session-timeout", short_session, path, "--", "sh",
                            "-c", scattered}))
    {
        static_cast<void>(scene.await_pid("command"));
        static_cast<void>(scene.await_pid("child"));
        next = start_next(scene, path);
        keeper = await_child(tool.pid());
    }

    /// Cuts it off, until the next one has the lock.
    void expect_loss(timed_scene& noted)
    {
        link.block();
        expect_clean(scene, std::move(*next), noted);
    }

    tool_scene scene;
    proxy link{server().port()};
    child_process tool;
    std::optional<child_process> next;
    pid_t keeper = 0;
};

} // namespace

TEST_CASE("cut off from the servers: TERM, then KILL, all before anybody else has the lock")
{
    play([](timed_scene& noted) {
        tool_scene scene;
        proxy link(server().port());
        auto tool = scene.start({"run", "--servers", link.address(), "--session-timeout", short_session, "/lost/cut",
                                 "--", "sh", "-c", deaf});
        static_cast<void>(scene.await_pid("command"));
        static_cast<void>(scene.await_line("child.up"));
        auto next = start_next(scene, "/lost/cut");
        link.block();
        expect_clean(scene, std::move(next), noted);
        noted.expect(scene.contents("term") == "term\n", "there was no time after TERM");
        CHECK(tool.wait() == 123);
        const std::string said = scene.contents("output");
        CHECK(said.find("lost /lost/cut: lease_ended") != std::string::npos);
        noted.expect(said.find("when the lease had ended") == std::string::npos, said);
    });
}

TEST_CASE("a command that heeds TERM has the time that --kill-after gives it")
{
    tool_scene scene;
    proxy link(server().port());
    auto tool = scene.start(
        {"run", "--servers", link.address(), "--kill-after", "3", "/lost/tidy", "--", "sh", "-c",
         "trap 'sleep 1.5; echo tidied >tidied; exit 0' TERM; echo $$ >command; while :; do sleep 1000 & wait; done"});
    static_cast<void>(scene.await_pid("command"));
    link.block();
    CHECK(tool.wait() == 123);
    CHECK(scene.contents("tidied") == "tidied\n");
}

TEST_CASE("the tool is stopped, and cannot do anything: its keeper does")
{
    play([](timed_scene& noted) {
        tool_scene scene;
        auto tool = scene.start({"run", "--session-timeout", short_session, "/lost/stopped", "--", "sh", "-c", deaf});
        static_cast<void>(scene.await_pid("command"));
        static_cast<void>(scene.await_line("child.up"));
        auto next = start_next(scene, "/lost/stopped");
        tool.pause();
        expect_clean(scene, std::move(next), noted);
        tool.resume();
        CHECK(tool.wait() == 123);
    });
}

TEST_CASE("the keeper is stopped: the tool has it go on, and stop all that descends from the command")
{
    play([](timed_scene& noted) {
        kept_command kept("/lost/keeper");
        ::kill(kept.keeper, SIGSTOP);
        kept.expect_loss(noted);
        noted.expect(kept.scene.contents("term") == "term\n", "there was no time after TERM");
        CHECK(kept.tool.wait() == 123);
    });
}

TEST_CASE("the keeper is stopped by a debugger, and cannot go on: the tool does its work")
{
    play([](timed_scene& noted) {
        kept_command kept("/lost/debugger");
        if (::ptrace(PTRACE_SEIZE, kept.keeper, nullptr, nullptr) != 0 && errno == EPERM)
            return skip("no process may be traced here");
        REQUIRE(::ptrace(PTRACE_INTERRUPT, kept.keeper, nullptr, nullptr) == 0);
        int status = 0;
        REQUIRE(::waitpid(kept.keeper, &status, __WALL) == kept.keeper);
        CHECK(WIFSTOPPED(status));
        kept.expect_loss(noted);
        while (::waitpid(kept.keeper, &status, __WALL) == kept.keeper && WIFSTOPPED(status)) {
        }
        CHECK(WIFSIGNALED(status));
        CHECK(kept.tool.wait() == 123);
    });
}

TEST_CASE("tool and keeper are stopped, and the keeper goes on too late: no time is left for the command")
{
    tool_scene scene;
    auto tool = scene.start({"run", "--session-timeout", "10", "--kill-after", "4", "/lost/late", "--", "sh", "-c",
                             "trap 'sleep 2; echo late >late' TERM; echo $$ >command; while :; do wait; done"});
    const pid_t command = scene.await_pid("command");
    const pid_t keeper = await_child(tool.pid());
    tool.pause();
    ::kill(keeper, SIGSTOP);
    CHECK(scene.run({"run", "/lost/late", "--", "true"}).status == 0); // it has the lock when the session has ended
    ::kill(keeper, SIGCONT);
    await_end(command);
    CHECK(scene.contents("late").empty());
    tool.resume();
    CHECK(tool.wait() == 123);
    scene.await_text("output", "when the lease had ended"); // nobody could help it, and it is not hushed up
}

TEST_CASE("a stopped command is stopped for good in time, too")
{
    play([](timed_scene& noted) {
        tool_scene scene;
        proxy link(server().port());
        auto tool = scene.start({"run", "--servers", link.address(), "--session-timeout", short_session, "/lost/both",
                                 "--", "sh", "-c", "echo $$ >command; echo $$ >child; exec sleep 1000"});
        const pid_t command = scene.await_pid("command");
        ::kill(command, SIGSTOP);
        auto next = start_next(scene, "/lost/both");
        link.block();
        expect_clean(scene, std::move(next), noted);
        CHECK(tool.wait() == 123);
    });
}

TEST_CASE("its node is deleted, its session is ended by others")
{
    tool_scene scene;
    admin_client admin(server().port());
    auto tool = scene.start(
        {"run", "/lost/deleted", "--", "sh", "-c", "echo $ZKLOCK_NODE >node; echo $$ >command; exec sleep 1000"});
    const pid_t command = scene.await_pid("command");
    REQUIRE(admin.remove(scene.await_line("node")));
    CHECK(tool.wait() == 123);
    CHECK_FALSE(lives(command));
    CHECK(scene.contents("output").find("node_deleted") != std::string::npos);

    proxy link(server().port());
    auto other = scene.start(
        {"run", "--servers", link.address(), "/lost/expired", "--", "sh", "-c", "echo $$ >other; exec sleep 1000"},
        "expired");
    const pid_t its_command = scene.await_pid("other");
    link.expire_session();
    CHECK(other.wait() == 123);
    CHECK_FALSE(lives(its_command));
}

TEST_CASE("-v tells of a connection that is lost after the lock: of no time for which that can be held")
{
    tool_scene scene;
    admin_client admin(server().port());
    proxy link(server().port());
    auto tool = scene.start({"run", "-v", "--kill-after", "7", "--servers", link.address(), "/lost/both", "--", "sh",
                             "-c", "trap '' TERM; echo $ZKLOCK_NODE >node; until [ -e go ]; do sleep 0.1; done"});
    REQUIRE(admin.remove(scene.await_line("node")));
    scene.await_text("output", "lost /lost/both: node_deleted");
    link.cut();
    scene.await_text("output", "the connection to " + link.address() + " is lost");
    CHECK(scene.contents("output").find("can be held for") == std::string::npos);
    CHECK(scene.run_command({"touch", "go"}).status == 0);
    CHECK(tool.wait() == 123);
}

TEST_CASE("a short outage costs nothing")
{
    tool_scene scene;
    proxy link(server().port());
    auto tool = scene.start({"run", "--servers", link.address(), "--session-timeout", "20", "/lost/outage", "--", "sh",
                             "-c", "mkfifo pipe; echo $$ >command; read line <pipe; exit 6"});
    static_cast<void>(scene.await_pid("command"));
    link.cut();
    link.wait_accepted(2);
    CHECK(scene.run_command({"sh", "-c", "echo go >pipe"}).status == 0);
    CHECK(tool.wait() == 6);
}

TEST_CASE("without a command the loss is the status")
{
    tool_scene scene;
    admin_client admin(server().port());
    auto tool = scene.start({"run", "/lost/held"});
    const std::string line = scene.await_line("output");
    REQUIRE(admin.remove(line.substr(0, line.find(' '))));
    CHECK(tool.wait() == 123);
}

TEST_CASE("a session that the servers grant too short for --kill-after is refused, and the reason named")
{
    tool_scene scene;
    const ended_tool refused =
        scene.run({"run", "--kill-after", "100", "/lost/short", "--", "true"}); // they grant 120 s
    CHECK(refused.status == 120);
    CHECK(refused.text.find("120") != std::string::npos);
}
