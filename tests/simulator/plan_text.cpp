// A plan as text.
#include "plan.hpp"

#include <sstream>

namespace zklock::simulator {

namespace {

const char* name_of(act what)
{
    static constexpr const char* names[] = {"acquire",
                                            "list",
                                            "close_client",
                                            "cut",
                                            "block",
                                            "pause",
                                            "crash",
                                            "hang_up",
                                            "restart",
                                            "cut_off",
                                            "pause_leader",
                                            "part_leader",
                                            "all_down",
                                            "back_up",
                                            "set_back",
                                            "go_astray",
                                            "kill_session",
                                            "delete_contender",
                                            "delete_parent",
                                            "set_contender_data",
                                            "set_parent_data",
                                            "refuse",
                                            "replace_parent",
                                            "replace_idle_parent",
                                            "remove_idle_containers",
                                            "foreign_contender",
                                            "foreign_out_of_turn",
                                            "foreign_child",
                                            "set_register",
                                            "part_peers"};
    return names[static_cast<int>(what)];
}

bool is_of_a_server(act what)
{
    return what == act::hang_up || what == act::restart || what == act::cut_off || what == act::go_astray;
}

} // namespace

std::string describe(const plan& p)
{
    std::ostringstream out;
    const auto& s = p.set;
    out << "seed " << p.seed << ": " << s.servers << " servers, " << s.clients << " clients, session timeout "
        << s.session_timeout.count() << " ms" << (s.granted.empty() ? "" : " or half of it") << ", tick "
        << s.tick.count() << " ms, delay " << s.delay.count() << '+' << s.delay_spread.count() << " us, follower lag "
        << s.follower_lag.count() << " us, parents " << (s.parents_exist ? "there" : "missing")
        << (s.parents_are_containers ? " (containers)" : "") << ", first sequence " << s.first_sequence
        << ", scarce from " << s.scarce_from << ", node budget " << s.node_budget << ", users' window "
        << s.users_window;
    const bool disagree = std::any_of(p.steps.begin(), p.steps.end(), [](const step& t) { return t.other_options; });
    for (const agreed_options* o = s.agreed; o != s.agreed + (disagree ? 2 : 1); ++o)
        out << (o == s.agreed ? ", " : "; other options: ") << (o->names == naming::kazoo ? "kazoo's" : "curator's")
            << " names, linger " << o->linger.count() << " ms, cohort " << o->cohort;
    out << (s.mark.empty() ? "" : ", mark ") << s.mark;
    for (const auto& mark : s.also_heeds)
        out << ", heeds \"" << mark << '"';
    out << (s.exists_needs_read ? ", exists needs the permission to read" : "")
        << (s.eager_access_check ? ", servers refuse by themselves" : "") << ", quiet after " << s.quiet_after.count()
        << " ms";
    if (s.peers != peer_life::none) {
        out << (s.peers == peer_life::dead ? ", dead peers " : ", peers ") << s.peer_delay.count() << " us away";
        for (unsigned i = 0; i < s.clients; ++i)
            if ((s.peerless >> i & 1) != 0)
                out << ", client" << i << " has none";
        if (s.one_peer_fault_in != 0)
            out << ", one fault in " << s.one_peer_fault_in << " of their messages";
        out << ", " << s.peer_subscriptions << " subscriptions at most";
    }
    if (!p.faults && s.one_fault_in != 0)
        out << ", one fault in " << s.one_fault_in << " requests";
    out << '\n';
    for (const auto& t : p.steps) {
        out << "  at " << static_cast<double>(t.at.count()) / 1000 << " ms: " << name_of(t.what);
        if (is_of_a_server(t.what))
            out << " server" << t.who;
        else if (t.what < act::hang_up || t.what == act::kill_session)
            out << " client" << t.who;
        out << ' ' << path_of(t.path);
        if (t.look_once)
            out << ", look once";
        if (t.other_options)
            out << ", other options";
        if (t.deadline)
            out << ", deadline " << t.deadline->count() << " ms";
        if (t.withdraw_after)
            out << ", withdraw after " << t.withdraw_after->count() << " us";
        if (t.max_attempts)
            out << ", attempts " << t.max_attempts;
        if (t.duration.count())
            out << (t.what == act::acquire ? ", hold " : ", for ") << t.duration.count() << " ms";
        out << '\n';
    }
    static constexpr const char* fates[] = {"none", "cut before the server acts", "cut before the reply",
                                            "cut while it travels", "stall"};
    if (p.faults) {
        for (const auto& f : *p.faults) {
            out << "  client" << f.client << " request #" << f.request << ": " << fates[static_cast<int>(f.what)]
                << '\n';
        }
    }
    return out.str();
}

} // namespace zklock::simulator
