#include "mutants/mutants.hpp"
#include "shrink.hpp"
#include "simulation.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <unistd.h>

namespace {

using namespace zklock;
using namespace zklock::simulator;

/// Each schedule of a run has a seed of its own, by which it can be repeated alone.
std::uint64_t seed_of(std::uint64_t first, std::uint64_t number)
{
    return first + number;
}

std::uint64_t seed_under_way = 0;

/// A crash of the code under test has to name its seed too.
void name_the_seed(int signal)
{
    char line[96];
    const int length = std::snprintf(line, sizeof line, "\nkilled by signal %d in the schedule of --seed %llu\n",
                                     signal, static_cast<unsigned long long>(seed_under_way));
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0)
        _exit(3);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

struct choice_of_run {
    std::vector<std::uint64_t> seeds;
    std::uint64_t schedules = 1000;
    double seconds = 0;
    std::string mutant;
    bool list_mutants = false;
    bool check_mutants = false;
    bool trace = false;
    bool no_shrinking = false;
    bool quiet = false;
    kind_of_plan kind;
    bool survey = false;
};

/// The beginning and the end of a long trace say most.
std::string shortened(const std::string& text)
{
    constexpr std::size_t head = 24'000;
    constexpr std::size_t tail = 16'000;
    if (text.size() <= head + tail)
        return text;
    const auto resume = text.find('\n', text.size() - tail);
    return text.substr(0, text.find('\n', head)) + "\n  ...\n" + text.substr(resume + 1);
}

int report(const plan& failed, const choice_of_run& chosen)
{
    const auto first = simulate(failed, false);
    std::cout << "VIOLATION with --seed " << failed.seed << " --schedules 1: " << first.violation << '\n';
    if (chosen.quiet)
        return 1;
    const auto smallest = chosen.no_shrinking ? failed : shrink(failed, std::chrono::seconds(10));
    const auto again = simulate(smallest, true);
    std::cout << "\nThe least that still fails:\n"
              << describe(smallest) << "\nWhat happens:\n"
              << shortened(again.trace) << again.violation << '\n';
    return 1;
}

const std::map<std::string, recipe> recipes{{"mutex", recipe::mutex},
                                            {"reentrant_mutex", recipe::reentrant_mutex},
                                            {"multi_lock", recipe::multi_lock},
                                            {"election", recipe::election},
                                            {"node_watch", recipe::node_watch},
                                            {"owned_shared_mutex", recipe::owned_shared_mutex},
                                            {"semaphore", recipe::semaphore},
                                            {"shared_mutex", recipe::shared_mutex},
                                            {"transaction", recipe::transaction},
                                            {"revocation", recipe::revocation}};

/// Whose users are to find a mutant: its name begins with the recipe's, except the mutex's. And what has to go wrong
/// for it, where that is rare otherwise.
kind_of_plan kind_for(std::string_view mutant)
{
    kind_of_plan kind;
    for (const auto& [name, which] : recipes)
        if (mutant.starts_with(name.substr(0, name.find('_')) + '_'))
            kind.which = which;
    if (mutant.find("handoff_") != mutant.npos)
        kind.peers = peer_life::alive;
    if (mutant == "container_of_a_lost_answer_taken_for_another") // two paths ask for one container at once
        kind = {.which = recipe::multi_lock, .peers = peer_life::alive};
    if (mutant == "shared_session_ended_by_one_server" || mutant == "node_watch_found_node_may_be_back")
        kind.peers = peer_life::alive;
    if (mutant == "lost_create_may_be_back")
        kind = {.which = recipe::reentrant_mutex, .peers = peer_life::alive};
    kind.closed_asleep = mutant == "semaphore_grant_told_after_the_loss";
    kind.stale_leaders = mutant == "lost_create_looked_for_once" || mutant == "refused_path_still_watched" ||
                         mutant == "found_node_missing_is_trusted";
    return kind;
}

/// Where a mutant that few schedules bring to light was found once.
const std::map<std::string_view, std::uint64_t> known_finds{
    {"caught_up_outlives_its_epoch", 900164},
    {"children_only_counted", 8716},
    {"container_of_a_lost_answer_taken_for_another", 43142933},
    {"czxid_of_an_earlier_node", 700009176},
    {"distrusted_session_keeps_its_lease", 20017167},
    {"epoch_begins_behind_a_sync", 914657},
    {"event_told_to_the_leaving_path_alone", 900306},
    {"found_node_missing_is_trusted", 9700002606},
    {"granted_by_what_was_known_of_old", 9600010538},
    {"handoff_by_number_not_name", 900412},
    {"handoff_comes_back_with_a_list", 1190},
    {"handoff_no_sync_after", 13920000005},
    {"heeds_every_number", 902859},
    {"lease_counts_refusals", 2678},
    {"lease_ignores_drift", 13940001237},
    {"list_dates_no_write", 9200022816},
    {"lost_create_looked_for_once", 8200059478},
    {"lost_create_may_be_back", 11000421347},
    {"missed_node_may_be_back", 9960425268},
    {"node_watch_found_node_may_be_back", 17002288579},
    {"node_watch_returned_unasked", 908693},
    {"node_watch_told_although_withdrawn", 900964},
    {"numbers_that_begin_again_ignored", 96535},
    {"numbers_used_up", 2487},
    {"only_the_parents_deletion_counts", 901831},
    {"own_node_missing_is_trusted", 2501},
    {"owned_granted_readers_stay_alone", 13930000039},
    {"refused_path_still_watched", 7872731377},
    {"renewed_by_what_lasts_alone", 5872907961},
    {"semaphore_attempts_without_end", 6355},
    {"semaphore_granted_without_the_line", 1001529},
    {"semaphore_watch_taken_back_before_its_list", 1592464640},
    {"shared_epoch_begins_behind_no_sync", 900233},
    {"shared_refused_downgrade_never_done", 13900004998},
    {"shared_refused_downgrade_outlives_its_parent", 2902862474},
    {"shared_session_ended_by_one_server", 16001157156},
    {"transaction_reads_behind_no_sync", 900274},
    {"try_waits_in_its_place", 901009},
    {"watch_left_on_the_server", 901168}};

/// What the mutant does wrong in that schedule, or nothing. It is the mutant's doing only if the schedule is right
/// without it.
std::string found_by(mutants::id which, std::uint64_t seed, const kind_of_plan& kind)
{
    seed_under_way = seed;
    const auto plan = make_plan(seed, kind);
    mutants::active = which;
    auto violation = simulate(plan, false).violation;
    mutants::active = mutants::id::none;
    return violation.empty() || simulate(plan, false).violation.empty() ? violation : std::string();
}

/// A number and not a time: what is found must not depend on the machine.
constexpr std::uint64_t schedules_for_a_mutant = 10'000;

/// Proof that the checkers bite: each mutant has to be found.
int check_mutants(std::uint64_t seed)
{
    int missed = 0;
    for (const auto& m : mutants::all) {
        std::string violation;
        std::uint64_t done = 0;
        if (const auto known = known_finds.find(m.name); known != known_finds.end())
            violation = found_by(m.which, known->second, kind_for(m.name));
        while (violation.empty() && done < schedules_for_a_mutant)
            violation = found_by(m.which, seed_of(seed, done++), kind_for(m.name));
        missed += violation.empty();
        std::cout << m.name << ": " << (violation.empty() ? "MISSED" : violation) << " (" << done << " schedules)\n";
    }
    std::cout << mutants::all.size() << " mutants, " << missed << " missed\n";
    return missed == 0 ? 0 : 1;
}

int run(const choice_of_run& chosen, std::uint64_t seed)
{
    if (!chosen.quiet)
        std::cout << "--seed " << seed << '\n';
    if (chosen.trace) {
        const auto p = make_plan(seed, chosen.kind);
        const auto v = simulate(p, true);
        std::cout << describe(p) << v.trace;
        if (!v.violation.empty())
            return report(p, chosen);
        std::cout << "no violation, " << v.events << " events, " << v.grants << " grants\n";
        return 0;
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::uint64_t overtaking = 0;
    std::uint64_t done = 0;
    std::map<std::string, std::pair<std::uint64_t, std::string>> kinds; // with an example
    for (; chosen.seconds > 0 ? spent() < chosen.seconds : done < chosen.schedules; ++done) {
        seed_under_way = seed_of(seed, done);
        const auto p = make_plan(seed_under_way, chosen.kind);
        const auto v = simulate(p, false);
        events += v.events;
        grants += v.grants;
        overtaking += v.overtaking;
        if (!v.violation.empty() && chosen.survey) {
            auto& [count, example] = kinds[kind_of(v.violation)];
            if (count++ == 0)
                example = "--seed " + std::to_string(p.seed) + ' ' + v.violation;
        } else if (!v.violation.empty()) {
            std::cout << "after " << done + 1 << " schedules and " << spent() << " s: ";
            return report(p, chosen);
        }
    }
    std::cout << done << " schedules, " << events << " events, " << grants << " grants ";
    if (overtaking != 0)
        std::cout << '(' << overtaking << " before the servers had done the release) ";
    std::cout << "in " << spent() << " s: " << (kinds.empty() ? "no violation" : "violations") << '\n';
    for (const auto& [kind, found] : kinds)
        std::cout << found.first << " x  " << found.second << '\n';
    return kinds.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    choice_of_run chosen;
    CLI::App app{
        "Runs the locks over a simulated ZooKeeper, under faults placed by chance, and checks what they promise.\n"
        "Exit status: 0 no violation, 1 a violation, 2 wrong usage."};
    app.add_option("--seed", chosen.seeds,
                   "of the first schedule, the next ones count up (default: random); of several, each in turn")
        ->envname("ZKLOCK_TEST_SEED");
    auto* const schedules = app.add_option("--schedules", chosen.schedules, "how many to run")->capture_default_str();
    app.add_option("--seconds", chosen.seconds, "how long to run, instead of a number")
        ->excludes(schedules)
        ->check(CLI::PositiveNumber);
    app.add_option("--mutant", chosen.mutant, "run with this fault in the locks");
    app.add_flag("--list-mutants", chosen.list_mutants, "the names --mutant knows");
    app.add_flag("--check-mutants", chosen.check_mutants, "whether each mutant is found");
    app.add_flag("--trace", chosen.trace, "show all that happens in the schedule of --seed");
    app.add_flag("--no-shrinking", chosen.no_shrinking, "show a failing schedule as it is");
    app.add_flag("--survey", chosen.survey, "go on after a violation, and say at the end how often each kind came");
    app.add_flag("--stale-leaders", chosen.kind.stale_leaders,
                 "leaders are paused too, and answer from the past when they wake");
    app.add_flag("--closed-asleep", chosen.kind.closed_asleep, "each client is paused, and closed before it goes on");
    bool has_peers = false;
    bool has_dead_peers = false;
    auto* const peers = app.add_flag("--peers", has_peers, "most clients tell each other what they let go");
    app.add_flag("--dead-peers", has_dead_peers,
                 "likewise, and nobody reaches anybody: everything has to be as without peers")
        ->excludes(peers);
    app.add_flag("--scarce-memory", chosen.kind.scarce_memory,
                 "clients fail now and then for want of memory, at any allocation of the library's");
    std::string recipe_name;
    app.add_option("--recipe", recipe_name,
                   "whose users act: mutex, reentrant_mutex, multi_lock, election, semaphore, shared_mutex, "
                   "owned_shared_mutex, transaction, revocation or node_watch (default: the mutant's, or mutex)")
        ->check(CLI::IsMember(recipes));
    app.add_flag("--quiet", chosen.quiet, "say only what came of it");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (chosen.list_mutants) {
        for (const auto& m : mutants::all)
            std::cout << m.name << '\n';
        return 0;
    }
    if (!chosen.mutant.empty() && !mutants::activate(chosen.mutant)) {
        std::cerr << "There is no mutant called " << chosen.mutant << ".\n";
        return 2;
    }
    if (has_peers)
        chosen.kind.peers = peer_life::alive;
    if (has_dead_peers)
        chosen.kind.peers = peer_life::dead;
    if (chosen.kind.peers == peer_life::none)
        chosen.kind.peers = kind_for(chosen.mutant).peers;
    chosen.kind.which = recipe_name.empty() ? kind_for(chosen.mutant).which : recipes.at(recipe_name);
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE})
        std::signal(signal, name_the_seed);
    if (chosen.seeds.empty())
        chosen.seeds.push_back(std::random_device{}());
    if (chosen.check_mutants)
        return check_mutants(chosen.seeds.front());
    int status = 0;
    for (const auto seed : chosen.seeds)
        status = std::max(status, run(chosen, seed));
    return status;
}
