// Programs with names of their own, in one queue with our mutex, which is told to heed them: as they are migrated one
// by one.
#include "interoperation/contention.hpp"

using namespace zklock::test;

TEST_CASE("a lock name of one's own: Curator with its own driver, kazoo with a subclass, and ours with that mark")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    const std::vector<rival> stock{
        {&curator.process, "stock"}, {&ours.process, "mutex", "mark=-stock-"}, {&kazoo.process, "stock"}};
    queue_in_order(admin, scene.noted, "/names/ordered/stock", "_c_6fa459ea-ee8a-3ca4-894e-db77e160355e-stock-", stock);
    contend(admin, scene.noted, "/names/stock", stock, 20, {&curator.link, &ours.link, &kazoo.link, &ours.link});

    // Ours with its usual names, told to heed another one: kazoo's are heeded anyway.
    const std::vector<rival> beside{{&ours.process, "mutex", "heeds=-stock- names=kazoo"},
                                    {&kazoo.process, "mutex+stock"}};
    queue_in_order(admin, scene.noted, "/names/ordered/beside", "6fa459ea-stock-", beside);
    contend(admin, scene.noted, "/names/beside", beside, 20, {&ours.link, &kazoo.link});
    quit_and_look(server(), {&curator.process, &kazoo.process, &ours.process}, {"/names/stock", "/names/beside"});
}

TEST_CASE("bare numbers: a flash sale that compares numbers, kazoo told to heed them, Curator by the number, and ours")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    const std::vector<rival> sale{{&kazoo.process, "sale"}, {&ours.process, "mutex", "heeds=bare"}};
    queue_in_order(admin, scene.noted, "/names/ordered/sale", "", sale);
    // The sale's program would not survive a cut: its nodes cannot be told from others'.
    contend(admin, scene.noted, "/names/sale", sale, 20, {&ours.link});

    const std::vector<rival> mixed{{&kazoo.process, "sale"},
                                   {&ours.process, "mutex", "mark=-stock- heeds=bare"},
                                   {&curator.process, "any-number"},
                                   {&kazoo.process, "mutex+stock"}};
    queue_in_order(admin, scene.noted, "/names/ordered/mixed", "", mixed);
    contend(admin, scene.noted, "/names/mixed", mixed, 20, {&ours.link, &curator.link});
    quit_and_look(server(), {&curator.process, &kazoo.process, &ours.process}, {"/names/sale", "/names/mixed"});
}
