// What happens in a schedule, and when.
#include "planner.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

planner::planner(std::uint64_t seed, kind_of_plan kind) : choose_(seed), kind_(kind)
{
    plan_.seed = seed;
    plan_.which = kind.which;
}

plan planner::make()
{
    theme_ = static_cast<theme>(draw(static_cast<std::uint64_t>(theme::count)));
    make_settings();
    make_moments();
    const auto acquires = one_in(8) ? 20 + draw(30) : 2 + draw(14);
    for (std::uint64_t i = 0; i < acquires; ++i)
        plan_.steps.push_back(acquire());
    if (one_in(3))
        add(act::list, 1 + draw(3));
    make_troubles();
    if (const auto kind = plan_.seed / 32 % 16; kind == 3 || kind == 6)
        make_crowd(kind == 6);
    if (plan_.seed % 11 == 9)
        make_replacements();
    if (plan_.seed % 13 == 10)
        make_vain_parents();
    if (!plan_.set.granted.empty())
        make_moves();
    else if (plan_.set.servers > 1 && plan_.seed % 5 == 2)
        make_partitions();
    if (plan_.set.granted.empty() && plan_.set.servers > 1 && plan_.seed % 23 == 10)
        make_lone_refusals();
    if (plan_.seed * 357 % 1013 % 10 == 3)
        make_outages(); // none of the seeds that found something
    else if (plan_.seed * 505 % 1013 % 10 == 7)
        make_unnoticed_set_back(); // likewise
    if (kind_.peers != peer_life::none)
        make_peers();
    if (kind_.which != recipe::semaphore && plan_.seed * 667 % 1459 % 8 == 0)
        make_disagreement(); // likewise
    std::stable_sort(plan_.steps.begin(), plan_.steps.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(plan_);
}

/// Things happen close to each other, at a few moments.
void planner::make_moments()
{
    const auto count = 1 + draw(5);
    const auto span = static_cast<std::uint64_t>(microseconds(plan_.set.quiet_after).count()) * 9 / 10;
    for (std::uint64_t i = 0; i < count; ++i)
        moments_.push_back(microseconds(draw(span)));
    moments_.front() = microseconds(draw(2) * 30'000);
}

microseconds planner::moment()
{
    const auto spread = std::array<std::uint64_t, 4>{100, 2'000, 50'000, 500'000}[draw(4)];
    return moment_within(choose_, spread);
}

/// Each draw is a statement of its own, here and elsewhere: compilers differ in which operand they evaluate first.
microseconds planner::moment_within(choices& own, std::uint64_t spread)
{
    const microseconds later(own.below(spread, choices::stream::plan));
    return moments_[own.below(moments_.size(), choices::stream::plan)] + later;
}

step planner::some(act what)
{
    step s;
    s.at = moment();
    s.what = what;
    s.who = static_cast<unsigned>(draw(plan_.set.clients));
    s.path = static_cast<unsigned>(draw(plan_.set.paths));
    s.choice = static_cast<std::uint32_t>(draw(1'000'000));
    return s;
}

step planner::acquire()
{
    auto s = some(act::acquire);
    const auto t = static_cast<std::uint64_t>(plan_.set.session_timeout.count());
    s.duration = milliseconds(one_in(6) ? draw(2 * t) : one_in(3) ? draw(t / 4) : draw(20));
    s.look_once = one_in(6);
    if (one_in(3))
        s.deadline = milliseconds(one_in(10) ? 0 : draw(one_in(2) ? 3 * t : 60));
    if (one_in(4))
        s.withdraw_after = microseconds(draw(one_in(2) ? 2'000 * t : 30'000));
    if (one_in(16))
        s.max_attempts = static_cast<unsigned>(1 + draw(3));
    return s;
}

void planner::add(act what, std::uint64_t times)
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
            if (!one_in(4))
                s.duration = milliseconds(1 + draw(one_in(2) ? 50 : t));
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

void planner::make_troubles()
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
    if (one_in(3))
        add(act::remove_idle_containers, 1 + draw(4));
    if (one_in(6))
        add(act::close_client, 1);
    if (one_in(12))
        add(act::crash, 1);
    if (about(theme::administrator) && one_in(2))
        add(act::replace_parent, 1 + draw(2));
    if (is_shared(kind_.which) && one_in(3))
        refuse_repetitions();
    if (kind_.closed_asleep)
        close_the_paused();
    if (kind_.stale_leaders && about(theme::servers) && plan_.set.servers > 1)
        add(act::pause_leader, draw(3));
}

/// What was done before a cut is forbidden when it is asked for again.
void planner::refuse_repetitions()
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
void planner::close_the_paused()
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

plan make_plan(std::uint64_t seed, kind_of_plan kind)
{
    plan made = planner(seed, kind).make();
    if (kind.scarce_memory)
        made.set.scarce_memory = 4u << seed % 6;
    return made;
}

bool is_calm(const plan& p, company allowed)
{
    const auto harmless = [&](const step& s) {
        const bool others = s.what == act::foreign_contender || s.what == act::foreign_child;
        return s.what == act::acquire || s.what == act::list || s.what >= act::set_register ||
               (others && allowed == company::others_queue);
    };
    return p.set.one_fault_in == 0 && p.set.scarce_memory == 0 && (!p.faults || p.faults->empty()) &&
           p.set.node_budget > 100'000 && std::all_of(p.steps.begin(), p.steps.end(), harmless);
}

} // namespace zklock::simulator
