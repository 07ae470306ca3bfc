// Curator's InterProcessMutex, kazoo's Lock, the recipes of ZooKeeper itself and our mutex, each in a process of its
// own, on the same paths.
#include "interoperation/contention.hpp"

using namespace zklock::test;

TEST_CASE("all of them on one path: in the order of their numbers, through time-outs, cancels and cuts")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    const std::vector<proxy*> links{&curator.link, &ours.link, &kazoo.link, &ours.link};
    const std::string go = "_c_6fa459ea-ee8a-3ca4-894e-db77e160355e-lock-"; // as go-zookeeper calls them, too

    // Curator's names, and kazoo's Lock with nodes that are called so.
    const std::vector<rival> as_curator{
        {&curator.process, "mutex"}, {&ours.process, "mutex"}, {&kazoo.process, "curator"}};
    queue_in_order(admin, scene.noted, "/peers/ordered/curator", go, as_curator);
    contend(admin, scene.noted, "/peers/curator", as_curator, 20, links);

    // kazoo as it comes, and ours with its names.
    const std::vector<rival> as_kazoo{{&kazoo.process, "mutex"}, {&ours.process, "mutex", "names=kazoo"}};
    queue_in_order(admin, scene.noted, "/peers/ordered/kazoo", "6fa459eaee8a3ca4894edb77e160355e__lock__", as_kazoo);
    contend(admin, scene.noted, "/peers/kazoo", as_kazoo, 20, links);

    // kazoo with its own names, told to heed Curator's: then ours may have those.
    const std::vector<rival> mixed{{&kazoo.process, "mutex+curator"}, {&ours.process, "mutex"}};
    queue_in_order(admin, scene.noted, "/peers/ordered/mixed", go, mixed);
    contend(admin, scene.noted, "/peers/mixed", mixed, 20, links);

    quit_and_look(server(), {&curator.process, &kazoo.process, &ours.process},
                  {"/peers/curator", "/peers/kazoo", "/peers/mixed"});
}

TEST_CASE("one's node lingers or serves a cohort: the others have their turns")
{
    two_peers both(maker::kazoo);
    auto& [scene, kazoo, ours, admin] = both;
    contend(admin, scene.noted, "/peers/linger", {{&ours, "mutex", "linger=60000 names=kazoo"}, {&kazoo, "mutex"}}, 20);
    contend(admin, scene.noted, "/peers/cohort", {{&ours, "mutex", "cohort=5 names=kazoo"}, {&kazoo, "mutex"}}, 20);
    quit_and_look(server(), {&kazoo, &ours}, {"/peers/linger", "/peers/cohort"});
}

TEST_CASE("two of ours that hand the lock over past the servers, beside one that does not, Curator and kazoo")
{
    three_and_two_direct_peers all;
    auto& [scene, curator, kazoo, ours, one, two, admin, paths] = all;
    const std::string go = "_c_6fa459ea-ee8a-3ca4-894e-db77e160355e-lock-";
    const std::vector<rival> in_line{{&one, "mutex"},     {&two, "mutex"}, {&curator, "mutex"},
                                     {&kazoo, "curator"}, {&one, "mutex"}, {&ours, "mutex"}};
    queue_in_order(admin, scene.noted, "/peers/ordered/direct", go, in_line);
    all.until_handed_over("/peers/direct/alone", {{&one, "mutex"}, {&two, "mutex"}}, 30);
    all.until_handed_over(
        "/peers/direct/all",
        {{&one, "mutex"}, {&two, "mutex"}, {&ours, "mutex"}, {&curator, "mutex"}, {&kazoo, "curator"}}, 10);
    all.until_handed_over("/peers/direct/kazoo",
                          {{&one, "mutex", "names=kazoo"}, {&two, "mutex", "names=kazoo"}, {&kazoo, "mutex"}}, 20);
    all.quit_and_look();
}

TEST_CASE("Curator's Revoker asks ours, and ours asks Curator's: holders, and those who wait")
{
    two_peers both(maker::curator);
    auto& [scene, curator, ours, admin] = both;
    const std::string path = "/peers/revoked";
    admin.create_all(path);
    for (const auto& [asked, asking] : {std::pair{&ours, &curator}, {&curator, &ours}}) {
        const place holder{asked, asked->name() + "holds"}, waiter{asked, asked->name() + "waits"};
        holder.acquire("mutex", path, "revocable=1");
        holder.until_granted();
        waiter.acquire("mutex", path, "revocable=1");
        await_queue(admin, path, 2);
        const std::string node = scene.noted.words_of(asked->name(), holder.attempt, "granted").at(1);
        std::string waiting_node;
        for (const auto& name : admin.children(path))
            if (path + "/" + name != node)
                waiting_node = path + "/" + name;
        asking->say("revoke " + node);
        asked->wait_for(holder.attempt, "revoked");
        CHECK(asked->count(holder.attempt, "leaving") == 0); // it is a request
        CHECK(asked->count(waiter.attempt, "revoked") == 0);
        asking->say("revoke " + waiting_node);
        wait_until("it was asked", default_limit, [&] { return admin.get(waiting_node) == "__REVOKE__"; });
        holder.release();
        asked->wait_for(waiter.attempt, "revoked");
        waiter.until_granted();
        waiter.release();
        waiter.until_done();
        await_queue(admin, path, 0);
    }
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator, &ours}, {path});
}

TEST_CASE("a holder and a waiter of each are killed, and a holder of ours is cut off: the others go on, in order")
{
    mortal_peers all;
    auto& [scene, curator, kazoo, ours, curator_victim, kazoo_victim, our_victim, admin] = all;
    const std::vector<rival> dying{{&curator_victim, "mutex"}, {&kazoo_victim, "curator"}, {&our_victim, "mutex"}};
    const std::vector<rival> living{{&curator, "mutex"}, {&kazoo, "curator"}, {&ours, "mutex"}};
    // Told by its own clock a quarter of its time-out earlier than the servers would: the machine may stand still for
    // so long.
    remote_peer lonely(scene, maker::zklock, "zklock-lonely", server().port(), 12s);
    lonely.process.wait_ready();

    // On each path one of them holds, the next one waits, and then those who will live, each path with another first.
    std::vector<std::string> paths;
    std::vector<std::vector<place>> turns;
    std::vector<std::string> nodes_of_the_dead;
    for (std::size_t p = 0; p < 4; ++p) {
        const std::string path = "/peers/killed/" + std::to_string(p);
        const std::string n = std::to_string(p);
        admin.create_all(path);
        paths.push_back(path);
        std::size_t queued = 0;
        const rival cut_off{&lonely.process, "mutex"};
        const rival& holder = p < dying.size() ? dying[p] : cut_off;
        holder.acquire("holds" + n, path).until_granted();
        nodes_of_the_dead.push_back(scene.noted.words_of(holder.who->name(), "holds" + n, "granted").at(1));
        await_queue(admin, path, ++queued);
        dying[(p + 1) % dying.size()].acquire("waits" + n, path);
        await_queue(admin, path, ++queued);
        turns.emplace_back();
        for (std::size_t i = 0; i < living.size(); ++i) {
            const rival& one = living[(p + i) % living.size()];
            turns.back().push_back(one.acquire("turn" + n + std::to_string(i), path));
            await_queue(admin, path, ++queued);
        }
    }
    for (const rival& each : dying)
        each.who->kill();
    lonely.link.block();
    for (std::size_t i = 0; i < living.size(); ++i)
        for (std::size_t p = 0; p < paths.size(); ++p) {
            turns[p][i].until_granted();
            CHECK_FALSE(admin.exists(nodes_of_the_dead[p]));
            turns[p][i].release();
        }
    CHECK(lonely.process.count("holds3", "leaving") == 1); // it was told
    lonely.link.unblock();
    lonely.process.say("release holds3");
    lonely.process.wait_for("holds3", "done");
    for (const auto& path : turns)
        for (const place& each : path)
            each.until_done();
    CHECK(violations(scene.noted.events()) == "");
    quit_and_look(server(), {&lonely.process, &curator, &kazoo, &ours}, paths);
}
