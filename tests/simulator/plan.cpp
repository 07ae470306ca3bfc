#include "plan.hpp"

#include <algorithm>
#include <array>

namespace zklock::simulator {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// What a schedule is mostly about. Too many kinds of trouble at once hide each other.
enum class theme { calm, network, expiry, servers, administrator, others, everything, count };

class planner {
public:
    planner(std::uint64_t seed, kind_of_plan kind) : choose_(seed), kind_(kind)
    {
        plan_.seed = seed;
        plan_.which = kind.which;
    }

    plan make()
    {
        theme_ = static_cast<theme>(draw(static_cast<std::uint64_t>(theme::count)));
        make_settings();
        make_moments();
        const auto acquires = one_in(8) ? 20 + draw(30) : 2 + draw(14);
        for (std::uint64_t i = 0; i < acquires; ++i) plan_.steps.push_back(acquire());
        if (one_in(3)) add(act::list, 1 + draw(3));
        make_troubles();
        if (const auto kind = plan_.seed / 32 % 16; kind == 3 || kind == 6) make_crowd(kind == 6);
        if (plan_.seed % 11 == 9) make_replacements();
        if (plan_.seed % 13 == 10) make_vain_parents();
        if (!plan_.set.granted.empty()) make_moves();
        else if (plan_.set.servers > 1 && plan_.seed % 5 == 2) make_partitions();
        std::stable_sort(plan_.steps.begin(), plan_.steps.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; });
        return std::move(plan_);
    }

private:
    std::uint64_t draw(std::uint64_t limit) { return choose_.below(limit, choices::stream::plan); }
    bool one_in(std::uint64_t n) { return draw(n) == 0; }
    bool about(theme t) const { return theme_ == t || theme_ == theme::everything; }

    void make_settings()
    {
        auto& s = plan_.set;
        s.servers = std::array{1u, 3u, 3u, 5u}[draw(4)];
        s.clients = static_cast<unsigned>(2 + draw(3));
        s.paths = one_in(4) ? 2 : 1;
        if (kind_.which == recipe::multi_lock) s.paths = static_cast<unsigned>(2 + draw(3));
        s.session_timeout = milliseconds(std::array{1'000, 2'000, 4'000}[draw(3)]);
        s.tick = s.session_timeout / static_cast<int>(2 + draw(3));
        s.expiry_rounded_up = one_in(3);
        if (plan_.seed % 7 == 3) make_limits(); // drawn apart: see below
        s.delay = microseconds(std::array{50, 200, 1'000, 10'000}[draw(4)]);
        s.delay_spread = microseconds(std::array{20, 300, 2'000, 20'000}[draw(4)]);
        if (s.servers > 1 && one_in(2)) s.follower_lag = microseconds(std::array{500, 5'000, 100'000}[draw(3)]);
        // Within what the clients believe, but up to the edge of it.
        s.leader_drift_ppm = static_cast<std::int32_t>(draw(4'500));
        for (unsigned i = 0; i < s.clients; ++i) s.client_drift_ppm.push_back(-static_cast<std::int32_t>(draw(4'500)));
        if (about(theme::network)) s.one_fault_in = std::array{4u, 10u, 30u, 100u}[draw(4)];
        if (about(theme::expiry) && one_in(2)) s.one_fault_in = 50;
        s.parents_exist = !one_in(3);
        s.parents_are_containers = !one_in(3);
        s.disconnect_told_at_close = one_in(2);
        if (one_in(8)) s.node_budget = 150 + draw(300);
        if (one_in(6)) {
            s.parents_exist = true;
            s.first_sequence = std::array{9'999'999u, (1u << 30) - 3u, 2'000'000'000u, 2'146'999'996u}[draw(4)];
        }
        s.quiet_after = s.session_timeout * static_cast<int>(1 + draw(4));
        switch (plan_.seed / 2 % 16) { // nothing is drawn for these, so that older seeds go on meaning what they did
        case 1: s.linger = 50ms; break;
        case 2: s.linger = 2min; break;
        case 3: s.cohort = 3; break;
        case 4: s.linger = 2min; [[fallthrough]];
        case 5: s.cohort = 2; break;
        default: break;
        }
        if (plan_.seed * 29 % 1009 % 5 == 3) make_numbers_scarce(); // none of the seeds that found something
        if (plan_.seed * 189 % 1013 % 4 == 3) make_window_small();  // likewise
        s.exists_needs_read = plan_.seed * 97 % 1019 % 2 == 1;
    }

    /// What users ask for besides locks has to wait for its turn. Drawn apart, like the next.
    void make_window_small()
    {
        choices own(plan_.seed ^ 0x3'1d0e);
        plan_.set.users_window = std::array{1u, 1u, 2u, 3u, 5u}[own.below(5, choices::stream::plan)];
    }

    /// Numbers end early, so that the parent has to be made again, many times; or it begins close before the true end.
    /// Drawn apart, like the next.
    void make_numbers_scarce()
    {
        choices own(plan_.seed ^ 0x2'147'483);
        auto& s = plan_.set;
        if (own.below(4, choices::stream::plan) != 0) {
            s.scarce_from = std::array{1, 2, 3, 5, 8, 15, 30}[own.below(7, choices::stream::plan)];
        } else {
            s.parents_exist = true;
            s.first_sequence = static_cast<std::uint32_t>(s.scarce_from);
            s.first_sequence -= static_cast<std::uint32_t>(own.below(20, choices::stream::plan));
        }
    }

    /// Servers that grant a session twice the time that others do. Nothing of the schedule's own stream is drawn for
    /// that: other seeds go on meaning what they did.
    void make_limits()
    {
        choices own(plan_.seed ^ 0x5e55'1075);
        auto& s = plan_.set;
        const auto usual = s.session_timeout;
        s.session_timeout *= 2;
        for (unsigned i = 0; i < s.servers + 2; ++i)
            s.granted.push_back(own.below(2, choices::stream::plan) == 0 ? usual : s.session_timeout);
    }

    /// A client goes to another server, and hears nothing while the next leader comes. Drawn apart, too.
    void make_moves()
    {
        choices own(plan_.seed ^ 0x30'7e5);
        const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
        const auto long_time = static_cast<std::uint64_t>(microseconds(plan_.set.session_timeout).count());
        for (auto times = pick(4); times != 0; --times) {
            step s;
            const auto happens = [&](act what, std::uint64_t within, std::uint64_t duration) {
                s.at += microseconds(pick(within));
                s.what = what;
                s.duration = std::chrono::duration_cast<milliseconds>(microseconds(duration));
                plan_.steps.push_back(s);
            };
            s.at = moments_[pick(moments_.size())];
            s.who = static_cast<unsigned>(pick(plan_.set.clients));
            happens(act::cut, 100'000, 0);
            happens(act::block, long_time / 4, long_time / 2 + pick(long_time));
            s.who = static_cast<unsigned>(pick(plan_.set.servers));
            happens(act::restart, long_time / 4, pick(long_time / 4));
        }
    }

    /// An operator puts something that lasts in the place of a path that rests. Drawn apart, too.
    void make_replacements()
    {
        choices own(plan_.seed ^ 0x0'9e7a'707);
        const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
        const auto long_time = static_cast<std::uint64_t>(microseconds(plan_.set.session_timeout).count());
        for (auto times = 1 + pick(6); times != 0; --times) {
            step s;
            s.at = moments_[pick(moments_.size())] + microseconds(pick(2 * long_time));
            s.what = act::replace_idle_parent;
            s.path = static_cast<unsigned>(pick(plan_.set.paths));
            s.choice = static_cast<std::uint32_t>(pick(1'000'000));
            plan_.steps.push_back(s);
        }
    }

    /// Parents are made for an acquire that is withdrawn, on a connection that is cut: nobody else uses the path. Drawn
    /// apart, too.
    void make_vain_parents()
    {
        choices own(plan_.seed ^ 0x0'7a1'4);
        const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
        auto& set = plan_.set;
        const auto round_trip = static_cast<std::uint64_t>((2 * set.delay + set.delay_spread).count());
        for (auto times = 1 + pick(3); times != 0; --times) {
            step s;
            s.at = moments_[pick(moments_.size())] + microseconds(pick(500'000));
            s.path = set.paths++;
            s.who = static_cast<unsigned>(pick(set.clients));
            s.withdraw_after = microseconds(pick(6 * round_trip));
            plan_.steps.push_back(s);
            s.withdraw_after.reset();
            s.at += microseconds(pick(6 * round_trip));
            s.what = act::cut;
            plan_.steps.push_back(s);
        }
    }

    /// A leader and a client that holds a lock are cut off from the other servers, while another client waits. Drawn apart,
    /// too. How long a tick is, as a part of the session, decides how much such a leader's last answers may be worth.
    void make_partitions()
    {
        choices own(plan_.seed ^ 0x9a'5717);
        const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
        auto& set = plan_.set;
        set.tick = set.session_timeout * 20 / std::array{25, 30, 40, 40, 50, 60, 80, 100}[pick(8)];
        if (2 * set.tick > set.session_timeout) { // little time is left for an exchange
            set.delay = std::min(set.delay, 200us);
            set.delay_spread = std::min(set.delay_spread, 300us);
            set.follower_lag = std::min(set.follower_lag, 5'000us);
        }
        const auto long_time = static_cast<std::uint64_t>(microseconds(set.session_timeout).count());
        for (auto times = 1 + pick(2); times != 0; --times) {
            step s;
            s.at = moments_[pick(moments_.size())];
            s.path = static_cast<unsigned>(pick(set.paths));
            s.choice = static_cast<std::uint32_t>(pick(1'000'000));
            const auto holder = static_cast<unsigned>(pick(set.clients));
            s.who = holder;
            s.duration = 3 * set.session_timeout;
            plan_.steps.push_back(s);
            s.at += microseconds(pick(long_time / 2));
            s.who = static_cast<unsigned>((s.who + 1 + pick(set.clients - 1)) % set.clients);
            s.duration = milliseconds(pick(50));
            plan_.steps.push_back(s);
            s.at += microseconds(pick(long_time));
            s.what = act::part_leader;
            s.duration = milliseconds(0);
            plan_.steps.push_back(s);
            // When that leader is silent at last, the client finds nobody else.
            s.at += set.tick - microseconds(pick(static_cast<std::uint64_t>(set.tick.count()) * 1'000 / (pick(2) == 0 ? 16 : 2)));
            s.what = act::block;
            s.who = holder;
            s.duration = set.session_timeout * 3 / 2;
            plan_.steps.push_back(s);
        }
    }

    /// Things happen close to each other, at a few moments.
    void make_moments()
    {
        const auto count = 1 + draw(5);
        const auto span = static_cast<std::uint64_t>(microseconds(plan_.set.quiet_after).count()) * 9 / 10;
        for (std::uint64_t i = 0; i < count; ++i) moments_.push_back(microseconds(draw(span)));
        moments_.front() = microseconds(draw(2) * 30'000);
    }

    microseconds moment()
    {
        const auto spread = std::array<std::uint64_t, 4>{100, 2'000, 50'000, 500'000}[draw(4)];
        return moments_[draw(moments_.size())] + microseconds(draw(spread));
    }

    step some(act what)
    {
        step s;
        s.at = moment();
        s.what = what;
        s.who = static_cast<unsigned>(draw(plan_.set.clients));
        s.path = static_cast<unsigned>(draw(plan_.set.paths));
        s.choice = static_cast<std::uint32_t>(draw(1'000'000));
        return s;
    }

    step acquire()
    {
        auto s = some(act::acquire);
        const auto t = static_cast<std::uint64_t>(plan_.set.session_timeout.count());
        s.duration = milliseconds(one_in(6) ? draw(2 * t) : one_in(3) ? draw(t / 4) : draw(20));
        s.look_once = one_in(6);
        if (one_in(3)) s.deadline = milliseconds(one_in(10) ? 0 : draw(one_in(2) ? 3 * t : 60));
        if (one_in(4)) s.withdraw_after = microseconds(draw(one_in(2) ? 2'000 * t : 30'000));
        if (one_in(16)) s.max_attempts = static_cast<unsigned>(1 + draw(3));
        return s;
    }

    void add(act what, std::uint64_t times)
    {
        const auto t = static_cast<std::uint64_t>(plan_.set.session_timeout.count());
        for (std::uint64_t i = 0; i < times; ++i) {
            auto s = some(what);
            switch (what) {
            case act::block:
            case act::pause_leader:
            case act::pause: s.duration = milliseconds(1 + draw(one_in(2) ? t / 3 : 2 * t)); break;
            case act::restart:
            case act::cut_off:
            case act::hang_up:
                s.who = static_cast<unsigned>(draw(plan_.set.servers));
                s.duration = milliseconds(1 + draw(one_in(2) ? t / 2 : 2 * t));
                break;
            case act::foreign_contender: // one in four stays until the end
                if (!one_in(4)) s.duration = milliseconds(1 + draw(one_in(2) ? 50 : t));
                break;
            case act::delete_parent:
            case act::refuse:
            case act::replace_parent:
            case act::foreign_out_of_turn:
            case act::foreign_child: s.duration = milliseconds(draw(one_in(2) ? 50 : t)); break;
            default: break;
            }
            plan_.steps.push_back(s);
        }
    }

    void make_troubles()
    {
        if (about(theme::network)) {
            add(act::cut, draw(4));
            add(act::block, draw(2));
            add(act::hang_up, draw(2));
        }
        if (about(theme::expiry)) {
            add(act::pause, draw(3));
            add(act::block, draw(3));
            add(act::crash, draw(2));
            add(act::kill_session, one_in(3) ? 1 : 0);
        }
        if (about(theme::servers)) {
            add(act::restart, draw(3));
            add(act::cut_off, draw(3));
            add(act::hang_up, draw(3));
        }
        if (about(theme::administrator)) {
            add(act::delete_contender, draw(4));
            add(act::delete_parent, one_in(2) ? 1 + draw(2) : 0);
            add(act::set_contender_data, draw(3));
            add(act::set_parent_data, draw(3));
            add(act::refuse, one_in(3) ? 1 : 0);
        }
        if (about(theme::others)) {
            add(act::foreign_contender, draw(6));
            add(act::foreign_child, draw(3));
            add(act::foreign_out_of_turn, one_in(6) ? 1 : 0);
        }
        if (one_in(3)) add(act::remove_idle_containers, 1 + draw(4));
        if (one_in(6)) add(act::close_client, 1);
        if (one_in(12)) add(act::crash, 1);
        if (about(theme::administrator) && one_in(2)) add(act::replace_parent, 1 + draw(2));
        if (kind_.which == recipe::shared_mutex && one_in(3)) refuse_repetitions();
        if (kind_.closed_asleep) close_the_paused();
        if (kind_.stale_leaders && about(theme::servers) && plan_.set.servers > 1) add(act::pause_leader, draw(3));
    }

    /// What was done before a cut is forbidden when it is asked for again.
    void refuse_repetitions()
    {
        for (auto times = 2 + draw(8); times != 0; --times) {
            const auto cut = some(act::cut);
            auto refusal = cut;
            refusal.what = act::refuse;
            refusal.at += microseconds(draw(static_cast<std::uint64_t>(plan_.set.slow_message().count())));
            refusal.duration = plan_.set.session_timeout / 2;
            plan_.steps.insert(plan_.steps.end(), {cut, refusal});
        }
    }

    /// In one turn a client hears what came meanwhile, and is closed before it has told its users.
    void close_the_paused()
    {
        for (unsigned client = 0; client < plan_.set.clients; ++client) {
            auto asleep = some(act::pause);
            asleep.who = client;
            asleep.duration = milliseconds(1 + draw(50));
            auto closed = asleep;
            closed.what = act::close_client;
            closed.at += microseconds(draw(static_cast<std::uint64_t>(plan_.set.slow_message().count())));
            plan_.steps.insert(plan_.steps.end(), {asleep, closed});
        }
    }

    /// More at one moment than one transaction takes. Nothing of the schedule's own stream is drawn for it, so that the
    /// rest is what it would be without.
    void make_crowd(bool troubled)
    {
        choices own(~plan_.seed);
        const auto pick = [&own](std::uint64_t limit) { return own.below(limit, choices::stream::plan); };
        auto& s = plan_.set;
        s.paths += static_cast<unsigned>(pick(3));
        if (pick(4) == 0) s.node_budget = 1'000 + pick(8'000);
        if (pick(8) == 0) {
            s.parents_exist = true;
            s.first_sequence = 2'146'999'960u;
        }
        const unsigned first = static_cast<unsigned>(pick(s.clients));
        const unsigned clients = static_cast<unsigned>(1 + pick(2));
        const auto at = moments_[pick(moments_.size())];
        const auto round_trip = static_cast<std::uint64_t>((2 * s.delay + s.delay_spread).count());
        const auto crowd = [&](unsigned many, microseconds from) {
            for (unsigned i = 0; i < many; ++i) {
                step a;
                a.at = from + microseconds(pick(4) == 0 ? pick(2 * round_trip) : 0);
                a.who = (first + i % clients) % s.clients;
                a.path = static_cast<unsigned>(pick(s.paths));
                a.duration = milliseconds(pick(2));
                if (pick(5) == 0) a.withdraw_after = microseconds(pick(4 * round_trip));
                if (pick(10) == 0) a.deadline = milliseconds(pick(100));
                if (pick(20) == 0) a.look_once = true;
                if (kind_.which == recipe::shared_mutex) a.choice = static_cast<std::uint32_t>(pick(1'000'000));
                plan_.steps.push_back(a);
            }
        };
        crowd(static_cast<unsigned>(66 + pick(70)), at);
        if (pick(2) == 0) crowd(static_cast<unsigned>(8 + pick(40)), at + microseconds(pick(6 * round_trip)));
        if (!troubled) return;
        const auto happens = [&](act what, milliseconds duration) {
            step t;
            t.what = what;
            t.at = at + microseconds(pick(6 * round_trip));
            t.who = first;
            t.path = static_cast<unsigned>(pick(s.paths));
            t.choice = static_cast<std::uint32_t>(pick(1'000'000));
            t.duration = duration;
            plan_.steps.push_back(t);
        };
        const auto some = 1 + pick(4);
        switch (pick(6)) {
        case 0:
            for (std::uint64_t i = 0; i < 3 * some; ++i) happens(act::delete_contender, 0ms);
            break;
        case 1: happens(act::kill_session, 0ms); break;
        case 2:
            for (std::uint64_t i = 0; i < some; ++i) happens(act::cut, 0ms);
            break;
        case 3: happens(act::delete_parent, milliseconds(pick(50))); break;
        case 4:
            for (std::uint64_t i = 0; i < 2 * some; ++i) happens(act::foreign_contender, milliseconds(1 + pick(50)));
            break;
        default: happens(act::refuse, milliseconds(1 + pick(50))); break;
        }
    }

    choices choose_;
    kind_of_plan kind_;
    plan plan_;
    theme theme_ = theme::calm;
    std::vector<microseconds> moments_;
};

} // namespace

plan make_plan(std::uint64_t seed, kind_of_plan kind)
{
    plan made = planner(seed, kind).make();
    if (kind.scarce_memory) made.set.scarce_memory = 4u << seed % 6;
    return made;
}

bool is_calm(const plan& p, company allowed)
{
    const auto harmless = [&](const step& s) {
        const bool others = s.what == act::foreign_contender || s.what == act::foreign_child;
        return s.what == act::acquire || s.what == act::list || (others && allowed == company::others_queue);
    };
    return p.set.one_fault_in == 0 && p.set.scarce_memory == 0 && (!p.faults || p.faults->empty()) &&
           p.set.node_budget > 100'000 && std::all_of(p.steps.begin(), p.steps.end(), harmless);
}

} // namespace zklock::simulator
