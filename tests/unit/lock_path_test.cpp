// The path of a lock by itself: what it asks the store for, when it is idle, and what its contenders are told at its
// end.
#include "session_scene.hpp"

using namespace zklock::unit;
using recipes::path_options;

namespace {

/// The path /p of a client, with nobody who keeps it.
struct lock_path_scene : scene {
    explicit lock_path_scene(bool connected = true)
    {
        start();
        if (connected)
            connect();
        path = make_another();
    }
    std::unique_ptr<recipes::lock_path> make_another()
    {
        return std::make_unique<recipes::lock_path>(*session, "/p", path_options({}, contender_kind::mutex),
                                                    [this] { ++told_idle; });
    }
    std::shared_ptr<attempt> join()
    {
        return acquire_by([this](recipes::acquire_call call) {
            return path->acquire(++last, {std::move(call), {"/p", {}}});
        });
    }
    /// The first of all: number 0, by the transaction 42.
    std::shared_ptr<attempt> join_and_hold()
    {
        const auto a = join();
        asked(*this).to("create /p/" + prefix(1)).number(42, 0).to("watch /p").show(one_child(42)).nothing_else();
        REQUIRE(a->ended == error_code());
        return a;
    }

    std::unique_ptr<recipes::lock_path> path;
    int told_idle = 0;
    queue::contender_id last = 0;
};

} // namespace

TEST_CASE("a new one is idle; in use it is not; then it tells so, once and later, and is kept for what it knows")
{
    lock_path_scene s;
    CHECK(s.path->idle());
    CHECK(s.path->finished());
    const auto a = s.join_and_hold();
    CHECK(a->given.node == "/p/" + scene::node(1, 0));
    CHECK_FALSE(s.path->idle());
    s.release(*a);
    CHECK_FALSE(s.path->idle()); // the delete is under way
    const auto remove = asked(s).to("remove /p/" + scene::node(1, 0)).nothing_else().kept();
    remove.answer(outcome::ok);
    CHECK(s.path->idle());
    CHECK(s.told_idle == 0);
    s.clock.run();
    CHECK(a->released == error_code());
    CHECK(s.told_idle == 1);
    CHECK_FALSE(s.path->finished()); // it is told of what happens there

    const auto b = s.join();
    asked(s).to("create /p/" + prefix(2)).number(44, 1).nothing_else(); // nothing is read
    CHECK(b->ended == error_code());
    s.give_back(*b).nothing_else();
    CHECK(s.told_idle == 1); // nobody has asked to be told again
}

TEST_CASE("retired, it takes its watch back and is finished; used again, it begins anew")
{
    lock_path_scene s;
    const auto a = s.join_and_hold();
    s.path->retire();
    CHECK_FALSE(s.path->finished()); // it is in use
    s.give_back(*a).nothing_else();
    s.path->retire();
    CHECK(s.path->finished());
    asked(s).to("unwatch /p").ends(outcome::ok).nothing_else();
    const auto b = s.join();
    CHECK_FALSE(s.path->finished());
    asked(s).to("create /p/" + prefix(2)).to("watch /p").nothing_else();
}

TEST_CASE("made before there is a connection, it asks for nothing until there is one")
{
    lock_path_scene s(false);
    const auto a = s.join();
    asked(s).nothing_else();
    s.connect();
    asked(s).to("create /p/" + prefix(1)).to("watch /p").nothing_else();
    CHECK_FALSE(a->ended);
}

TEST_CASE("whoever waits is refused, and whoever holds is not")
{
    lock_path_scene s;
    const auto holder = s.join_and_hold();
    const auto waiter = s.join();
    asked(s).to("create /p/" + prefix(2)).number(43, 1).nothing_else();
    s.path->refuse_all(errc::invalid_option);
    s.clock.run();
    CHECK(waiter->ended == errc::invalid_option);
    CHECK(holder->handle->held(s.clock.now()));
    CHECK(holder->losses == 0);
    asked(s).to("remove /p/" + scene::node(2, 1)).ends(outcome::ok).nothing_else();
}

TEST_CASE("stopped, it ends waits and releases with the reason, and holders lose")
{
    lock_path_scene s;
    const auto holder = s.join_and_hold();
    const auto waiter = s.join();
    asked(s).to("create /p/" + prefix(2)).number(43, 1).nothing_else();
    SUBCASE("held") {
        s.path->stop(errc::closed);
        s.clock.run();
        CHECK(holder->losses == 1);
        CHECK_FALSE(holder->handle->held(s.clock.now()));
        CHECK(waiter->ended == errc::closed);
    }
    SUBCASE("being released: the next one has it already, and loses it") {
        s.release(*holder);
        REQUIRE(waiter->ended == error_code());
        s.path->stop(errc::closed);
        s.clock.run();
        CHECK(holder->losses == 0);
        CHECK(holder->released == errc::closed);
        CHECK(waiter->losses == 1);
    }
}

TEST_CASE("giving way it takes its watch back; destroyed, it asks for nothing, and tells nobody anything any more")
{
    lock_path_scene s;
    const auto holder = s.join_and_hold();
    const auto waiter = s.join();
    asked(s).to("create /p/" + prefix(2)).number(43, 1).nothing_else();
    SUBCASE("destroyed with the session") {
    }
    SUBCASE("replaced") {
        s.path->give_way();
        asked(s).to("unwatch /p").ends(outcome::ok);
    }
    s.path.reset();
    s.clock.run();
    asked(s).nothing_else();
    CHECK_FALSE(waiter->ended);
    CHECK_FALSE(waiter->handle->withdraw());
    CHECK(holder->losses == 0);
    CHECK(s.told_idle == 0);
}

TEST_CASE("holders that have not held for long are to be looked at again; the others watch their nodes")
{
    lock_path_scene s;
    CHECK_FALSE(s.path->notice_long_holder(s.clock.now()));
    const auto a = s.join_and_hold();
    CHECK(s.path->notice_long_holder(s.clock.now()));
    asked(s).nothing_else();
    CHECK_FALSE(s.path->notice_long_holder(s.clock.now() + 100ms));
    asked(s).to("watch " + a->given.node).nothing_else();
}

TEST_CASE("what it has made to be there is known, and goes over to the next one at the same path")
{
    lock_path_scene s;
    const auto a = s.join();
    asked(s).to("create /p/" + prefix(1)).ends(outcome::no_node).to("watch /p").ends(outcome::no_node);
    CHECK_FALSE(s.path->next_making().made->any());
    asked(s).to("container /p").stat(s.fresh(41));
    CHECK(s.path->next_making().path == "/p");
    CHECK(s.path->next_making().made->any());
    CHECK_FALSE(s.path->upper_containers().any());
    const auto following = s.make_another();
    following->take_containers(*s.path);
    CHECK_FALSE(s.path->next_making().made->any());
    CHECK(following->next_making().made->any());
}

TEST_CASE("users of a path agree on names, marks, linger and cohort, and on whether there are readers")
{
    const path_options usual({}, contender_kind::mutex);
    for (const mutex_options& other :
         {with(&mutex_options::names, naming::kazoo), with(&mutex_options::mark, "-stock-"),
          with(&mutex_options::also_heeds, {""}), with(&mutex_options::linger, 1s), with(&mutex_options::cohort, 2)})
        CHECK_FALSE(path_options(other, contender_kind::mutex) == usual);
    CHECK_FALSE(path_options({}, contender_kind::writer) == usual);
    CHECK(path_options({}, contender_kind::writer) == path_options({}, contender_kind::reader));
    mutex_options own; // what is one contender's affair
    own.identifier = "somebody";
    own.max_attempts = 3;
    own.parents = parent_kind::persistent;
    CHECK(path_options(own, contender_kind::mutex) == usual);
}
