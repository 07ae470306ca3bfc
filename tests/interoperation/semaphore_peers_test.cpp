// Curator's InterProcessSemaphoreV2, kazoo's Semaphore and our semaphore: never more permits than there are, and nobody
// is left waiting.
#include "interoperation/contention.hpp"

#include <deque>

using namespace zklock::test;

namespace {

/// Whose semaphores ours are to share a path with: each has its layout.
struct semaphore_layout {
    maker theirs;
    std::string name;
    std::string option = {}; ///< of ours

    [[nodiscard]] std::string leases(const std::string& path) const
    {
        return theirs == maker::curator ? path + "/leases" : path;
    }
    [[nodiscard]] std::string line(const std::string& path) const
    {
        return theirs == maker::curator ? path + "/locks" : path + "-__lock__";
    }
};

const semaphore_layout of_curator{maker::curator, "curator"};
const semaphore_layout of_kazoo{maker::kazoo, "kazoo", "names=kazoo "};

/// A semaphore with what is to happen to it, and who queues.
struct gate {
    gate(admin_client& admin, peer_scene& scene, const semaphore_layout& l, std::string at, std::size_t permits)
        : admin(admin), noted(scene.noted), kind(l), path(std::move(at)), total(permits)
    {
        admin.create_all(kind.leases(path));
        admin.create_all(kind.line(path));
        noted.limit(kind.leases(path), permits);
    }

    place acquire(peer& who, const std::string& attempt, std::size_t take = 1) const
    {
        const place one{&who, path + ':' + attempt};
        const bool ours = who.name().starts_with("zklock");
        one.acquire("semaphore", path,
                    "permits=" + std::to_string(total) + " take=" + std::to_string(take) + " " +
                        (ours ? kind.option : std::string()) + options);
        return one;
    }
    place hold(peer& who, const std::string& attempt, std::size_t take = 1) const
    {
        place one = acquire(who, attempt, take);
        one.until_granted();
        return one;
    }
    /// Behind all those who wait already.
    place queue(peer& who, const std::string& attempt, std::size_t take = 1)
    {
        place one = acquire(who, attempt, take);
        await_queue(admin, kind.line(path), ++queued);
        return one;
    }
    /// The first in the line: it has made its leases, if it is one of those who do so before there is room for them.
    place queue_first(peer& who, const std::string& attempt, std::size_t take = 1)
    {
        const std::size_t held = admin.children(kind.leases(path)).size();
        place one = queue(who, attempt, take);
        if (kind.theirs == maker::curator || who.name().starts_with("zklock"))
            until_leases(held + take);
        return one;
    }
    void until_leases(std::size_t count) const { await_queue(admin, kind.leases(path), count); }
    [[nodiscard]] std::string node_of(const place& holder) const
    {
        return noted.words_of(holder.who->name(), holder.attempt, "granted").at(1);
    }
    void until_nothing_left() const
    {
        until_leases(0);
        await_queue(admin, kind.line(path), 0);
    }

    admin_client& admin;
    journal& noted;
    const semaphore_layout& kind;
    const std::string path;
    const std::size_t total;
    std::string options = {};
    std::size_t queued = 0;
};

/// Until Curator's semaphore goes by that count. It is told in the background, some time after the count was set, while
/// ours hears of it before it reads anything that was written later.
void until_told(journal& noted, const place& who, const std::string& permits)
{
    wait_until(who.attempt + " is told of the count", default_limit, [&] {
        const std::string& peer = who.who->name();
        return noted.count(peer, who.attempt, "permits") != 0 &&
               noted.words_of(peer, who.attempt, "permits").at(0) == permits;
    });
}

/// Where leases and lines of all semaphores of the test are.
std::vector<std::string> all_places(const journal& noted)
{
    constexpr std::string_view of_curators = "/leases";
    std::vector<std::string> all;
    for (const auto& [leases, permits] : noted.permits()) {
        all.push_back(leases);
        const bool curators = leases.ends_with(of_curators);
        all.push_back(curators ? of_curator.line(leases.substr(0, leases.size() - of_curators.size()))
                               : of_kazoo.line(leases));
    }
    return all;
}

} // namespace

TEST_CASE("permits taken one by one and several at once, through time-outs and cuts")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    peer* const c = &curator.process;
    peer* const k = &kazoo.process;
    peer* const z = &ours.process;
    // They hold for long enough that all permits are in use, mostly.
    const auto all_at = [&](const semaphore_layout& kind, const std::string& path, std::size_t permits,
                            std::vector<rival> who, const std::vector<proxy*>& links) {
        for (rival& each : who)
            each.options +=
                " hold=25 permits=" + std::to_string(permits) + " " + (each.who == z ? kind.option : std::string());
        contend(admin, scene.noted, path, who, 10, links, {{kind.leases(path), permits}});
        await_queue(admin, kind.line(path), 0);
    };
    const std::vector<proxy*> with_curator{&curator.link, &ours.link};
    all_at(of_curator, "/peers/semaphore/ones", 3, {{c, "semaphore"}, {z, "semaphore"}}, with_curator);
    // Ours takes three together among those who take one, and is not passed by for ever.
    all_at(of_curator, "/peers/semaphore/three", 4,
           {{c, "semaphore"}, {z, "semaphore", "take=3", 2}, {z, "semaphore", {}, 2}}, with_curator);
    // Curator takes several one after the other, and keeps what it has meanwhile: three at once could leave too few for
    // ours at the head of the line, and wait behind it.
    all_at(of_curator, "/peers/semaphore/many", 5, {{c, "semaphore", "take=2", 2}, {z, "semaphore", "take=3", 2}},
           with_curator);

    all_at(of_kazoo, "/peers/semaphore/kazoo", 2, {{k, "semaphore"}, {z, "semaphore"}}, {&ours.link});
    // What a time-out leaves is deleted by kazoo as well as it can, once: so it is not cut off while it has any.
    all_at(of_kazoo, "/peers/semaphore/kazoo_three", 3,
           {{k, "semaphore", {}, 1}, {k, "semaphore", {}, 1}, {z, "semaphore", "take=3", 2}, {z, "semaphore", {}, 2}},
           {&kazoo.link, &ours.link});
    quit_and_look(server(), {c, k, z}, all_places(scene.noted));
}

TEST_CASE("whoever wants several is not overtaken by those who want one, and has them all or none")
{
    three_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    for (const auto& [kind, theirs] : {std::pair{&of_curator, &curator}, {&of_kazoo, &kazoo}}) {
        CAPTURE(kind->name);
        gate at(admin, scene, *kind, "/peers/several_" + kind->name, 3);
        const place one = at.hold(*theirs, "one");
        const place another = at.hold(*theirs, "another");
        const place three = at.queue_first(ours, "three", 3);
        const place behind = at.queue(*theirs, "behind");
        const place last = at.queue(ours, "last", 2);
        one.release();
        one.until_done();
        CHECK_FALSE(three.granted());
        CHECK_FALSE(behind.granted()); // there is room for one, but it is not its turn
        another.release();
        three.until_granted();
        CHECK(admin.children(kind->leases(at.path)).size() >= 3);
        CHECK_FALSE(behind.granted());
        CHECK_FALSE(last.granted());
        three.release();
        behind.until_granted();
        last.until_granted(); // together with it
        behind.release();
        last.release();
        for (const place& each : {one, another, three, behind, last})
            each.until_done();
        at.until_nothing_left();
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &kazoo, &ours}, all_places(scene.noted));
}

TEST_CASE("who waits gives up, at the head of the line and in its middle: the next one has its turn")
{
    three_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    for (const auto& [kind, theirs] : {std::pair{&of_curator, &curator}, {&of_kazoo, &kazoo}})
        for (const auto& [first, other] : {std::pair{theirs, &ours}, {&ours, theirs}}) {
            CAPTURE(kind->name);
            CAPTURE(first->name());
            gate at(admin, scene, *kind, "/peers/given_up_" + kind->name + "/" + first->name(), 2);
            const place holder = at.hold(*other, "holder");
            const place second = at.hold(*first, "second");
            const place head = at.queue_first(*first, "head");
            const place of_ours = at.queue(ours, "middle", 2);
            const place next = at.queue(*other, "next");
            const place last = at.queue(*first, "last");
            of_ours.give_up();
            await_queue(admin, kind->line(at.path), 3);
            if (kind->theirs == maker::curator) { // kazoo's cannot be told before it is the first
                const place theirs_too = at.acquire(curator, "too");
                await_queue(admin, kind->line(at.path), 4);
                theirs_too.give_up();
                await_queue(admin, kind->line(at.path), 3);
            }
            CHECK_FALSE(head.granted());
            head.give_up();
            await_queue(admin, kind->line(at.path), 2);
            CHECK_FALSE(next.granted());
            holder.release();
            next.until_granted();
            CHECK_FALSE(last.granted());
            second.release();
            last.until_granted();
            next.release();
            last.release();
            for (const place& each : {holder, second, head, of_ours, next, last})
                each.until_done();
            at.until_nothing_left();
        }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &kazoo, &ours}, all_places(scene.noted));
}

TEST_CASE("holders, the first in the line and one behind it are killed: their permits and places are free")
{
    mortal_peers all;
    auto& [scene, curator, kazoo, ours, curator_victim, kazoo_victim, our_victim, admin] = all;
    struct couple {
        const semaphore_layout* kind;
        peer *theirs, *victim;
    };
    const couple couples[] = {{&of_curator, &curator, &curator_victim}, {&of_kazoo, &kazoo, &kazoo_victim}};

    // Of each semaphore a victim of theirs holds and one of ours; then a victim waits with its leases made, the other
    // behind it, and then those who will live.
    struct scene_of_death {
        gate at;
        std::vector<std::string> nodes_of_the_dead;
        place one, three, last;
    };
    std::deque<scene_of_death> deaths;
    for (const couple& each : couples)
        for (const bool ours_first : {false, true}) {
            const std::string path = "/peers/killed_" + each.kind->name + (ours_first ? "/ours" : "/theirs");
            gate at(admin, scene, *each.kind, path, 3);
            const place their_hold = at.hold(*each.victim, "theirs");
            const place our_hold = at.hold(our_victim, "ours", 2);
            at.queue_first(ours_first ? our_victim : *each.victim, "first", ours_first ? 2 : 1);
            at.queue(ours_first ? *each.victim : our_victim, "next");
            const place one = at.queue(*each.theirs, "one");
            const place three = at.queue(ours, "three", 3);
            const place last = at.queue(*each.theirs, "last");
            deaths.push_back({at, {at.node_of(their_hold), at.node_of(our_hold)}, one, three, last});
        }
    for (peer* victim : {&our_victim, &curator_victim, &kazoo_victim})
        victim->kill();
    for (scene_of_death& each : deaths) {
        CAPTURE(each.at.path);
        each.one.until_granted();
        CHECK_FALSE(each.three.granted());
        each.one.release();
        each.three.until_granted();
        for (const std::string& node : each.nodes_of_the_dead)
            CHECK_FALSE(admin.exists(node));
        CHECK_FALSE(each.last.granted());
        each.three.release();
        each.last.until_granted();
        each.last.release();
        for (const place& living : {each.one, each.three, each.last})
            living.until_done();
        each.at.until_nothing_left();
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &kazoo, &ours}, all_places(scene.noted));
}

TEST_CASE("a holder of ours is cut off: it is told before others have its permits")
{
    peer_scene scene;
    peer curator(scene, maker::curator, "curator", server().address());
    peer kazoo(scene, maker::kazoo, "kazoo", server().address());
    remote_peer lonely(scene, maker::zklock, "zklock-lonely", server().port(), 12s); // told a quarter of that early
    for (peer* each : {&curator, &kazoo, &lonely.process})
        each->wait_ready();
    admin_client admin(server().port());
    struct waiting {
        gate at;
        place holder, next;
    };
    std::deque<waiting> all;
    for (const auto& [kind, theirs] : {std::pair{&of_curator, &curator}, {&of_kazoo, &kazoo}}) {
        gate at(admin, scene, *kind, "/peers/lonely_" + kind->name, 2);
        const place holder = at.hold(lonely.process, "holder", 2);
        const place next = at.queue_first(*theirs, "next");
        all.push_back({at, holder, next});
    }
    lonely.link.block();
    for (const waiting& each : all) {
        CAPTURE(each.at.path);
        each.next.until_granted();
        CHECK(lonely.process.count(each.holder.attempt, "leaving") == 1);
    }
    lonely.link.unblock();
    for (const waiting& each : all) {
        each.holder.release();
        each.next.release();
        each.holder.until_done();
        each.next.until_done();
        each.at.until_nothing_left();
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &kazoo, &lonely.process}, all_places(scene.noted));
}

TEST_CASE("how many there are is told by Curator's SharedCount, whoever made it, and may grow and shrink")
{
    two_peers both(maker::curator);
    auto& [scene, curator, ours, admin] = both;
    const auto number = [](char n) { return std::string{'\0', '\0', '\0', n}; };
    for (const auto& [maker_of_count, other] : {std::pair{&curator, &ours}, {&ours, &curator}}) {
        CAPTURE(maker_of_count->name());
        gate at(admin, scene, of_curator, "/peers/counted_by_" + maker_of_count->name(), 2);
        const std::string count = "/peers/count_of_" + maker_of_count->name();
        at.options = " count=" + count;
        const place one = at.hold(*maker_of_count, "one");
        CHECK(admin.get(count) == number(2));
        const place two = at.hold(*other, "two");
        const place third = at.queue_first(*other, "third");
        const place fourth = at.queue(*maker_of_count, "fourth");
        scene.noted.limit(of_curator.leases(at.path), 3);
        admin.set(count, number(3));
        third.until_granted();
        at.until_leases(4); // the fourth's is there
        CHECK_FALSE(fourth.granted());
        admin.set(count, number(1));
        if (fourth.who == &curator)
            until_told(scene.noted, fourth, "1"); // until then it would share the three with the third
        one.release();
        one.until_done();
        two.release();
        two.until_done();
        CHECK_FALSE(fourth.granted()); // the one that is left is taken
        third.release();
        fourth.until_granted();
        fourth.release();
        third.until_done();
        fourth.until_done();
        at.until_nothing_left();
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &ours}, all_places(scene.noted));
}

TEST_CASE("kazoo and ours compare how many each of them means, whoever said it first")
{
    two_peers both(maker::kazoo);
    auto& [scene, kazoo, ours, admin] = both;
    for (const auto& [first, other] : {std::pair{&kazoo, &ours}, {&ours, &kazoo}}) {
        const std::string path = "/peers/compared_by_" + first->name();
        CAPTURE(path);
        scene.noted.limit(path, 3);
        const auto acquire = [&](peer& who, const std::string& attempt, const std::string& permits) {
            const place one{&who, attempt + first->name()};
            one.acquire("semaphore", path, "permits=" + permits + " names=kazoo check=1 hold=0");
            return one;
        };
        acquire(*first, "says", "3").until_done();
        CHECK(admin.get(path) == "3");
        other->wait_for(acquire(*other, "differs", "4").attempt, "failed");
        // A client means one number for a path as long as it uses it: until its place in the line is deleted, which is
        // answered before what it asks for now.
        const place elsewhere{other, "elsewhere" + first->name()};
        elsewhere.acquire("mutex", path + "_elsewhere", "hold=0");
        elsewhere.until_done();
        acquire(*other, "agrees", "3").until_done();
        await_queue(admin, path, 0);
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&kazoo, &ours}, all_places(scene.noted));
}
