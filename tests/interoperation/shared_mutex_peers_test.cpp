// Curator's InterProcessReadWriteLock, kazoo's ReadLock and WriteLock, and our shared_mutex on the same paths.
#include "interoperation/contention.hpp"

#include <algorithm>
#include <deque>

using namespace zklock::test;

namespace {

struct turn_taker {
    peer* who;
    std::string recipe, options = {};
    bool gives_up = false; ///< when all are in the queue
};

/// The queue of a path, whose turns come in its order: readers share one with the readers next to them, past those who
/// have gone. Nobody overtakes.
class queue_of_turns {
public:
    queue_of_turns(admin_client& admin, std::string path) : admin_(admin), path_(std::move(path))
    {
        admin_.create_all(path_);
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Behind all others. It will have no turn of this queue's.
    place enqueue(const turn_taker& one)
    {
        place last{one.who, path_ + ':' + std::to_string(queued_)};
        last.acquire(one.recipe, path_, one.options);
        await_queue(admin_, path_, ++queued_);
        if (queued_ == 1) // else kazoo's reader may look when writers have come behind it, and wait for them (#649)
            last.until_granted();
        return last;
    }
    /// Behind all others, for a turn.
    place join(const turn_taker& one)
    {
        members_.push_back({enqueue(one), one.recipe == "write"});
        return members_.back().at;
    }
    /// Of all who have joined.
    void take_turns() const
    {
        for (auto turn = members_.begin(); turn != members_.end();) {
            const auto is_writer = [](const member& one) { return one.writes; };
            const auto next = turn->writes ? turn + 1 : std::find_if(turn, members_.end(), is_writer);
            for (auto each = turn; each != next; ++each)
                each->at.until_granted();
            for (auto each = next; each != members_.end(); ++each)
                CHECK_FALSE(each->at.granted());
            for (; turn != next; ++turn)
                turn->at.release();
        }
        for (const member& each : members_)
            each.at.until_done();
        await_queue(admin_, path_, 0);
    }

private:
    struct member {
        place at;
        bool writes;
    };
    admin_client& admin_;
    std::string path_;
    std::size_t queued_ = 0;
    std::vector<member> members_;
};

/// They queue in this order, some of them give up, and the others have their turns.
void queue_in_turns(admin_client& admin, journal& noted, const std::string& path, const std::vector<turn_taker>& all)
{
    CAPTURE(path);
    queue_of_turns queue(admin, path);
    std::vector<place> leaving;
    for (const turn_taker& each : all)
        if (each.gives_up)
            leaving.push_back(queue.enqueue(each));
        else
            queue.join(each);
    for (std::size_t i = 0; i < leaving.size(); ++i) {
        leaving[i].give_up();
        await_queue(admin, path, all.size() - i - 1);
    }
    queue.take_turns();
    for (const place& each : leaving) {
        each.until_done();
        CHECK_FALSE(each.granted());
    }
    expect_sound(noted);
}

} // namespace

TEST_CASE("readers and writers of all: order, sharing, exclusion, through time-outs, cancels and cuts")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    peer* const c = &curator.process;
    peer* const k = &kazoo.process;
    peer* const z = &ours.process;
    const std::string as_kazoo = "names=kazoo";
    queue_in_turns(admin, scene.noted, "/peers/rw/curator1",
                   {{c, "write"}, {z, "read"}, {c, "read"}, {z, "write"}, {c, "read"}, {z, "read"}, {c, "write"}});
    queue_in_turns(admin, scene.noted, "/peers/rw/curator2",
                   {{z, "write"}, {c, "read"}, {z, "read"}, {c, "write"}, {z, "read"}, {c, "read"}, {z, "write"}});
    // A writer that gives up lets the readers behind it in with those before it; a reader's place closes.
    const bool gives_up = true;
    queue_in_turns(admin, scene.noted, "/peers/rw/curator3",
                   {{c, "read"},
                    {z, "write", {}, gives_up},
                    {c, "read"},
                    {z, "write"},
                    {c, "read", {}, gives_up},
                    {c, "write"},
                    {z, "read"}});
    queue_in_turns(admin, scene.noted, "/peers/rw/curator4",
                   {{z, "read"},
                    {c, "write", {}, gives_up},
                    {z, "read"},
                    {c, "write"},
                    {z, "read", {}, gives_up},
                    {z, "write"},
                    {c, "read"}});
    contend(admin, scene.noted, "/peers/rw/curator",
            {{c, "read"}, {c, "write", {}, 2}, {z, "read"}, {z, "write", {}, 2}}, 10, {&curator.link, &ours.link});
    const std::string owned = "owner=1";
    contend(admin, scene.noted, "/peers/rw/curator_owned",
            {{c, "read"}, {c, "write", {}, 2}, {z, "read", owned}, {z, "write", owned, 2}, {z, "read", {}, 1}}, 10,
            {&curator.link, &ours.link});

    // A reader of kazoo's that waits, waits for the writers behind it as well, as these do for it (kazoo #649, in 2.8):
    // so nobody writes behind one here.
    queue_in_turns(
        admin, scene.noted, "/peers/rw/kazoo1",
        {{k, "read"}, {z, "read", as_kazoo}, {z, "write", as_kazoo}, {k, "write"}, {z, "read", as_kazoo}, {k, "read"}});
    queue_in_turns(admin, scene.noted, "/peers/rw/kazoo2",
                   {{k, "write"}, {z, "read", as_kazoo}, {z, "write", as_kazoo}, {k, "write"}, {z, "read", as_kazoo}});
    queue_in_turns(admin, scene.noted, "/peers/rw/kazoo3",
                   {{k, "read"},
                    {z, "write", as_kazoo, gives_up},
                    {z, "read", as_kazoo},
                    {k, "write"},
                    {z, "read", as_kazoo, gives_up},
                    {k, "write", {}, gives_up},
                    {z, "write", as_kazoo},
                    {k, "read", {}, gives_up},
                    {z, "read", as_kazoo},
                    {k, "read"}});
    queue_in_turns(admin, scene.noted, "/peers/rw/kazoo4",
                   {{z, "read", as_kazoo}, {k, "write", {}, gives_up}, {k, "read"}, {z, "read", as_kazoo}});
    contend(admin, scene.noted, "/peers/rw/kazoo",
            {{k, "write", {}, 2}, {z, "read", as_kazoo}, {z, "write", as_kazoo, 2}}, 10, {&kazoo.link, &ours.link});
    quit_and_look(server(), {c, k, z}, {"/peers/rw/curator", "/peers/rw/curator_owned", "/peers/rw/kazoo"});
}

TEST_CASE("readers and writers of two of ours hand the lock over past the servers, beside Curator's, and kazoo's")
{
    three_and_two_direct_peers all;
    auto& [scene, curator, kazoo, ours, one, two, admin, paths] = all;
    const std::string as_kazoo = "names=kazoo";
    all.until_handed_over("/peers/rw/direct/curator",
                          {{&one, "read"},
                           {&one, "write", {}, 2},
                           {&two, "read"},
                           {&two, "write", {}, 2},
                           {&ours, "write", {}, 1},
                           {&curator, "read"},
                           {&curator, "write", {}, 2}},
                          10);
    all.until_handed_over("/peers/rw/direct/kazoo",
                          {{&one, "read", as_kazoo},
                           {&one, "write", as_kazoo, 2},
                           {&two, "read", as_kazoo},
                           {&two, "write", as_kazoo, 2},
                           {&kazoo, "write", {}, 2}},
                          10);
    all.quit_and_look();
}

namespace {

/// The writer of one maker reads on, while readers and writers of the other wait.
void becomes_a_reader(admin_client& admin, journal& noted, peer* one, peer* other, bool curators,
                      const std::string& name, const std::string& options = {}, const std::string& others = {})
{
    const std::string path = "/peers/downgrade/" + name;
    CAPTURE(path);
    admin.create_all(path);
    const place holder{one, name + "holds"};
    const place reader{other, name + "reader"};
    const place writer{other, name + "writer"};
    const place late{other, name + "late"};
    holder.acquire("write", path, options);
    holder.until_granted();
    reader.acquire("read", path, others);
    await_queue(admin, path, 2);
    writer.acquire("write", path, others);
    await_queue(admin, path, 3);
    late.acquire("read", path, others);
    await_queue(admin, path, 4);
    CHECK_FALSE(reader.granted());

    one->say("downgrade " + holder.attempt);
    one->wait_for(holder.attempt, "downgraded");
    reader.until_granted();
    const auto number = number_of(noted.words_of(one->name(), holder.attempt, "downgraded").at(0));
    const auto before = number_of(noted.words_of(other->name(), reader.attempt, "granted").at(1));
    // Curator before 5.5.0 queues again as a reader, behind the waiting writer: CURATOR-621. Nothing of ours can
    // help that.
    const bool keeps_its_place = number < before;
    CHECK((curators || keeps_its_place));
    if (!keeps_its_place)
        MESSAGE("this Curator is older than 5.5: who waits behind a downgrade of its own is not shown");
    CHECK_FALSE(writer.granted()); // the reader is before it
    reader.release();
    reader.until_done();
    if (keeps_its_place) {
        late.who->say("acquire " + name + "try read " + path + " wait=50 hold=0");
        late.who->wait_for(name + "try", "done"); // the writer goes first
        CHECK(late.who->count(name + "try", "gave-up") == 1);
        CHECK_FALSE(writer.granted());
        CHECK_FALSE(late.granted());
    }
    holder.release();
    holder.until_done();
    writer.until_granted();
    CHECK_FALSE(late.granted());
    writer.release();
    late.until_granted();
    late.release();
    writer.until_done();
    late.until_done();
    await_queue(admin, path, 0);
    if (keeps_its_place)
        expect_sound(noted);
}

} // namespace

TEST_CASE("a writer becomes a reader: ours while Curator's wait, Curator's while ours wait")
{
    two_peers both(maker::curator);
    auto& [scene, curator, ours, admin] = both;
    becomes_a_reader(admin, scene.noted, &ours, &curator, false, "zklock");
    becomes_a_reader(admin, scene.noted, &curator, &ours, true, "curator");
    quit_and_look(server(), {&curator, &ours}, {"/peers/downgrade/curator", "/peers/downgrade/zklock"});
}

TEST_CASE("an owner of ours writes, reads, and reads on, while Curator's wait, and waits for Curator's")
{
    two_peers both(maker::curator);
    auto& [scene, curator, ours, admin] = both;
    becomes_a_reader(admin, scene.noted, &ours, &curator, false, "owned", "owner=1");
    becomes_a_reader(admin, scene.noted, &curator, &ours, true, "waited_for", {}, "owner=1");
    quit_and_look(server(), {&curator, &ours}, {"/peers/downgrade/owned", "/peers/downgrade/waited_for"});
}

TEST_CASE("readers and writers of each are killed, as holders and as waiters: the others go on, in order")
{
    mortal_peers all;
    auto& [scene, curator, kazoo, ours, curator_victim, kazoo_victim, our_victim, admin] = all;
    struct couple {
        std::string name, option; ///< of ours on their paths
        peer *theirs, *victim;
    };
    const couple couples[] = {{"curator", {}, &curator, &curator_victim},
                              {"kazoo", "names=kazoo", &kazoo, &kazoo_victim}};

    struct scene_of_death {
        queue_of_turns queue;
        std::string node_of_the_dead = {};
        std::vector<place> waiting = {};
    };
    std::deque<scene_of_death> deaths;
    for (const couple& each : couples)
        for (const bool ours_first : {false, true}) {
            const std::string above = "/peers/rw/killed_" + each.name + (ours_first ? "/ours_" : "/theirs_");
            const auto victim = [&](bool of_ours, const std::string& recipe) {
                return of_ours ? turn_taker{&our_victim, recipe, each.option} : turn_taker{each.victim, recipe};
            };
            const auto survivor = [&](bool of_ours, const std::string& recipe) {
                return of_ours ? turn_taker{&ours, recipe, each.option} : turn_taker{each.theirs, recipe};
            };
            // A victim holds, the other one waits for it, and then those who will live.
            for (const auto& [holds, waits] : {std::pair{"write", "read"}, {"read", "write"}}) {
                scene_of_death& one = deaths.emplace_back(scene_of_death{queue_of_turns(admin, above + holds)});
                const place holder = one.queue.enqueue(victim(ours_first, holds));
                holder.until_granted();
                one.node_of_the_dead = scene.noted.words_of(holder.who->name(), holder.attempt, "granted").at(1);
                one.waiting.push_back(one.queue.enqueue(victim(!ours_first, waits)));
                for (const bool of_ours : {false, true})
                    one.waiting.push_back(one.queue.join(survivor(of_ours, "write")));
                for (const bool of_ours : {false, true}) // kazoo's wait for writers behind them, too: there are none
                    one.waiting.push_back(one.queue.join(survivor(of_ours, "read")));
            }
            // A writer that waits is the only victim: the reader behind it joins the one before it.
            scene_of_death& one = deaths.emplace_back(scene_of_death{queue_of_turns(admin, above + "between")});
            one.queue.join(survivor(ours_first, "read")).until_granted();
            one.waiting.push_back(one.queue.enqueue(victim(!ours_first, "write")));
            one.waiting.push_back(one.queue.join(survivor(!ours_first, "read")));
        }
    for (const scene_of_death& each : deaths)
        for (const place& one : each.waiting)
            CHECK_FALSE(one.granted());
    for (peer* victim : {&our_victim, &curator_victim, &kazoo_victim})
        victim->kill();
    std::vector<std::string> paths;
    for (const scene_of_death& each : deaths) {
        CAPTURE(each.queue.path());
        each.queue.take_turns();
        if (!each.node_of_the_dead.empty())
            CHECK_FALSE(admin.exists(each.node_of_the_dead));
        paths.push_back(each.queue.path());
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&ours, &curator, &kazoo}, paths);
}
