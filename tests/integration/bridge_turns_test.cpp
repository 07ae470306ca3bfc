// program: bridge
// What a turn of the client's strand leaves to its end, and what becomes of it when an exception ends the turn.
#include "runtime/asio_scheduler.hpp"

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <stdexcept>

namespace zklock::test {

namespace asio = boost::asio;

namespace {

struct scene {
    asio::io_context context;
    runtime::strand strand = runtime::make_strand(context.get_executor());
    std::shared_ptr<runtime::turns> turns = std::make_shared<runtime::turns>();
    std::shared_ptr<runtime::asio_scheduler> scheduler = runtime::asio_scheduler::make(strand, turns);
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
        s.scheduler->post([&] {
            s.said.push_back("first");
            s.scheduler->post(s.says("third"));
        });
        s.turns->run([&] { s.scheduler->post(s.says("second")); });
        s.said.push_back("turn");
    });
    s.context.run();
    CHECK(s.said == words{"turn", "first", "second", "other work", "third"});
}

TEST_CASE("what was posted outside of a turn keeps its place")
{
    scene s;
    s.on_strand([&] {
        s.scheduler->post(s.says("first"));
        CHECK(s.said.empty());
    });
    s.in_turn([&] { s.scheduler->post(s.says("second")); });
    s.context.run();
    CHECK(s.said == words{"first", "second"});
}

namespace {

struct owner final : runtime::turns::owner {
    explicit owner(runtime::turns& t) : of(t) {}
    void turn_failed(const boost::system::error_code& why, std::string_view words) noexcept override
    {
        CHECK_FALSE(of.open());
        ++told;
        how = why;
        said = words;
    }
    runtime::turns& of;
    int told = 0;
    boost::system::error_code how;
    std::string said;
};

/// `begins` has it call what throws, in a turn.
void expect_the_end(bool of_memory, const std::function<void(scene&, const std::function<void()>&)>& begins)
{
    CAPTURE(of_memory);
    scene s;
    const auto who = std::make_shared<owner>(*s.turns);
    s.turns->belong_to(who);
    begins(s, [of_memory] {
        if (of_memory)
            throw std::bad_alloc();
        throw std::runtime_error("meant to");
    });
    if (of_memory)
        s.context.run();
    else
        CHECK_THROWS_AS(s.context.run(), std::runtime_error);
    s.in_turn(s.says("nothing"));
    s.scheduler->post(s.says("nothing"));
    s.context.restart();
    s.context.run();
    CHECK(s.said.empty());
    CHECK(who->told == 1);
    if (of_memory)
        CHECK(who->how == boost::system::errc::not_enough_memory);
    else
        CHECK(who->how == errc::closed);
    CHECK(who->said == (of_memory ? "there is no memory" : "meant to"));
}

} // namespace

TEST_CASE("an exception ends the turn and all that would follow, and the owner is told once, with nothing on the stack")
{
    for (const bool of_memory : {true, false}) { // which ends there; anything else leaves the executor, too
        expect_the_end(of_memory, [](scene& s, const auto& fails) { // out of a turn within the turn
            s.in_turn([&s, fails] {
                s.scheduler->post(s.says("nothing"));
                s.turns->run(fails);
                s.says("nothing")();
            });
        });
        expect_the_end(of_memory, [](scene& s, const auto& fails) { // out of its end
            s.in_turn([&s, fails] {
                s.scheduler->post(fails);
                s.scheduler->post(s.says("nothing"));
            });
        });
        expect_the_end(of_memory, [](scene& s, const auto& fails) { // out of a timer
            static_cast<void>(s.scheduler->call_at(s.scheduler->now(), fails));
        });
    }
}

TEST_CASE("a part may go in the turn, and nothing that was posted is run then")
{
    scene s;
    auto own = runtime::asio_scheduler::make(s.strand, s.turns);
    s.in_turn([&] {
        own->post(s.says("nothing"));
        own->stop();
        own.reset();
    });
    s.context.run();
    CHECK(s.said.empty());
}

} // namespace zklock::test
