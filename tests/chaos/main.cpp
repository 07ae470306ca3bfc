#include "chaos/nemesis.hpp"
#include "chaos/rounds.hpp"
#include "chaos/worker.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <random>
#include <string>

namespace {

using namespace zklock::chaos;

std::string names_of_nemeses()
{
    std::string all;
    for (const auto& n : all_nemeses())
        all += (all.empty() ? "" : ",") + std::string(n.name);
    return all;
}

CLI::Validator is_nemesis()
{
    return CLI::Validator(
        [](std::string& name) {
            for (const auto& n : all_nemeses())
                if (n.name == name)
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
    worker_options worker;
    CLI::App app{"Lets client processes compete for locks on a real ensemble while misfortunes come over all of them, and "
                 "checks what the locks promise.\nExit status: 0 no violation, 1 a violation, 2 wrong usage."};
    app.add_option("--minutes", rounds.minutes, "how long, fractions too")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of the choice of misfortunes (default: random)");
    app.add_option("--members", rounds.members, "servers of the ensemble")->capture_default_str()->check(CLI::IsMember({3, 5}));
    app.add_option("--nemeses", rounds.nemeses, "only these of: " + names_of_nemeses())->delimiter(',')->check(is_nemesis());

    auto* const as_worker = app.add_subcommand("worker", "one client process, as the program starts them itself")->group("");
    as_worker->add_option("--servers", worker.servers)->required();
    as_worker->add_option("--events", worker.events)->required();
    as_worker->add_option("--resource", worker.resource)->required();
    as_worker->add_option("--process", worker.process)->required();
    as_worker->add_option("--seed", worker.seed)->required();
    as_worker->add_option("--session-timeout", worker.session_timeout)->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        if (*as_worker)
            return run_worker(worker);
        rounds.seed = seed ? *seed : std::random_device{}();
        std::cout << "--seed " << rounds.seed << std::endl;
        return run_rounds(rounds);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
