#include "chaos/nemesis.hpp"

namespace zklock::chaos {
namespace {

std::size_t any_of(std::size_t count, random_source& random)
{
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

void isolate(scene& s, std::size_t member)
{
    s.for_each_member([&](test::network::site other) {
        if (other != member)
            s.net.cut(member, other);
    });
}

using going_on = std::function<void()>;

going_on flapping(scene& s, random_source&, std::size_t c)
{
    const auto client = s.site_of_client(c);
    return [&s, client, cut = false]() mutable {
        cut = !cut;
        s.for_each_member([&](test::network::site member) {
            if (cut)
                s.net.reset(client, member);
            else
                s.net.half_open(client, member);
        });
    };
}

/// A client that is not connected just then is hit when it is.
going_on half_open(scene& s, std::size_t c, bool client_is_left)
{
    const auto client = s.site_of_client(c);
    const auto strike = [&s, client, client_is_left, hit = false]() mutable {
        if (hit)
            return;
        s.for_each_member([&](test::network::site member) {
            s.net.half_open(client_is_left ? client : member, client_is_left ? member : client);
            hit = hit || s.net.disturbed(client, member);
        });
    };
    return strike;
}

/// The leader wakes from a pause in which others took over, and one client can reach nobody but it.
going_on stale_leader(scene& s, random_source&, std::size_t c)
{
    const auto leader = s.ensemble.leader();
    const auto client = s.site_of_client(c);
    s.ensemble[leader].pause();
    s.for_each_member([&](test::network::site member) {
        if (member != leader)
            s.net.cut(client, member);
    });
    const auto wakes = test::steady_clock::now() + s.chosen.session_timeout * 5 / 4;
    return [&s, leader, wakes, awake = false]() mutable {
        if (awake || test::steady_clock::now() < wakes)
            return;
        awake = true;
        s.ensemble[leader].resume();
    };
}

/// A holder stops between its look at the guard and the write, and goes on when another has held and written.
going_on overtaken_client(scene& s, random_source&, std::size_t c)
{
    s.make_stop_before_write(c);
    return [&s, c, over = false]() mutable {
        if (over || !s.stopped_before_write(c) || !s.overtaken(c))
            return;
        over = true;
        s.resume_client(c);
    };
}

} // namespace

const std::vector<nemesis>& all_nemeses()
{
    static const std::vector<nemesis> all{
        {{"kill-leader", victim::servers, harm::killed, false},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return s.ensemble[s.ensemble.leader()].kill(), going_on();
         }},
        {{"kill-follower", victim::servers, harm::killed, false},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return s.ensemble[s.ensemble.follower()].kill(), going_on();
         }},
        {{"kill-all", victim::servers, harm::killed, false},
         [](scene& s, random_source&, std::size_t) -> going_on {
             s.for_each_member([&](test::network::site member) { s.ensemble[member].kill(); });
             return {};
         }},
        {{"pause-leader", victim::servers, harm::stopped, true},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return s.ensemble[s.ensemble.leader()].pause(), going_on();
         }},
        {{"pause-follower", victim::servers, harm::stopped, true},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return s.ensemble[s.ensemble.follower()].pause(), going_on();
         }},
        {{"stale-leader", victim::servers, harm::stopped, true}, stale_leader},
        {{"partition-leader", victim::servers, harm::connections, true},
         [](scene& s, random_source&, std::size_t) -> going_on { return isolate(s, s.ensemble.leader()), going_on(); }},
        {{"partition-follower", victim::servers, harm::connections, true},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return isolate(s, s.ensemble.follower()), going_on();
         }},
        {{"cut-follower-from-leader", victim::servers, harm::connections, true},
         [](scene& s, random_source&, std::size_t) -> going_on {
             return s.net.cut(s.ensemble.leader(), s.ensemble.follower()), going_on();
         }},
        {{"one-way-leader", victim::servers, harm::connections, true},
         [](scene& s, random_source& random, std::size_t) -> going_on {
             const auto leader = s.ensemble.leader(), follower = s.ensemble.follower();
             if (any_of(2, random) == 0)
                 s.net.block(leader, follower);
             else
                 s.net.block(follower, leader);
             return {};
         }},
        {{"slow-servers", victim::servers, harm::connections, false},
         [](scene& s, random_source& random, std::size_t) -> going_on {
             const milliseconds delay(1 + any_of(static_cast<std::size_t>(s.chosen.tick.count()), random));
             s.for_each_member([&](test::network::site a) {
                 s.for_each_member([&](test::network::site b) {
                     if (a < b)
                         s.net.slow(a, b, delay);
                 });
             });
             return {};
         }},
        {{"kill-client", victim::clients, harm::killed, false},
         [](scene& s, random_source&, std::size_t c) -> going_on { return s.kill_client(c), going_on(); }},
        {{"pause-client", victim::clients, harm::stopped, true},
         [](scene& s, random_source&, std::size_t c) -> going_on { return s.pause_client(c), going_on(); }},
        {{"short-pause-client", victim::clients, harm::stopped, false},
         [](scene& s, random_source&, std::size_t c) -> going_on { return s.pause_client(c), going_on(); }},
        {{"overtaken-client", victim::clients, harm::stopped, true, false}, overtaken_client},
        {{"partition-client", victim::clients, harm::connections, true},
         [](scene& s, random_source&, std::size_t c) -> going_on {
             const auto client = s.site_of_client(c);
             s.for_each_member([&](test::network::site member) { s.net.cut(client, member); });
             return {};
         }},
        {{"one-way-client", victim::clients, harm::connections, true},
         [](scene& s, random_source& random, std::size_t c) -> going_on {
             const auto client = s.site_of_client(c);
             const bool requests = any_of(2, random) == 0;
             s.for_each_member([&](test::network::site member) {
                 s.net.block(requests ? client : member, requests ? member : client);
             });
             return {};
         }},
        {{"short-silence", victim::clients, harm::connections, false},
         [](scene& s, random_source&, std::size_t c) -> going_on {
             const auto client = s.site_of_client(c);
             s.for_each_member([&](test::network::site member) { s.net.cut(client, member); });
             return {};
         }},
        {{"flapping-client", victim::clients, harm::connections, false}, flapping},
        {{"half-open-at-client", victim::clients, harm::connections, true},
         [](scene& s, random_source&, std::size_t c) { return half_open(s, c, true); }},
        {{"half-open-at-server", victim::clients, harm::connections, true},
         [](scene& s, random_source&, std::size_t c) { return half_open(s, c, false); }},
        {{"slow-client", victim::clients, harm::connections, false},
         [](scene& s, random_source& random, std::size_t c) -> going_on {
             const auto client = s.site_of_client(c);
             const milliseconds delay(1 +
                                      any_of(static_cast<std::size_t>(s.chosen.session_timeout.count()) / 6, random));
             s.for_each_member([&](test::network::site member) { s.net.slow(client, member, delay); });
             return {};
         }},
    };
    return all;
}

bool has_struck(const misfortune& what, scene& s, std::size_t client)
{
    switch (what.how) {
    case harm::killed: return what.whom == victim::servers ? s.any_server_killed() : s.client_killed(client);
    case harm::stopped: return what.whom == victim::servers ? s.any_server_stopped() : s.client_stopped(client);
    case harm::connections: break;
    }
    bool disturbed = false;
    s.for_each_member([&](test::network::site member) {
        if (what.whom == victim::clients)
            disturbed = disturbed || s.net.disturbed(s.site_of_client(client), member);
        else
            s.for_each_member(
                [&](test::network::site other) { disturbed = disturbed || s.net.disturbed(member, other); });
    });
    return disturbed;
}

} // namespace zklock::chaos
