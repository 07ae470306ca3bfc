#include "chaos/history.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace zklock::chaos {
namespace {

/// From the grant to the end of the belief in it.
struct tenure {
    int process;
    unsigned number;
    const operation* what;
    instant from, until;
    instant alone_until; ///< `from` if it never excludes others
};

std::string name(int process, unsigned number)
{
    return "process " + std::to_string(process) + " operation " + std::to_string(number);
}

std::string milliseconds_between(instant from, instant to)
{
    std::ostringstream out;
    out << static_cast<double>(to - from) / 1e6 << " ms";
    return out.str();
}

/// The stretch of [from, until] that a process was not allowed to run.
instant paused(const process_history& p, instant from, instant until)
{
    instant sum = 0;
    for (const auto& [begin, end] : p.pauses)
        sum += std::max<instant>(0, std::min(end, until) - std::max(begin, from));
    return sum;
}

std::string name(const round_record& r)
{
    std::string all;
    for (const auto& blow : r.blows)
        all += (all.empty() ? "" : " and ") + std::string(blow.what.name);
    return all;
}

std::size_t grants_in(const history& h, const round_record& r)
{
    std::size_t grants = 0;
    for (const auto& [number, p] : h.processes)
        for (const auto& [n, o] : p.operations)
            grants += o.outcome == "granted" && o.ended >= r.begun && o.ended <= r.ended;
    return grants;
}

std::size_t blows_of(const history& h, victim whom, harm how)
{
    std::size_t struck = 0;
    for (const auto& r : h.rounds)
        for (const auto& blow : r.blows)
            struck += blow.struck && blow.what.whom == whom && blow.what.how == how;
    return struck;
}

/// One that was let go before this acquire began had lingered. Of mutexes that do not linger, a cohort shared it.
void count_nodes_used_again(const process_history& p, summary& s)
{
    std::map<std::string, std::vector<const operation*>> by_node;
    for (const auto& [n, o] : p.operations)
        if (o.outcome == "granted")
            by_node[o.node].push_back(&o);
    for (auto& [node, all] : by_node) {
        std::ranges::sort(all, {}, &operation::ended);
        for (std::size_t i = 1; i < all.size(); ++i) {
            s.lingered +=
                all[i]->kind == "lingering" && all[i - 1]->released && *all[i - 1]->released < all[i]->started;
            s.shared += all[i]->kind == "cohort";
        }
    }
}

/// It ended at its limit without the lock.
bool in_vain(const operation& o)
{
    return o.outcome == "timed_out" || (o.mode == "timed" && o.outcome == "not_connected");
}

class checker {
public:
    explicit checker(const history& h) : h_(h) {}

    struct findings {
        std::vector<std::string> all;
        std::size_t of_clients = 0; ///< that no server can cause
        std::size_t in_logs = 0;    ///< commits that are in a log alone
    };
    findings run()
    {
        for (const auto& [number, p] : h_.processes)
            check_process(number, p);
        for (const auto& [path, tenures] : tenures_by_path())
            check_path(path, tenures);
        check_writes();
        check_commits();
        return std::move(found_);
    }

private:
    void say(std::string what) { found_.all.push_back(std::move(what)); }
    void say_of_client(std::string what)
    {
        ++found_.of_clients;
        say(std::move(what));
    }

    void check_process(int number, const process_history& p)
    {
        for (const auto& what : p.twice)
            say_of_client("process " + std::to_string(number) + ": noted twice: " + what);
        if (!p.closed && !p.killed)
            say("process " + std::to_string(number) + " did not come to its end");
        for (const auto& [n, o] : p.operations)
            check_operation(name(number, n) + " (" + o.mode + " on " + o.path + ")", p, o);
    }

    void check_operation(const std::string& who, const process_history& p, const operation& o)
    {
        if (!o.ended) {
            if (!p.killed)
                say(who + " never completed");
            return;
        }
        static const std::map<std::string, std::set<std::string>> expected{
            {"timed", {"granted", "timed_out", "not_connected"}},
            {"unlimited", {"granted"}},
            {"try", {"granted", "busy", "not_connected"}},
            {"cancelled", {"granted", "aborted"}}};
        // A grant may be lost before it can be told, in whatever mode: the process does not always run.
        if (o.outcome != "lost" && !expected.at(o.mode).contains(o.outcome))
            say_of_client(who + " ended with " + o.outcome);
        if (in_vain(o) && *o.ended < o.limit.value())
            say_of_client(who + " timed out " + milliseconds_between(*o.ended, *o.limit) + " early");
        if (o.limit) {
            const auto late = *o.ended - std::max(*o.limit, o.started) - paused(p, o.started, *o.ended);
            if (late > h_.patience)
                say_of_client(who + " ended " + milliseconds_between(0, late) + " late");
        }
        if (o.outcome == "granted")
            check_tenure(who, p, o);
    }

    void check_tenure(const std::string& who, const process_history& p, const operation& o)
    {
        if (o.token <= 0)
            say(who + " was granted with token " + std::to_string(o.token));
        if (p.killed)
            return; // what it did not finish, nobody could
        if (!o.believed || !o.released)
            return say(who + " was granted and never came to its release");
        if (!o.told)
            return say(who + " was never told how its hold ended");
        const bool dropped = o.release_outcome == "dropped";
        // A wait may begin when the guard has been dropped already, lost or not.
        const bool may_be_aborted = !o.lost || dropped;
        if (o.told_outcome != "lost" && !(may_be_aborted && o.told_outcome == "aborted"))
            say_of_client(who + (o.lost ? " lost" : " released") + " its lock, and was told: " + o.told_outcome);
        if (!dropped && o.release_outcome != "lost" && !(!o.lost && o.release_outcome == "ok"))
            say(who + (o.lost ? " lost" : " released") + " its lock, and the release ended with " + o.release_outcome);
        for (const auto& [begin, end] : p.pauses)
            if (end - begin > h_.session_timeout && *o.ended<begin&& * o.believed> end)
                say_of_client(who + " still believed in its lock after a pause of " + milliseconds_between(begin, end));
    }

    [[nodiscard]] std::map<std::string, std::vector<tenure>> tenures_by_path() const
    {
        std::map<std::string, std::vector<tenure>> all;
        for (const auto& [number, p] : h_.processes)
            for (const auto& [n, o] : p.operations)
                if (o.ended && o.outcome == "granted")
                    all[o.path].push_back(tenure_of(number, n, p, o));
        for (auto& [path, tenures] : all)
            std::sort(tenures.begin(), tenures.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
        return all;
    }

    [[nodiscard]] static tenure tenure_of(int process, unsigned number, const process_history& p, const operation& o)
    {
        const instant until = end_of_belief(p, o);
        return {process, number, &o, *o.ended, until, std::max(*o.ended, std::min(o.shares.value_or(until), until))};
    }

    [[nodiscard]] static instant end_of_belief(const process_history& p, const operation& o)
    {
        if (!o.held)
            return *o.ended;
        return o.believed ? *o.believed : p.killed ? std::max(*p.killed, *o.ended) : *o.ended;
    }

    void check_path(const std::string& path, const std::vector<tenure>& tenures)
    {
        std::map<std::int64_t, const tenure*> tokens;
        const tenure* longest = nullptr;       // of those that believed they held
        const tenure* longest_alone = nullptr; // of those who exclude readers
        const tenure* largest = nullptr;       // by the token
        const tenure* largest_alone = nullptr;
        const auto keep = [](const tenure*& best, const tenure& t, auto of) {
            if (!best || of(t) > of(*best))
                best = &t;
        };
        for (const auto& t : tenures) {
            if (const auto [known, is_new] = tokens.emplace(t.what->token, &t); !is_new)
                say(path + ": token " + std::to_string(t.what->token) + " was given to " + name(t.process, t.number) +
                    " and to " + name(known->second->process, known->second->number));
            if (!t.what->held)
                continue; // over before its process noticed: no order among those
            const bool reads = t.what->shares && *t.what->shares <= t.from;
            const auto* const before = reads ? longest_alone : longest;
            if (const instant until = !before ? t.from : reads ? before->alone_until : before->until; t.from < until)
                say(path + ": TWO HOLDERS for " + milliseconds_between(t.from, std::min(t.until, until)) + ": " +
                    name(t.process, t.number) + " was granted at " + std::to_string(t.from) + ", and " +
                    name(before->process, before->number) + " believed it held until " + std::to_string(until));
            if (const auto* const other = reads ? largest_alone : largest; other && t.what->token <= other->what->token)
                say(path + ": " + name(t.process, t.number) + " was granted after " +
                    name(other->process, other->number) + ", with a smaller token");
            keep(longest, t, [](const tenure& x) { return x.until; });
            keep(largest, t, [](const tenure& x) { return x.what->token; });
            if (reads)
                continue;
            keep(longest_alone, t, [](const tenure& x) { return x.alone_until; });
            keep(largest_alone, t, [](const tenure& x) { return x.what->token; });
        }
    }

    /// Nothing is written by a guard once another has the lock. The order is the servers'; where the next has written
    /// nothing, their clock tells.
    void check_commits()
    {
        constexpr instant coarseness = 5'000'000; // the servers count milliseconds
        const auto tenures = tenures_by_path();
        std::map<std::string, std::int64_t> largest;
        std::map<std::pair<int, std::size_t>, std::size_t> times;
        for (const auto& e : h_.executed) {
            const auto who = name(e.process, e.operation) + " committing to " + e.path;
            if (auto& seen = largest[e.path]; e.token < seen)
                say(who + " was let in with a token smaller than one before");
            else
                seen = e.token;
            if (++times[{e.process, e.number}] > 1)
                say(who + " was executed twice");
            const auto on_path = tenures.find(e.path);
            for (const auto& t : on_path == tenures.end() ? std::vector<tenure>() : on_path->second)
                if (t.what->held && t.what->token > e.token && e.begun > t.from + coarseness) {
                    say(who + " was executed " + milliseconds_between(t.from, e.begun) + " after " +
                        name(t.process, t.number) + " had the lock");
                    break;
                }
        }
        for (const auto& [number, p] : h_.processes)
            for (const auto& [n, c] : p.commits) {
                const bool executed = times.erase({number, n}) != 0;
                if (!c.ended || c.outcome == "outcome_unknown" || executed == (c.outcome == "ok"))
                    continue;
                say(name(number, c.operation) + " was told of its commit: " + c.outcome + ", and it was " +
                    (executed     ? "executed"
                     : c.in_a_log ? "not executed, though it is in a server's log"
                                  : "not executed"));
                found_.in_logs += c.in_a_log;
            }
        for (const auto& [unknown, count] : times)
            say_of_client("process " + std::to_string(unknown.first) + " has made no such commit");
    }

    void check_writes()
    {
        struct written {
            std::int64_t token = 0;
            instant arrived = 0; ///< the first write with it
        };
        std::map<std::string, written> largest;
        for (const auto& w : h_.writes) {
            auto& seen = largest[w.path];
            const auto who = name(w.process, w.operation) + " writing to " + w.path;
            if (w.accepted && w.token < seen.token)
                say(who + " was let in with a token smaller than one before");
            if (!w.accepted && w.token >= seen.token)
                say(who + " was refused with the largest token");
            if (!w.accepted && w.sent > seen.arrived)
                say(who + " believed it held " + milliseconds_between(seen.arrived, w.sent) +
                    " after another had written with a larger token");
            if (w.accepted && w.token > seen.token)
                seen = {w.token, w.arrived};
            const auto p = h_.processes.find(w.process);
            const bool known = p != h_.processes.end() && p->second.operations.contains(w.operation);
            if (!known || p->second.operations.at(w.operation).token != w.token)
                say_of_client(who + " had no such token");
        }
    }

    const history& h_;
    findings found_;
};

} // namespace

process_history read_history(const std::filesystem::path& file)
{
    process_history p;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string what;
        unsigned number = 0;
        instant time = 0;
        words >> what >> number >> time;
        auto& o = p.operations[number];
        const auto once = [&](auto& field) {
            if (field)
                p.twice.push_back(line);
            field = time;
        };
        if (what == "start") {
            instant limit = 0;
            words >> o.mode >> limit >> o.path >> o.kind;
            o.started = time;
            if (o.mode == "timed")
                o.limit = time + limit;
        } else if (what == "cancel") {
            once(o.limit);
        } else if (what == "end") {
            once(o.ended);
            words >> o.outcome >> o.token >> o.held >> o.node;
        } else if (what == "believed") {
            once(o.believed);
            words >> o.lost;
        } else if (what == "released") {
            once(o.released);
            words >> o.release_outcome;
        } else if (what == "told") {
            once(o.told);
            words >> o.told_outcome;
        } else if (what == "stop") {
            stop_record stop;
            words >> stop.path >> stop.token;
        } else if (what == "shares") {
            once(o.shares);
        } else if (what == "commit") {
            std::size_t commit = 0;
            words >> commit;
            p.commits[commit].operation = number;
        } else if (what == "committed") {
            std::size_t commit = 0;
            std::string outcome;
            words >> commit >> outcome;
            once(p.commits[commit].ended);
            p.commits[commit].outcome = outcome;
        } else if (what == "by_certificate") {
            words >> p.by_certificate;
            p.operations.erase(number);
        } else if (what == "closed") {
            once(p.closed);
            p.operations.erase(number);
        } else {
            throw std::runtime_error("unknown event: " + line);
        }
        if (!words)
            throw std::runtime_error("incomplete event: " + line);
    }
    return p;
}

std::size_t grants_noted(const std::filesystem::path& file, std::streamoff& read_before)
{
    std::size_t grants = 0;
    std::ifstream in(file);
    in.seekg(read_before);
    for (std::string line; std::getline(in, line) && !in.eof();) { // the last one may be half written
        read_before += static_cast<std::streamoff>(line.size() + 1);
        grants += line.starts_with("end ") && line.find(" granted ") != line.npos;
    }
    return grants;
}

std::optional<stop_record> last_stop(const std::filesystem::path& file)
{
    std::optional<stop_record> last;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string what, number, time;
        stop_record stop;
        if (words >> what >> number >> time && what == "stop" && words >> stop.path >> stop.token)
            last = std::move(stop);
    }
    return last;
}

std::vector<std::string> violations(const history& h)
{
    return checker(h).run().all;
}

bool servers_may_have_caused(const history& h, bool differ)
{
    const auto found = checker(h).run();
    return found.of_clients == 0 && (differ || found.in_logs == found.all.size());
}

summary summarise(const history& h)
{
    summary s;
    for (const auto& [number, p] : h.processes) {
        s.by_certificate += p.by_certificate;
        count_nodes_used_again(p, s);
        for (const auto& [n, o] : p.operations) {
            ++s.operations;
            if (o.shares && o.outcome == "granted")
                ++(*o.shares <= o.started ? s.readers : s.downgrades);
            s.grants += o.outcome == "granted";
            s.tries += o.outcome == "granted" && o.mode == "try";
            s.several += o.outcome == "granted" && o.kind == "several";
            s.timed_out += in_vain(o);
            s.cancelled += o.outcome == "aborted";
            s.busy += o.mode == "try" && (o.outcome == "busy" || o.outcome == "not_connected");
            s.losses += o.lost;
        }
    }
    s.commits = h.executed.size();
    for (const auto& w : h.writes) {
        ++(w.accepted ? s.accepted : s.refused);
        if (w.stopped)
            ++(w.accepted ? s.accepted_after_stop : s.refused_after_stop);
    }
    return s;
}

std::vector<std::string> missing_in(const history& h, const expectation& expected)
{
    std::vector<std::string> missing;
    const auto expect = [&](std::size_t count, const std::string& what) {
        if (count == 0)
            missing.push_back("nothing was shown: " + what);
    };
    const auto s = summarise(h);
    expect(h.rounds.size(), "no round was played");
    for (std::size_t i = 0; i < h.rounds.size(); ++i) {
        const auto who = "round " + std::to_string(i + 1) + " (" + name(h.rounds[i]) + ")";
        expect(std::ranges::count(h.rounds[i].blows, true, &round_record::blow::struck), who + " has hit nobody");
        expect(grants_in(h, h.rounds[i]), "in " + who + " no lock was granted");
    }
    expect(s.accepted, "no write was accepted");
    if (expected.every_harm)
        for (const auto whom : {victim::servers, victim::clients})
            for (const auto how : {harm::killed, harm::stopped})
                expect(blows_of(h, whom, how), std::string("no ") + (whom == victim::servers ? "server" : "client") +
                                                   " was " + (how == harm::killed ? "killed" : "stopped"));
    if (!expected.handoff)
        return missing;
    expect(s.by_certificate, "no grant came by a certificate");
    expect(s.commits, "no commit was executed");
    expect(s.readers, "no reader had a lock");
    expect(s.downgrades, "no writer read on");
    expect(s.tries, "no try was granted");
    expect(s.busy, "no try found the lock taken");
    expect(s.several, "nobody had several locks as one");
    expect(s.lingered, "no node was taken up that lingered");
    expect(s.shared, "no cohort shared a node");
    return missing;
}

} // namespace zklock::chaos
