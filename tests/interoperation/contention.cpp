#include "interoperation/contention.hpp"

#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"

#include <algorithm>

namespace zklock::test {

void wait_ready(const std::vector<peer*>& peers)
{
    for (peer* each : peers)
        each->wait_ready();
}

void await_queue(admin_client& admin, const std::string& path, std::size_t count)
{
    wait_until(std::to_string(count) + " in the queue of " + path, default_limit,
               [&] { return admin.children(path).size() == count; });
}

/// Their turns come in the order in which they have queued, one at a time, past those who gave up; the first place is a
/// node that belongs to nobody here.
void queue_in_order(admin_client& admin, journal& noted, const std::string& path, const std::string& first,
                    const std::vector<rival>& contenders)
{
    CAPTURE(path);
    admin.create_all(path);
    const std::string obstacle = admin.create(path + "/" + first, {}, create_mode::ephemeral_sequential);
    std::vector<place> turns;
    std::size_t queued = 1;
    for (const char* round : {"a", "b", "c"})
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            const std::string name = path.substr(path.rfind('/') + 1) + round + std::to_string(i);
            const place last = contenders[i].acquire(name, path);
            await_queue(admin, path, ++queued);
            if (*round == 'b') { // in the middle of the queue, each in turn gives up
                last.give_up();
                await_queue(admin, path, --queued);
            } else {
                turns.push_back(last);
            }
        }
    for (const rival& one : contenders) {
        const std::string name = path.substr(path.rfind('/') + 1) + "late" + one.who->name() + one.recipe;
        one.acquire(name, path, "wait=50");
        one.who->wait_for(name, "gave-up");
        await_queue(admin, path, queued);
    }
    admin.keep_alive();
    admin.remove(obstacle);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        turns[i].until_granted();
        for (std::size_t later = i + 1; later < turns.size(); ++later)
            CHECK_FALSE(turns[later].granted());
        turns[i].release();
    }
    for (const place& each : turns)
        each.until_done();
    expect_sound(noted);
    await_queue(admin, path, 0);
}

/// All of them at once, several attempts each, some of which run out of time; between the turns connections are cut.
void contend(admin_client& admin, journal& noted, const std::string& path, const std::vector<rival>& contenders,
             int times, const std::vector<proxy*>& links, const std::map<std::string, std::size_t>& permits)
{
    CAPTURE(path);
    admin.create_all(path);
    for (const auto& [held, count] : permits)
        noted.limit(held, count);
    std::vector<place> all;
    for (const rival& one : contenders) {
        const bool is_cut = std::ranges::count(links, one.who->servers(), &proxy::address) != 0;
        const bool may_give_up = one.who->cleans_up() || !is_cut;
        for (int i = 0; i < one.attempts; ++i) {
            const auto which = static_cast<char>('a' + (&one - contenders.data()));
            const std::string name =
                path.substr(path.rfind('/') + 1) + which + one.who->name() + one.recipe + std::to_string(i);
            const std::string hold = one.options.find("hold=") == std::string::npos ? "hold=1 " : "";
            all.push_back(one.acquire(
                name, path, hold + "times=" + std::to_string(times) + (may_give_up && i % 2 ? " wait=40" : "")));
        }
    }
    const auto ended = [&] {
        std::size_t count = 0;
        for (const auto& [one, name] : all)
            count += one->count(name, "done");
        return count == all.size();
    };
    const auto grants = [&] {
        std::size_t count = 0;
        for (const auto& [one, name] : all) {
            count += one->count(name, "granted");
            REQUIRE(one->count(name, "failed") == 0);
        }
        return count;
    };
    std::size_t cuts = 0;
    for (const std::size_t step = 12; !ended(); ++cuts) {
        const std::size_t next = (cuts + 1) * step;
        wait_until("more grants", default_limit, [&] { return grants() >= next || ended(); });
        if (!links.empty() && !ended())
            links[cuts % links.size()]->cut();
    }
    expect_sound(noted);
    CHECK(grants() >= contenders.size() * static_cast<std::size_t>(times));
    for (const auto& [one, name] : all)
        if (name.back() == '0') // who waited for as long as it took
            CHECK(one->count(name, "granted") == static_cast<std::size_t>(times));
    if (permits.empty())
        await_queue(admin, path, 0);
    for (const auto& [held, count] : permits)
        await_queue(admin, held, 0);
}

void three_and_two_direct_peers::until_handed_over(const std::string& path, const std::vector<rival>& contenders,
                                                   int times)
{
    const auto both = [this] {
        const auto its = one.handed_over();
        const auto others = two.handed_over();
        return peer::handoffs{its.taken + others.taken, its.given + others.given};
    };
    const peer::handoffs before = both();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool handed_over = false;
    for (int round = 0; !handed_over; ++round) { // mostly at once; but the servers may be faster each time
        CAPTURE(path);
        REQUIRE(std::chrono::steady_clock::now() < limit);
        paths.push_back(path + std::to_string(round));
        contend(admin, scene.noted, paths.back(), contenders, times);
        const peer::handoffs now = both();
        handed_over = now.taken > before.taken && now.given > before.given;
    }
}

void three_and_two_direct_peers::quit_and_look()
{
    test::quit_and_look(server(), {&curator, &kazoo, &ours, &one, &two}, paths);
}

void quit_and_look(zookeeper_server& server, const std::vector<peer*>& peers, const std::vector<std::string>& paths)
{
    for (const auto& [session, nodes] : ephemerals(server.port()))
        for (const auto& node : nodes)
            FAIL_CHECK("left: " << node);
    for (peer* each : peers)
        each->quit();
    expect_clean(server, paths);
}

} // namespace zklock::test
