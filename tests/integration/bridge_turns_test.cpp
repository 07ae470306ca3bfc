// program: bridge
// What a turn of the client's strand leaves to its end, and what becomes of it when an exception ends the turn.
#include "runtime/asio_scheduler.hpp"
#include "runtime/turns.hpp"
#include "integration/bridge_client.hpp"
#include "support/admin_client.hpp"
#include "support/one_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace zklock::test {

namespace asio = boost::asio;

namespace {

struct scene {
    asio::io_context context;
    runtime::strand strand = runtime::make_strand(context.get_executor());
    std::shared_ptr<runtime::turns> turns = std::make_shared<runtime::turns>();
    runtime::asio_scheduler scheduler{strand, turns};
    std::vector<std::string> said;

    std::function<void()> says(std::string what)
    {
        return [this, what = std::move(what)] { said.push_back(what); };
    }
    void on_strand(std::function<void()> f) { asio::post(strand, std::move(f)); }
    void in_turn(std::function<void()> f)
    {
        on_strand([this, f = std::move(f)] { turns->run(f); });
    }
};

using words = std::vector<std::string>;

} // namespace

TEST_CASE("what is posted in a turn runs at its end, in order, and what that posts gives others their turn")
{
    scene s;
    s.in_turn([&] {
        asio::post(s.context, s.says("other work"));
        s.scheduler.post([&] {
            s.said.push_back("first");
            s.scheduler.post(s.says("third"));
        });
        s.turns->run([&] { s.scheduler.post(s.says("second")); });
        s.said.push_back("turn");
    });
    s.context.run();
    CHECK(s.said == words{"turn", "first", "second", "other work", "third"});
}

TEST_CASE("what was posted outside of a turn keeps its place")
{
    scene s;
    s.on_strand([&] {
        s.scheduler.post(s.says("first"));
        CHECK(s.said.empty());
    });
    s.in_turn([&] { s.scheduler.post(s.says("second")); });
    s.context.run();
    CHECK(s.said == words{"first", "second"});
}

TEST_CASE("an exception leaves the executor, and nothing that was posted is lost")
{
    scene s;
    const auto fails = [] { throw std::runtime_error("meant to"); };
    SUBCASE("out of the turn")
    {
        s.in_turn([&] {
            s.scheduler.post(s.says("first"));
            s.scheduler.post(s.says("second"));
            fails();
        });
    }
    SUBCASE("out of its end")
    {
        s.in_turn([&] {
            s.scheduler.post(s.says("first"));
            s.scheduler.post(fails);
            s.scheduler.post(s.says("second"));
        });
    }
    SUBCASE("out of a timer")
    {
        static_cast<void>(s.scheduler.call_at(s.scheduler.now(), [&] {
            s.scheduler.post(s.says("first"));
            s.scheduler.post(s.says("second"));
            fails();
        }));
    }
    CHECK_THROWS_AS(s.context.run(), std::runtime_error);
    CHECK_FALSE(s.turns->open());
    s.context.run();
    CHECK(s.said == words{"first", "second"});
}

TEST_CASE("a part may go in the turn, and nothing that was posted is run then")
{
    scene s;
    auto own = std::make_unique<runtime::asio_scheduler>(s.strand, s.turns);
    s.in_turn([&] {
        own->post(s.says("nothing"));
        own->shutdown();
        own.reset();
    });
    s.context.run();
    CHECK(s.said.empty());
}

TEST_CASE("an exception of who gets an answer: what was asked in that turn leaves, and what comes next is read")
{
    struct on_purpose {};
    auto options = options_for(server().address());
    options.session_timeout = std::chrono::seconds(60); // the library's own looks at the socket are 20 s apart
    bridge_client c(options);
    c.wait_connected();
    c.create("/turn", node_kind::persistent);
    c.get("/turn", true);

    bool asks = false;
    SUBCASE("after a request") { asks = true; }
    SUBCASE("and nothing else") {}
    bool answered = !asks;
    c.store().get("/turn", false, [&](const store::get_reply&) {
        if (asks)
            c.store().sync("/", [&](const store::reply&) { answered = true; });
        throw on_purpose();
    });
    CHECK_THROWS_AS(c.run_until([] { return false; }), on_purpose);
    const auto since = steady_clock::now();
    c.run_until([&] { return answered; });
    admin_client admin(server().port());
    admin.set("/turn", "other");
    c.run_until([&] { return !c.events.empty(); });
    CHECK(steady_clock::now() - since < std::chrono::seconds(15));
    c.close();
}

} // namespace zklock::test
