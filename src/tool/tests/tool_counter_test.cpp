// time limit: 600 s
// Fifty processes count in a file, each step in a lock of its own, while holders are killed: no step is lost.
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

using namespace zklock::test;

namespace {

constexpr int workers = 50;
constexpr int steps = 20;
constexpr int kills = 10;
constexpr int session = 6; ///< in seconds
/// Of a lease of such a session, 1.5 s can be without the servers: a busy machine may take longer, now and then.
constexpr int tolerated_losses = 20;

/// Adds one, unless this very step was done already by an attempt that was killed after that. What is read and what is
/// written are two moments, and a number that two have read at a time would be written twice.
const std::string step = R"(
    { read number; read done; } <number
    case " $done " in *" $STEP "*) exit 0;; esac
    printf '%s\n%s\n' $((number + 1)) "$done $STEP" >number.$$ && mv number.$$ number
)";

std::string work(int worker)
{
    return "for i in $(seq " + std::to_string(steps) + "); do export STEP=" + std::to_string(worker) + ".$i; until '" +
           tool_scene::program() + "' run --server-tick 0.5 --session-timeout " + std::to_string(session) +
           " --connect-timeout 60 -c /counter -- \"$CODE\"; do echo $? $STEP >>attempts; done; done";
}

struct queued {
    std::string node;
    pid_t process = 0;
};

/// Who is first in the queue, and its process, from its identifier, which is host:pid.
std::optional<queued> holder_of(admin_client& admin)
{
    std::vector<std::string> queue = admin.children("/counter");
    if (queue.empty())
        return std::nullopt;
    const auto first =
        std::ranges::min_element(queue, {}, [](const std::string& name) { return name.substr(name.size() - 10); });
    try {
        const std::string node = "/counter/" + *first;
        const std::string identifier = admin.get(node);
        return queued{node, static_cast<pid_t>(std::stoi(identifier.substr(identifier.rfind(':') + 1)))};
    } catch (const zookeeper_error&) {
        return std::nullopt; // it has gone meanwhile
    }
}

/// Kills a process if it is still one of the program: its number may be somebody else's by now. Whether it was.
bool kill_tool(pid_t id)
{
    const unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, id, 0U))};
    if (!process)
        return false;
    std::ifstream comm("/proc/" + std::to_string(id) + "/comm");
    std::string name;
    std::getline(comm, name);
    return name == "zklock" && ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0U) == 0;
}

/// How many attempts have ended with each status but 0.
std::map<int, int> failed_attempts(const tool_scene& scene)
{
    std::map<int, int> counts;
    std::istringstream lines(scene.contents("attempts"));
    int status = 0;
    for (std::string step_of; lines >> status >> step_of;)
        ++counts[status];
    return counts;
}

int number_in(const tool_scene& scene)
{
    std::istringstream text(scene.contents("number"));
    int number = 0;
    text >> number;
    return number;
}

} // namespace

TEST_CASE("fifty processes, twenty steps each, and holders that are killed: a thousand")
{
    tool_scene scene;
    std::ofstream(scene.file("number")) << "0\n\n";
    ::setenv("CODE", step.c_str(), 1);
    std::vector<child_process> running;
    for (int worker = 0; worker < workers; ++worker)
        running.push_back(scene.start_command({"bash", "-c", work(worker)}, "worker." + std::to_string(worker)));

    admin_client admin(server().port());
    std::minstd_rand random(std::random_device{}());
    using seconds = std::chrono::duration<double>;
    seconds longest_end{0}, longest_step{0};
    for (int killed = 0; killed < kills; ++killed) {
        // Somewhere in the middle of things: after some more steps.
        const int until =
            std::min(number_in(scene) + static_cast<int>(random() % 80), workers * steps * (killed + 1) / (kills + 1));
        wait_until("more steps", std::chrono::minutes(5), [&] { return number_in(scene) >= until; });
        std::string node;
        wait_until("a holder", std::chrono::minutes(1), [&] {
            REQUIRE(number_in(scene) < workers * steps);
            const auto holder = holder_of(admin);
            node = holder ? holder->node : std::string();
            return holder && kill_tool(holder->process);
        });
        const auto killed_at = steady_clock::now();
        wait_until("the end of its node", std::chrono::minutes(2), [&] { return !admin.exists(node).has_value(); });
        const auto gone_at = steady_clock::now();
        const int before = number_in(scene);
        wait_until("the next step", std::chrono::minutes(2),
                   [&] { return number_in(scene) > before || number_in(scene) == workers * steps; });
        longest_end = std::max(longest_end, seconds(gone_at - killed_at));
        longest_step = std::max(longest_step, seconds(steady_clock::now() - gone_at));
        admin.keep_alive();
    }
    for (child_process& each : running)
        CHECK(each.wait(std::chrono::minutes(5)) == 0);

    std::istringstream text(scene.contents("number"));
    int number = 0;
    std::set<std::string> done;
    text >> number;
    for (std::string each; text >> each;)
        CHECK(done.insert(each).second);
    CHECK(number == workers * steps);
    CHECK(done.size() == workers * steps);
    std::map<int, int> attempts = failed_attempts(scene);
    MESSAGE("after a kill, with sessions of ", session, " s, the node had gone after ", longest_end.count(),
            " s at the latest, and there was a step ", longest_step.count(),
            " s later; attempts that were killed: ", attempts[128 + SIGKILL],
            ", that have lost the lock: ", attempts[123]);
    CHECK(attempts[128 + SIGKILL] <= kills);
    CHECK(attempts[123] <= tolerated_losses);
    for (const auto& [status, count] : attempts)
        CHECK_MESSAGE((status == 128 + SIGKILL || status == 123), count, " attempts have ended with ", status);
    // The server ends a session up to a tick after its time, and counts that from the last heartbeat, which may come up
    // to a tick late. What a busy machine adds comes on top of that.
    CHECK(longest_end < std::chrono::seconds(session + 1 + 15));
    CHECK(longest_step < std::chrono::seconds(15));
    CHECK(admin.children("/counter").empty());
}
