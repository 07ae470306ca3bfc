#include "chaos/rounds.hpp"

#include "chaos/nemesis.hpp"
#include "support/failure_report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

namespace zklock::chaos {
namespace {

std::vector<const nemesis*> choose(victim whom, const std::vector<std::string>& names)
{
    std::vector<const nemesis*> chosen;
    for (const auto& n : all_nemeses())
        if (n.whom == whom && (names.empty() || std::find(names.begin(), names.end(), n.name) != names.end()))
            chosen.push_back(&n);
    return chosen;
}

class rounds {
public:
    explicit rounds(const rounds_options& options)
        : options_(options), random_(options.seed), begun_(test::steady_clock::now()),
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
        try {
            scene_.pass(milliseconds(1000));
            while (options_.count ? rounds_ < *options_.count : test::steady_clock::now() < end)
                round();
            scene_.pass(milliseconds(1000));
        } catch (const client_ended& e) {
            found.push_back(e.what());
        } catch (const std::exception& e) {
            cut_short = e.what();
        }
        if (!found.empty() || !cut_short.empty())
            try { // what they have done so far counts
                scene_.heal();
            } catch (const std::exception& e) {
                cut_short = e.what();
            }
        scene_.finish(found);
        auto h = scene_.take_history();
        h.patience = in_nanoseconds(std::chrono::seconds(10));
        for (auto& v : violations(h))
            found.push_back(std::move(v));
        for (auto& v : missing_in(summarise(h), options_.handoff))
            found.push_back(std::move(v));
        if (struck_.empty())
            found.push_back("nothing was shown: no misfortune came over anybody");
        report(h, found);
        if (!cut_short.empty())
            std::cout << "cut short: " << cut_short << std::endl;
        return !found.empty() ? 1 : !cut_short.empty() ? could_not_play : 0;
    }

private:
    std::uint64_t draw(std::uint64_t least, std::uint64_t most)
    {
        return std::uniform_int_distribution(least, most)(random_);
    }

    /// One misfortune of the servers, one of the clients, or both at once.
    void round()
    {
        ++rounds_;
        std::vector<const nemesis*> now;
        auto kinds = draw(1, 3);
        const std::uint64_t bits[]{1, 2};
        for (const auto whom : {victim::servers, victim::clients}) // who chooses --nemeses may have left one kind only
            if (choose(whom, options_.nemeses).empty())
                kinds = bits[whom == victim::servers];
        for (const auto whom : {victim::servers, victim::clients}) {
            const auto candidates = choose(whom, options_.nemeses);
            const auto pick = draw(0, 1'000'000);
            if (!candidates.empty() && (kinds & bits[whom == victim::clients]) != 0)
                now.push_back(candidates[pick % candidates.size()]);
        }
        const auto session = static_cast<std::uint64_t>(scene_.chosen.session_timeout.count());
        const bool lasts = std::any_of(now.begin(), now.end(), [](const auto* n) { return n->lasts; });
        const milliseconds time(lasts ? draw(session * 5 / 4, session * 2) : draw(session / 8, session));
        const milliseconds calm(draw(100, session / 2));
        std::vector<std::function<void()>> going_on;
        std::ostringstream line;
        for (const auto* n : now) {
            ++struck_[n->name];
            line << (n == now.front() ? "" : " and ") << n->name;
        }
        std::cout << std::fixed << std::setprecision(1) << std::setw(7) << elapsed() << " s  " << line.str() << " for "
                  << time.count() << " ms" << std::endl;
        const auto client = draw(0, scene_.chosen.clients - 1);
        if (draw(0, 2) != 0) // short holds rarely live to be lost
            scene_.make_hold_on(client);
        for (const auto* n : now)
            if (auto f = n->strike(scene_, random_, client))
                going_on.push_back(std::move(f));
        scene_.pass(time, [&] {
            for (const auto& f : going_on)
                f();
        });
        scene_.heal();
        scene_.pass(calm);
    }

    [[nodiscard]] double elapsed() const
    {
        return std::chrono::duration<double>(test::steady_clock::now() - begun_).count();
    }

    void report(const history& h, const std::vector<std::string>& found)
    {
        for (const auto& [name, count] : struck_)
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
                      << " writers that read on; " << s.commits << " commits executed\n";
        constexpr std::size_t shown = 40;
        for (std::size_t i = 0; i < std::min(shown, found.size()); ++i)
            std::cout << "VIOLATION " << found[i] << '\n';
        if (!found.empty()) {
            std::cout << scene_.output();
            for (std::size_t i = 0; i < scene_.ensemble.size(); ++i)
                std::cout << "The log of member " << i << " ended with:\n" << scene_.ensemble[i].log_tail() << '\n';
        }
        std::cout << std::fixed << std::setprecision(1) << rounds_ << " rounds, " << elapsed() << " s, " << found.size()
                  << " violations, --seed " << options_.seed << std::endl;
    }

    rounds_options options_;
    random_source random_;
    test::steady_clock::time_point begun_;
    scene scene_;
    std::size_t rounds_ = 0;
    std::map<std::string_view, std::size_t> struck_;
};

} // namespace

int run_rounds(const rounds_options& options)
{
    rounds r(options);
    return r.run();
}

} // namespace zklock::chaos
