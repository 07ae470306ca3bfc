#include "chaos/programs.hpp"

#include "chaos/nemesis.hpp"
#include "chaos/round_plan.hpp"
#include "support/failure_report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace zklock::chaos {
namespace {

std::vector<const nemesis*> choose(const std::vector<std::string>& names)
{
    std::vector<const nemesis*> chosen;
    for (const auto& n : all_nemeses())
        if (names.empty() || std::find(names.begin(), names.end(), n.what.name) != names.end())
            chosen.push_back(&n);
    return chosen;
}

std::vector<misfortune> misfortunes_of(const std::vector<const nemesis*>& all)
{
    std::vector<misfortune> what;
    for (const auto* n : all)
        what.push_back(n->what);
    return what;
}

class rounds {
public:
    explicit rounds(const rounds_options& options)
        : options_(options), random_(options.seed), nemeses_(choose(options.nemeses)),
          plan_(misfortunes_of(nemeses_), options.count, random_), begun_(test::steady_clock::now()),
          scene_({.members = options.members,
                  .clients = options.handoff ? 5U : 4U,
                  .seed = options.seed,
                  .handoff = options.handoff})
    {
    }

    int run()
    {
        const auto end =
            test::steady_clock::now() +
            std::chrono::duration_cast<milliseconds>(std::chrono::duration<double, std::ratio<60>>(options_.minutes));
        std::vector<std::string> found;
        std::string cut_short;
        bool played = false, ended_early = false;
        try {
            scene_.pass(milliseconds(1000));
            while (options_.count ? rounds_.size() < *options_.count : test::steady_clock::now() < end)
                round();
            scene_.pass(milliseconds(1000));
            played = true;
        } catch (const client_ended& e) {
            found.push_back(e.what());
            ended_early = true;
        } catch (const std::exception& e) {
            cut_short = e.what();
        }
        if (!played)
            try { // what they have done so far counts
                scene_.heal();
            } catch (const std::exception& e) {
                cut_short = e.what();
            }
        const bool ended_well = scene_.finish(found) && !ended_early;
        const bool all_ended = found.empty();
        auto h = scene_.take_history();
        try {
            scene_.take_commits(h);
        } catch (const std::exception& e) { // nothing can be said of them
            cut_short = e.what();
            played = false;
            for (auto& [number, p] : h.processes)
                p.commits.clear();
        }
        h.patience = in_nanoseconds(std::chrono::seconds(10));
        for (auto& v : violations(h))
            found.push_back(std::move(v));
        h.rounds = rounds_;
        const bool every_harm = options_.nemeses.empty() && rounds_.size() >= plan_.complete_after();
        std::vector<std::string> missing;
        if (played)
            missing = missing_in(h, {.handoff = options_.handoff, .every_harm = every_harm});
        const bool all_shown = missing.empty();
        found.insert(found.end(), missing.begin(), missing.end());
        report(h, found);
        if (!cut_short.empty())
            std::cout << "cut short: " << cut_short << std::endl;
        if (found.empty())
            return cut_short.empty() ? 0 : could_not_play;
        const bool differ = servers_differ();
        const bool excused = ended_well && all_shown && (all_ended || differ) && servers_may_have_caused(h, differ);
        return excused ? could_not_play : 1;
    }

private:
    std::uint64_t draw(std::uint64_t least, std::uint64_t most)
    {
        return std::uniform_int_distribution(least, most)(random_);
    }

    /// Until something has struck, all are healed, and somebody is granted a lock after that.
    void round()
    {
        auto& record = rounds_.emplace_back();
        record.begun = now();
        std::vector<const nemesis*> coming;
        for (const auto place : plan_.next()) {
            coming.push_back(nemeses_[place]);
            record.blows.push_back({coming.back()->what});
        }
        const auto session = static_cast<std::uint64_t>(scene_.chosen.session_timeout.count());
        const bool lasts = std::any_of(coming.begin(), coming.end(), [](const auto* n) { return n->what.lasts; });
        const milliseconds time(lasts ? draw(session * 5 / 4, session * 2) : draw(session / 8, session));
        const milliseconds calm(draw(100, session / 2));
        std::ostringstream line;
        for (const auto* n : coming)
            line << (n == coming.front() ? "" : " and ") << n->what.name;
        std::cout << std::fixed << std::setprecision(1) << std::setw(7) << elapsed() << " s  " << line.str() << " for "
                  << time.count() << " ms" << std::endl;
        const auto client = draw(0, scene_.chosen.clients - 1);
        if (draw(0, 2) != 0) // short holds rarely live to be lost
            scene_.make_hold_on(client);
        const auto look = [&] {
            for (auto& blow : record.blows)
                blow.struck = blow.struck || has_struck(blow.what, scene_, client);
        };
        std::vector<std::function<void()>> going_on;
        for (const auto* n : coming)
            if (auto f = n->strike(scene_, random_, client))
                going_on.push_back(std::move(f));
        const auto go_on = [&] {
            look();
            for (const auto& f : going_on)
                f();
        };
        const auto any_struck = [&record] {
            return std::any_of(record.blows.begin(), record.blows.end(), [](const auto& blow) { return blow.struck; });
        };
        scene_.pass(time, go_on);
        scene_.pass_until(any_struck, go_on);
        scene_.heal();
        const auto grants = scene_.grants();
        scene_.pass(calm);
        scene_.pass_until([&] { return scene_.grants() > grants; });
        record.ended = now();
    }

    [[nodiscard]] double elapsed() const
    {
        return std::chrono::duration<double>(test::steady_clock::now() - begun_).count();
    }

    /// See server_faults.hpp.
    bool servers_differ()
    {
        const auto members = scene_.different_members();
        for (const auto& line : members)
            std::cout << "The servers have different data: " << line << std::endl;
        return !members.empty();
    }

    void report(const history& h, const std::vector<std::string>& found)
    {
        std::map<std::string_view, std::size_t> struck;
        for (const auto& round : rounds_)
            for (const auto& blow : round.blows)
                struck[blow.what.name] += blow.struck;
        for (const auto& [name, count] : struck)
            std::cout << std::setw(28) << std::left << name << std::right << count << '\n';
        const auto s = summarise(h);
        std::cout << h.processes.size() << " processes, " << s.operations << " operations: " << s.grants << " granted, "
                  << s.timed_out << " timed out, " << s.cancelled << " cancelled, " << s.busy << " not tried further; "
                  << s.losses << " locks lost; " << s.accepted << " writes accepted, " << s.refused << " refused\n"
                  << s.refused_after_stop + s.accepted_after_stop
                  << " writes after a stop between look and write: " << s.refused_after_stop << " stale ones, refused; "
                  << s.accepted_after_stop << " while nobody had overtaken them\n";
        if (options_.handoff)
            std::cout << s.by_certificate << " grants by certificate; " << s.readers << " readers, " << s.downgrades
                      << " writers that read on; " << s.commits << " commits executed; " << s.tries
                      << " tries granted; " << s.several / 2 << " grants of several locks; " << s.lingered
                      << " nodes that lingered, " << s.shared << " passed on in a cohort\n";
        constexpr std::size_t shown = 40;
        for (std::size_t i = 0; i < std::min(shown, found.size()); ++i)
            std::cout << "VIOLATION " << found[i] << '\n';
        if (!found.empty()) {
            std::cout << scene_.output();
            for (std::size_t i = 0; i < scene_.ensemble.size(); ++i)
                std::cout << "The log of member " << i << " ended with:\n"
                          << test::tail_of(scene_.ensemble[i].log()) << '\n';
        }
        std::cout << std::fixed << std::setprecision(1) << rounds_.size() << " rounds, " << elapsed() << " s, "
                  << found.size() << " violations, --seed " << options_.seed << std::endl;
    }

    rounds_options options_;
    random_source random_;
    const std::vector<const nemesis*> nemeses_;
    round_plan plan_;
    test::steady_clock::time_point begun_;
    scene scene_;
    std::vector<round_record> rounds_;
};

} // namespace

int run_rounds(const rounds_options& options)
{
    rounds r(options);
    return r.run();
}

} // namespace zklock::chaos
