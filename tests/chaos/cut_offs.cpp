#include "chaos/programs.hpp"

#include "chaos/leader_cut.hpp"
#include "chaos/worker.hpp"
#include "support/four_letter_words.hpp"
#include "support/undisturbed.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace zklock::chaos {
namespace {

struct noted {
    instant at = 0;
    std::int64_t token = 0;
    instant lease = 0;
};

/// A process of run_holders().
class holders_process {
public:
    holders_process(const std::vector<std::string>& servers, std::int64_t session_timeout, std::int64_t tick)
    {
        std::vector<std::string> command{this_program(), "holders", "--events=" + file("events").string(),
                                         "--session-timeout=" + std::to_string(session_timeout),
                                         "--server-tick=" + std::to_string(tick)};
        for (const auto& s : servers)
            command.push_back("--servers=" + s);
        process_ = test::child_process(command, directory_.path(), file("output"));
    }

    /// What it has noted so far, by the number of the client.
    [[nodiscard]] std::map<unsigned, noted> notes(const std::string& wanted)
    {
        if (!process_.running())
            throw client_ended("a process of holders ended");
        std::map<unsigned, noted> found;
        std::ifstream in(file("events"));
        std::string what;
        unsigned number = 0;
        for (noted n; in >> what >> number >> n.at >> n.token >> n.lease;)
            if (what == wanted)
                found.emplace(number, n);
        return found;
    }
    void wait_for(const std::string& what, std::size_t count)
    {
        test::wait_until(std::to_string(count) + " are " + what, test::default_limit,
                         [&] { return notes(what).size() >= count; });
    }
    void end()
    {
        process_.signal(SIGTERM);
        process_.wait();
    }

private:
    [[nodiscard]] std::filesystem::path file(const char* name) const { return directory_.path() / name; }

    test::temporary_directory directory_;
    test::child_process process_;
};

void pass_until(instant when)
{
    while (now() < when)
        ::poll(nullptr, 0, static_cast<int>(std::min<instant>((when - now()) / 1'000'000 + 1, 50)));
}

double in_milliseconds(instant time)
{
    return static_cast<double>(time) / 1e6;
}

struct figures {
    std::vector<double> values;

    void add(instant time) { values.push_back(in_milliseconds(time)); }
    [[nodiscard]] double least() const { return *std::min_element(values.begin(), values.end()); }
    void print(const char* what)
    {
        if (values.empty())
            return;
        std::sort(values.begin(), values.end());
        std::cout << std::fixed << std::setprecision(1) << std::setw(44) << std::left << what << std::right << " min "
                  << std::setw(8) << values.front() << "  median " << std::setw(8) << values[values.size() / 2]
                  << "  max " << std::setw(8) << values.back() << " ms\n";
    }
};

class cut_offs {
public:
    explicit cut_offs(const cut_offs_options& options)
        : options_(options), random_(options.seed),
          timeout_(static_cast<std::int64_t>(static_cast<double>(options.tick) * options.session_ticks)),
          ensemble_(3, ticks(), route()),
          leader_cut_(net_, ensemble_, milliseconds(options.tick), options.sync_limit, random_)
    {
    }

    int run()
    {
        constexpr int attempts = 5;
        for (std::size_t done = 0; done < options_.cuts; done += options_.at_once)
            for (int attempt = 1; !batch(std::min(options_.at_once, options_.cuts - done)); ++attempt) {
                std::cout << "a holder lost its lock before it was cut off: once more" << std::endl;
                test::premise(attempt < attempts, "the machine is too slow for such sessions");
            }
        std::cout << told_before_.values.size() << " holders cut off, sessions of " << timeout_ << " ms, ticks of "
                  << options_.tick << " ms, where: " << options_.where << (options_.young ? ", young sessions" : "")
                  << '\n';
        if (cuts_of_leaders_ != 0)
            std::cout << cuts_of_leaders_ << " cuts of leaders; after " << early_ones_
                      << " of them the sessions ended as early as they could\n";
        told_before_.print("told before the next was granted");
        lease_before_.print("the lease ended before the next was granted");
        after_cut_.print("told after the cut");
        granted_after_cut_.print("the next was granted after the cut");
        second_.print("granted on the word of a leader that is none");
        const double margin = std::max(0.21 * static_cast<double>(timeout_), static_cast<double>(options_.tick));
        std::cout << "stated margin: " << margin << " ms; told less than that before: "
                  << std::count_if(told_before_.values.begin(), told_before_.values.end(),
                                   [&](double v) { return v < margin; })
                  << "; not before at all: "
                  << std::count_if(told_before_.values.begin(), told_before_.values.end(),
                                   [](double v) { return v <= 0; })
                  << std::endl;
        const double wanted = options_.where == "client" && !options_.young ? margin : 0;
        const bool in_time =
            told_before_.least() > (options_.lease_only ? 0 : wanted) && lease_before_.least() > wanted;
        return in_time && second_.values.empty() ? 0 : 1;
    }

private:
    [[nodiscard]] test::server_options ticks() const
    {
        const std::string limit = "syncLimit=" + std::to_string(options_.sync_limit);
        auto all = servers_with_ticks(milliseconds(options_.tick), {limit});
        all.min_session_timeout = std::min(all.min_session_timeout, milliseconds(timeout_));
        return all;
    }
    [[nodiscard]] test::peer_route route()
    {
        return [this](std::size_t from, std::size_t to, std::uint16_t port) { return net_.route(from, to, port); };
    }
    instant draw(std::int64_t most_milliseconds)
    {
        return std::uniform_int_distribution<instant>(0, most_milliseconds * 1'000'000)(random_);
    }
    /// Or until a holder has lost its lock.
    void until_queued(std::uint16_t port, std::size_t count, std::size_t contenders, holders_process& holder)
    {
        test::admin_client admin(port, milliseconds(60'000));
        for (unsigned n = 0; n < count; ++n)
            test::wait_until("all are in the queue", test::default_limit, [&] {
                admin.sync("/");
                return admin.children(path_of(n)).size() == contenders || !holder.notes("lost").empty();
            });
    }

    /// Others have taken over when the leader wakes; the clients reach it in the moment before it notices, and then
    /// nobody any more.
    void wake(std::size_t leader, std::size_t count)
    {
        for (std::size_t other = 0; other < ensemble_.size(); ++other)
            if (other != leader)
                net_.cut(leader, other);
        test::wait_until("another leads", test::default_limit, [&] {
            for (std::size_t other = 0; other < ensemble_.size(); ++other)
                if (other != leader && test::server_mode(ensemble_[other].port()) == "leader")
                    return true;
            return false;
        });
        pass_until(now() + 1'500'000'000);
        for (std::size_t n = 0; n < count; ++n)
            net_.reset(first_site + n, leader);
        pass_until(now() + 300'000'000);
        ensemble_[leader].resume();
        pass_until(now() + options_.tick * 1'000'000);
        for (std::size_t n = 0; n < count; ++n)
            net_.cut(first_site + n, leader);
    }

    /// False if a holder lost its lock before it was cut off, because the machine did not let it run.
    bool batch(std::size_t count)
    {
        const auto leader = ensemble_.leader();
        const auto follower = (leader + 1) % 3;
        const auto other = (leader + 2) % 3;
        const auto of_holder = options_.where == "follower" ? follower : leader;
        std::vector<std::string> to_holder, to_next;
        for (test::network::site n = 0; n < count; ++n) {
            to_holder.push_back("127.0.0.1:" +
                                std::to_string(net_.route(first_site + n, of_holder, ensemble_[of_holder].port())));
            to_next.push_back(ensemble_[other].address());
        }
        if (options_.where == "leader")
            leader_cut_.prepare(leader);
        holders_process holder(to_holder, timeout_, options_.tick);
        holder.wait_for("held", count);
        // One that is cut off young must not have to wait until the next is there.
        const auto begun = now();
        std::vector<std::pair<instant, std::size_t>> cuts;
        for (std::size_t n = 0; n < count; ++n)
            cuts.emplace_back(draw(timeout_ / 2), n);
        std::sort(cuts.begin(), cuts.end());
        std::map<unsigned, instant> cut_at;
        const auto cut = [&](std::size_t n) {
            net_.cut(first_site + n, of_holder);
            cut_at[static_cast<unsigned>(n)] = now();
        };
        if (options_.young)
            for (std::size_t n = 0; n < count; ++n)
                cut(n);
        // A leader that is cut off must not end the sessions of those who wait. That is a write, which never succeeds
        // there, and the leader answers no sync meanwhile.
        holders_process next(to_next,
                             options_.where == "leader" ? 4 * options_.tick * (options_.sync_limit + 2) : timeout_,
                             options_.tick);
        if (!options_.young)
            until_queued(ensemble_[other].port(), count, 3, holder); // two of each holder, one of the next
        if (options_.where != "client")
            pass_until(begun + timeout_ * 1'000'000 + draw(timeout_ / 2));
        if (!options_.young && !holder.notes("lost").empty()) {
            holder.end();
            next.end();
            return false;
        }
        if (options_.where == "client" && !options_.young) {
            const auto from = std::max(now(), begun + timeout_ * 1'000'000);
            for (const auto& [phase, n] : cuts) {
                pass_until(from + phase);
                cut(n);
            }
        } else if (options_.where != "client") {
            if (options_.where == "follower")
                net_.cut(follower, leader);
            else if (options_.where == "leader")
                leader_cut_.cut();
            else
                ensemble_[leader].pause();
            if (options_.where == "woken-leader")
                wake(leader, count);
            for (unsigned n = 0; n < count; ++n)
                cut_at[n] = now();
        }
        next.wait_for("held", count);
        if (options_.where == "stale-leader") {
            ensemble_[leader].resume();
            pass_until(now() + timeout_ * 1'000'000);
        }
        holder.wait_for("lost", count);
        const auto lost = holder.notes("lost");
        const auto granted = next.notes("held");
        const auto nexts_lost = next.notes("lost");
        const auto seconds = holder.notes("held-second");
        for (const auto& [n, l] : lost) {
            const auto& g = granted.at(n);
            told_before_.add(g.at - l.at);
            lease_before_.add(g.at - l.lease);
            after_cut_.add(l.at - cut_at.at(n));
            granted_after_cut_.add(g.at - cut_at.at(n));
            if (const auto s = seconds.find(n); s != seconds.end() && s->second.at > g.at && !nexts_lost.contains(n))
                second_.add(s->second.at - g.at);
        }
        net_.heal_all();
        ensemble_.wait_all();
        if (options_.where == "leader") {
            const auto first = std::min_element(granted.begin(), granted.end(),
                                                [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
            early_ones_ += leader_cut_.learn(first->second.at, milliseconds(timeout_));
            ++cuts_of_leaders_;
        }
        holder.end();
        next.end();
        return true;
    }

    static constexpr test::network::site first_site = 100;

    cut_offs_options options_;
    random_source random_;
    std::int64_t timeout_; ///< milliseconds
    test::network net_;
    test::zookeeper_ensemble ensemble_;
    leader_cut leader_cut_;
    std::size_t cuts_of_leaders_ = 0, early_ones_ = 0;
    figures told_before_, lease_before_, after_cut_, granted_after_cut_, second_;
};

} // namespace

int run_cut_offs(const cut_offs_options& options)
{
    cut_offs c(options);
    return c.run();
}

} // namespace zklock::chaos
