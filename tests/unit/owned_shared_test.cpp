// Owners who hold a shared mutex several times over: what is asked of the servers, and what each hold is told.
#include "session_scene.hpp"

#include "recipes/composed/multi_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"

using namespace zklock::unit;

namespace {

struct owners_scene : connected_scene {
    std::shared_ptr<recipes::hold_counts> counts = std::make_shared<recipes::hold_counts>();
    recipes::reentrant_locks owners{*locks, clock, counts};

    std::shared_ptr<attempt> want(contender_kind kind, acquire_mode mode = acquire_mode::wait)
    {
        return acquire_by([&](recipes::acquire_call call) {
            call.mode = mode;
            return owners.acquire(1, "/p", {}, std::move(call), kind);
        });
    }
    std::shared_ptr<attempt> write() { return want(contender_kind::writer); }
    std::shared_ptr<attempt> read() { return want(contender_kind::reader); }
    /// The node of that mark is made, with number 0, and alone.
    void grant(const char* mark, int uuid = 1)
    {
        asked(*this).to("create /p/" + prefix(uuid, mark)).number(100, 0).to("watch /p").alone(1, 100);
    }
    std::shared_ptr<attempt> written()
    {
        const auto a = write();
        grant("__WRIT__");
        REQUIRE(a->ended == error_code());
        return a;
    }
    std::shared_ptr<attempt> reads_too()
    {
        const auto a = read();
        REQUIRE(a->ended == error_code());
        asked(*this).nothing_else();
        return a;
    }
    void check_counts(std::size_t alone, std::size_t shared) const
    {
        const auto all = counts->of("/p", 1);
        CHECK(all.alone == alone);
        CHECK(all.shared == shared);
        const auto held = counts->held("/p", clock.now());
        CHECK(held.alone == alone);
        CHECK(held.shared == shared);
    }
};

const std::string writers_node = "/p/" + scene::node(1, 0, "__WRIT__");
const std::string readers_node = scene::downgraded("/p");
const std::string downgrade = scene::downgrade("/p");

} // namespace

TEST_CASE("a writer writes and reads again without a request; its last release as a writer makes it a reader")
{
    owners_scene s;
    const auto first = s.written();
    const auto reader = s.reads_too();
    const auto second = s.write();
    CHECK(second->ended == error_code());
    CHECK(reader->given.fencing_token == first->given.fencing_token);
    CHECK(reader->given.kind == contender_kind::reader);
    CHECK(first->given.kind == contender_kind::writer);
    s.check_counts(2, 1);

    s.release(*first);
    CHECK(first->released == error_code());
    asked(s).nothing_else();
    CHECK(reader->handle->stands_on(reader->given));
    s.release(*second);
    CHECK_FALSE(second->released);
    CHECK_FALSE(reader->handle->stands_on(reader->given)); // it is about to have another node
    s.check_counts(0, 1);
    asked(s).only(downgrade).done({readers_node});
    CHECK(second->released == error_code());
    CHECK(reader->handle->held(s.clock.now()));
    CHECK(reader->handle->stands_on(reader->given));
    CHECK(reader->handle->nodes_of(reader->given) == std::vector{readers_node});

    const auto again = s.reads_too();
    CHECK(again->given.node == readers_node);
    CHECK(again->given.fencing_token == first->given.fencing_token);
    s.release(*reader);
    CHECK(reader->released == error_code());
    s.release(*again);
    CHECK_FALSE(again->released);
    asked(s).only("remove " + readers_node).ends(outcome::ok);
    CHECK(again->released == error_code());
    s.check_counts(0, 0);
}

TEST_CASE("a reader does not become a writer, whether it holds or waits")
{
    owners_scene s;
    const auto reader = s.read();
    const auto early = s.write();
    CHECK(early->ended == errc::not_upgradable);
    s.grant("__READ__");
    CHECK(reader->ended == error_code());
    for (const auto mode : {acquire_mode::wait, acquire_mode::look_once})
        CHECK(s.want(contender_kind::writer, mode)->ended == errc::not_upgradable);
    asked(s).nothing_else();
    CHECK(reader->handle->held(s.clock.now()));
    s.check_counts(0, 1);
    s.give_back(*reader);
    const auto writer = s.write();
    asked(s).to("create /p/" + prefix(2, "__WRIT__"));
    CHECK(writer->handle->withdraw());
}

TEST_CASE("nor does one that has stopped writing, whatever became of that")
{
    owners_scene s;
    const auto writer = s.written();
    const auto reader = s.reads_too();
    s.release(*writer);
    CHECK(s.write()->ended == errc::not_upgradable);
    CHECK(s.read()->ended == error_code());
    asked(s).only(downgrade);
}

TEST_CASE("everything is released while it becomes a reader: all are told when the node is gone")
{
    owners_scene s;
    const auto writer = s.written();
    const auto reader = s.reads_too();
    s.release(*writer);
    s.release(*reader);
    CHECK_FALSE(writer->released);
    CHECK_FALSE(reader->released);
    asked(s).only(downgrade).done({readers_node});
    CHECK_FALSE(writer->released);
    asked(s).only("remove " + readers_node).ends(outcome::ok);
    CHECK(writer->released == error_code());
    CHECK(reader->released == error_code());
}

TEST_CASE("the servers refuse to make it a reader: its release says so, and it goes on, alone")
{
    owners_scene s;
    const auto writer = s.written();
    const auto reader = s.reads_too();
    s.release(*writer);
    asked(s).only(downgrade).ends(outcome::no_auth).to("exists " + readers_node).ends(outcome::no_node);
    CHECK(writer->released == errc::access_denied);
    CHECK(reader->handle->held(s.clock.now()));
    CHECK(reader->handle->nodes_of(reader->given) == std::vector{writers_node});
    CHECK(reader->handle->stands_on(reader->given));
    CHECK(s.write()->ended == errc::not_upgradable);
    s.release(*reader);
    asked(s).to("remove " + writers_node).ends(outcome::ok);
    CHECK(reader->released == error_code());
}

TEST_CASE("lost while it becomes a reader: its release and its holds are told, once each")
{
    owners_scene s;
    const auto writer = s.written();
    const auto reader = s.reads_too();
    s.release(*writer);
    s.end_session();
    CHECK(writer->released == errc::lost);
    CHECK(writer->losses == 0);
    CHECK(reader->losses == 1);
    CHECK(s.read()->ended == errc::lost);
    CHECK(s.write()->ended == errc::lost);
    s.release(*reader);
    CHECK(reader->released == errc::lost);
}

TEST_CASE("a reader joins the writer that waits; when that leaves it queues anew, as a reader")
{
    owners_scene s;
    const auto writer = s.write();
    const auto reader = s.read();
    CHECK(s.servers.pending() == "create /p/" + prefix(1, "__WRIT__") + ", watch /p");
    s.withdraw(*writer);
    asked(s).to("create /p/" + prefix(1, "__WRIT__")).number(100, 0);
    asked(s).to("create /p/" + prefix(2, "__READ__")).number(101, 1);
    asked(s).to("remove " + writers_node).ends(outcome::ok);
    CHECK_FALSE(writer->ended);
    asked(s).to("watch /p").alone(2, 101);
    CHECK(reader->ended == error_code());
    CHECK(reader->given.node == "/p/" + scene::node(2, 1, "__READ__"));
    s.check_counts(0, 1);
}

TEST_CASE("or, when the grant comes too soon for that, it is granted that, and becomes a reader")
{
    owners_scene s;
    const auto writer = s.want(contender_kind::writer, acquire_mode::look_once);
    const auto reader = s.read();
    CHECK(writer->handle->withdraw());
    asked(s).to("children /p").list({});
    s.grant("__WRIT__");
    CHECK(reader->ended == error_code());
    CHECK(reader->given.kind == contender_kind::reader);
    asked(s).only(downgrade).done({readers_node});
    CHECK(reader->handle->nodes_of(reader->given) == std::vector{readers_node});
    s.check_counts(0, 1);
}

TEST_CASE("an owner has a path as a mutex or as a shared one")
{
    owners_scene s;
    const auto writer = s.written();
    CHECK(s.want(contender_kind::mutex)->ended == errc::invalid_option);
    const auto as_kazoo = with(&mutex_options::names, naming::kazoo);
    const auto a = s.acquire_by([&](recipes::acquire_call call) {
        return s.owners.acquire(1, "/p", as_kazoo, std::move(call), contender_kind::reader);
    });
    CHECK(a->ended == errc::invalid_option);
    CHECK(writer->handle->held(s.clock.now()));
}

TEST_CASE("a multi-lock with one whose node is about to be another does not stand on its nodes")
{
    owners_scene s;
    const auto writer = s.written();
    const auto reads = [&s](recipes::acquire_call call) {
        return s.owners.acquire(1, "/p", {}, std::move(call), contender_kind::reader);
    };
    const auto several = s.acquire_by([&](recipes::acquire_call call) {
        return recipes::multi_acquisition::start(*s.session, {{"/p", reads}}, std::move(call));
    });
    REQUIRE(several->ended == error_code());
    CHECK(several->handle->stands_on(several->given));
    s.release(*writer);
    CHECK_FALSE(several->handle->stands_on(several->given));
    asked(s).only(downgrade).done({readers_node});
    CHECK(several->handle->stands_on(several->given));
    CHECK(several->handle->nodes_of(several->given) == std::vector{readers_node});
    several->handle = nullptr; // it knows whom it would tell of a loss, who has it
}
