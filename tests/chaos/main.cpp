#include "chaos/nemesis.hpp"
#include "chaos/programs.hpp"
#include "chaos/worker.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>

namespace {

using namespace zklock::chaos;

std::string names_of_nemeses()
{
    std::string all;
    for (const auto& n : all_nemeses())
        all += (all.empty() ? "" : ",") + std::string(n.what.name);
    return all;
}

CLI::Validator is_nemesis()
{
    return CLI::Validator(
        [](std::string& name) {
            for (const auto& n : all_nemeses())
                if (n.what.name == name)
                    return std::string();
            return "there is no nemesis called " + name;
        },
        "", "nemesis");
}

} // namespace

int main(int argc, char** argv)
{
    rounds_options rounds;
    std::optional<std::uint64_t> seed;
    cut_offs_options cut_offs;
    worker_options worker;
    holders_options holders;
    CLI::App app{
        "Lets client processes compete for locks on a real ensemble while misfortunes come over all of them, and "
        "checks what the locks promise.\nExit status: 0 no violation, 1 a violation, 2 wrong usage, 3 it could not be "
        "played."};
    app.add_option("--minutes", rounds.minutes, "how long, fractions too")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--rounds", rounds.count, "how many rounds, in place of --minutes: so a slow machine plays no fewer")
        ->check(CLI::PositiveNumber);
    app.add_flag("--handoff", rounds.handoff,
                 "five clients that tell each other past the servers, with lingering, cohorts, readers, writers that "
                 "read on, several locks as one, and guarded commits");
    app.add_option("--seed", seed, "of the choice of misfortunes (default: random)")->envname("ZKLOCK_TEST_SEED");
    app.add_option("--members", rounds.members, "servers of the ensemble")
        ->capture_default_str()
        ->check(CLI::IsMember({3, 5}));
    app.add_option("--nemeses", rounds.nemeses, "only these of: " + names_of_nemeses())
        ->delimiter(',')
        ->check(is_nemesis());

    auto* const as_cut_offs =
        app.add_subcommand("cut-offs", "cut holders off, and measure how early they are told of the loss");
    as_cut_offs->add_option("--cuts", cut_offs.cuts, "how many")->capture_default_str()->check(CLI::PositiveNumber);
    as_cut_offs->add_option("--at-once", cut_offs.at_once, "how many in one go")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    as_cut_offs->add_option("--tick", cut_offs.tick, "of the servers, in milliseconds")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    as_cut_offs->add_option("--session-ticks", cut_offs.session_ticks, "the session's time-out in ticks")
        ->capture_default_str()
        ->check(CLI::Range(1.25, 1000.0));
    as_cut_offs->add_option("--sync-limit", cut_offs.sync_limit, "of the servers, in ticks")
        ->capture_default_str()
        ->check(CLI::Range(2, 100));
    as_cut_offs
        ->add_option("--where", cut_offs.where,
                     "client: between holder and servers; follower: between the holder's server and the leader; "
                     "leader: the holder's server is the leader, and is cut off from the others at the worst moment; "
                     "stale-leader: the holder's server is the leader, and is paused; "
                     "woken-leader: it is paused until others took over, and cut off as soon as it wakes")
        ->capture_default_str()
        ->check(CLI::IsMember({"client", "follower", "leader", "stale-leader", "woken-leader"}));
    as_cut_offs->add_flag(
        "--lease-only", cut_offs.lease_only,
        "for a machine whose processes wait for the processor: the margin is asked of the end of the lease, "
        "and of the holder only that it is told before the next has the lock");
    as_cut_offs->add_flag("--young", cut_offs.young, "cut as soon as the lock is held");

    auto* const as_stale_write = app.add_subcommand(
        "stale-write", "stop a holder between its look at the guard and its write, until another has written");

    auto* const as_holders = app.add_subcommand("holders", "processes of the cut-offs")->group("");
    as_holders->add_option("--servers", holders.servers)->required()->take_all();
    as_holders->add_option("--events", holders.events)->required();
    as_holders->add_option("--session-timeout", holders.session_timeout)->required();
    as_holders->add_option("--server-tick", holders.server_tick)->required();

    auto* const as_worker =
        app.add_subcommand("worker", "one client process, as the program starts them itself")->group("");
    as_worker->add_option("--servers", worker.servers)->required();
    as_worker->add_option("--events", worker.events)->required();
    as_worker->add_option("--log", worker.log)->required();
    as_worker->add_option("--resource", worker.resource)->required();
    as_worker->add_option("--process", worker.process)->required();
    as_worker->add_option("--seed", worker.seed)->required();
    as_worker->add_flag("--handoff", worker.handoff);
    as_worker->add_option("--session-timeout", worker.session_timeout)->required();
    as_worker->add_option("--server-tick", worker.server_tick)->required();
    for (auto* each : {as_cut_offs, as_stale_write})
        each->fallthrough(); // --seed may come after them, too
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        if (*as_worker)
            return run_worker(worker);
        if (*as_holders)
            return run_holders(holders);
        cut_offs.seed = rounds.seed = seed ? *seed : std::random_device{}();
        std::cout << "--seed " << rounds.seed << std::endl;
        if (*as_cut_offs)
            return run_cut_offs(cut_offs);
        if (*as_stale_write)
            return run_stale_write(rounds.seed);
        return run_rounds(rounds);
    } catch (const client_ended& e) {
        std::cerr << "VIOLATION " << e.what() << '\n';
        return 1;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return *as_worker || *as_holders ? 1 : could_not_play;
    }
}
