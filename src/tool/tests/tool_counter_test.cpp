// time limit: 600 s
// Fifty processes count in a file, each step in a lock of its own, while holders are killed: no step is lost.
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

using namespace zklock::test;

namespace {

constexpr int workers = 50;
constexpr int steps = 20;
constexpr int kills = 12;

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
           tool_scene::program() +
           "' run --server-tick 0.5 --session-timeout 2 --connect-timeout 60 -c /counter -- \"$CODE\"; "
           "do echo again $STEP $? >>attempts; done; done";
}

/// The process that is first in the queue, from its identifier, which is host:pid.
pid_t holder_of(admin_client& admin)
{
    std::vector<std::string> queue = admin.children("/counter");
    if (queue.empty())
        return 0;
    const auto first =
        std::ranges::min_element(queue, {}, [](const std::string& name) { return name.substr(name.size() - 10); });
    try {
        const std::string identifier = admin.get("/counter/" + *first);
        return static_cast<pid_t>(std::stoi(identifier.substr(identifier.rfind(':') + 1)));
    } catch (const zookeeper_error&) {
        return 0; // it has gone meanwhile
    }
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
    std::chrono::duration<double> longest{0};
    for (int killed = 0; killed < kills;) {
        // Somewhere in the middle of things: after some more steps.
        const int until =
            std::min(number_in(scene) + static_cast<int>(random() % 80), workers * steps * (killed + 1) / (kills + 1));
        wait_until("more steps", std::chrono::minutes(5), [&] { return number_in(scene) >= until; });
        const pid_t holder = holder_of(admin);
        if (holder <= 0 || ::kill(holder, SIGKILL) != 0)
            continue;
        ++killed;
        const int before = number_in(scene);
        const auto began = steady_clock::now();
        wait_until("the next step", std::chrono::minutes(5),
                   [&] { return number_in(scene) > before + 1 || number_in(scene) == workers * steps; });
        longest = std::max(longest, std::chrono::duration<double>(steady_clock::now() - began));
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
    MESSAGE("the longest wait after a kill: ", longest.count(), " s, with sessions of 2 s; attempts that were killed: ",
            std::ranges::count(scene.contents("attempts"), '\n'));
    CHECK(longest.count() < 10); // the session, a tick, and what a busy machine adds
    CHECK(admin.children("/counter").empty());
}
