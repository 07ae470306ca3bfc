#include "journal.hpp"
#include "session_scene.hpp"

#include <boost/asio/error.hpp>

#include <stdexcept>

using namespace zklock::unit;

namespace {

/// Its executor takes nothing more.
struct refusing final : detail::event_sink<lock_event> {
    void notify(const lock_event&) override { throw std::runtime_error("stopped"); }
};

/// Where the text of the last event's node is.
struct watching_memory final : detail::event_sink<lock_event> {
    void notify(const lock_event& event) override { node = event.node.data(); }
    const char* node = nullptr;
};

struct heard {
    std::shared_ptr<journal> told = std::make_shared<journal>();
    mutex_options options;
    scene s;

    heard()
    {
        options.listener = told;
        s.start();
        s.connect();
    }
};

} // namespace

TEST_CASE("queued, acquired, released; with node, number and token")
{
    heard h;
    const auto a = h.s.acquire("/p", h.options);
    CHECK(h.told->text() == "");
    asked(h.s).to("create /p/" + prefix(1)).number(42, 3);
    CHECK(h.told->text() == ""); // it is not known whom it waits behind
    asked(h.s).to("watch /p").alone(4, 42);
    REQUIRE(h.told->events.size() == 2);
    const lock_event queued = h.told->events.front();
    CHECK(h.told->text() == "1 queued, 1 acquired");
    CHECK(queued.path == "/p");
    CHECK(queued.node == "/p/" + scene::node(1, 3));
    CHECK(queued.sequence == 3);
    CHECK(queued.fencing_token == 0);
    CHECK_FALSE(queued.behind);
    CHECK(h.told->last.fencing_token == a->given.fencing_token);
    h.s.release(*a);
    CHECK(h.told->text() == "");
    asked(h.s).to("remove /p/" + scene::node(1, 3)).ends(outcome::ok);
    CHECK(h.told->text() == "1 released");
    CHECK(h.told->last.node == "/p/" + scene::node(1, 3));
    CHECK(h.told->last.sequence == 3);
    CHECK(a->released == error_code());
}

TEST_CASE("whoever fails is told why, whenever that is")
{
    heard h;
    mutex_options wrong = h.options;
    wrong.cohort = 0;
    h.s.acquire("/p", wrong);
    CHECK(h.told->text() == "1 failed: " + make_error_code(errc::invalid_option).message());
    const auto a = h.s.acquire("/p", h.options);
    a->handle->withdraw();
    CHECK(h.told->text() == "2 failed: " + error_code(boost::asio::error::operation_aborted).message());
    asked(h.s).to("create /p/" + prefix(1)).number(42, 3); // its node came too late
    asked(h.s).to("watch /p");
    CHECK(h.told->text() == "");
    asked(h.s).to("remove /p/" + scene::node(1, 3)).ends(outcome::ok);
    CHECK(h.told->text() == "");
    const auto b = h.s.acquire("/q", h.options);
    asked(h.s).to("create /q/" + prefix(2)).ends(outcome::no_auth);
    CHECK(h.told->text() == "3 failed: " + make_error_code(errc::access_denied).message());
    h.s.servers.requests.clear();
    const auto c = h.s.acquire("/r", h.options, acquire_mode::look_once);
    asked(h.s).to("children /r").list({scene::node(9, 1)});
    CHECK(h.told->text() == "4 failed: " + make_error_code(errc::busy).message());
}

TEST_CASE("what is told needs no memory, however long the node's name is")
{
    scene s;
    s.start();
    const auto sink = std::make_shared<watching_memory>();
    recipes::acquire_events events(sink, *s.session, 1, "/p");
    events.queued("/p/x", 1);
    events.waits_behind({});
    const char* const before = sink->node;
    const queue::name_rules rules(std::string(queue::longest_mark, 'm'), {});
    for (const auto names : {naming::curator, naming::kazoo}) {
        const auto prefix = rules.prefix(names, contender_kind::mutex, std::string(36, 'u'));
        events.queued("/p/" + prefix + "-2147483648", queue::sequence_limit);
        events.waits_behind({});
        CHECK(sink->node == before);
    }
}

TEST_CASE("lost instead of released; and queued again with a new node, if it was lost before the grant")
{
    heard h;
    const auto a = h.s.acquire("/p", h.options);
    asked(h.s).to("create /p/" + prefix(1)).number(42, 3).to("watch /p").alone(4, 42);
    const auto b = h.s.acquire("/p", h.options);
    asked(h.s).to("create /p/" + prefix(2)).number(43, 4);
    CHECK(h.told->text() == "1 queued, 1 acquired, 2 queued");
    h.s.end_session();
    CHECK(h.told->text() == "1 lost");
    h.s.release(*a);
    CHECK(a->released == errc::lost);
    h.s.connect(6);
    asked(h.s).to("create /p/" + prefix(3)).number(50, 5).to("watch /p").alone(6, 50);
    CHECK(h.told->text() == "2 queued, 2 acquired");
    CHECK(h.told->last.sequence == 5);
}

TEST_CASE("a node that is taken over is a place in the queue, too; what lingers is released")
{
    heard h;
    h.options.linger = 1'000ms;
    const auto a = h.s.acquire("/p", h.options);
    asked(h.s).to("create /p/" + prefix(1)).number(42, 3).to("watch /p").alone(4, 42);
    h.s.release(*a);
    asked(h.s).to("watch children /p").list({scene::node(1, 3)});
    CHECK(h.told->text() == "1 queued, 1 acquired, 1 released");
    const auto b = h.s.acquire("/p", h.options);
    CHECK(h.told->text() == "2 queued, 2 acquired");
    CHECK(h.told->last.node == "/p/" + scene::node(1, 3));
    CHECK(h.told->last.fencing_token == a->given.fencing_token + 1);
}

TEST_CASE("a close ends everything once")
{
    heard h;
    const auto a = h.s.acquire("/p", h.options);
    asked(h.s).to("create /p/" + prefix(1)).number(42, 3).to("watch /p").alone(4, 42);
    const auto b = h.s.acquire("/p", h.options);
    const auto c = h.s.acquire("/q", h.options);
    asked(h.s).to("create /p/" + prefix(2)).number(43, 4);
    asked(h.s).to("create /q/" + prefix(3)).number(44, 4).to("watch /q").alone(5, 44);
    CHECK(h.told->text() == "1 queued, 1 acquired, 2 queued, 3 queued, 3 acquired");
    h.s.release(*c);
    h.s.close();
    std::map<std::uint64_t, std::string> ends;
    for (const lock_event& e : h.told->events) {
        CHECK_FALSE(ends.contains(e.acquire));
        ends[e.acquire] = std::to_string(static_cast<int>(e.what)) + ' ' + e.error.message();
    }
    const std::string closed = make_error_code(errc::closed).message();
    CHECK(ends[1] == "2 " + error_code().message());
    CHECK(ends[2] == "4 " + closed);
    CHECK(ends[3] == "3 " + closed);
}

TEST_CASE("an executor that refuses events costs its listener those events, and the log tells of it")
{
    std::vector<std::string> lines;
    scene s;
    s.options.log = keep_log(lines);
    s.start();
    s.connect();
    const auto a = s.acquire("/p", with(&mutex_options::listener, std::make_shared<refusing>()));
    CHECK_NOTHROW(asked(s).to("create /p/" + prefix(1)).number(42, 3).to("watch /p").alone(4, 42));
    REQUIRE(lines.size() == 2);
    CHECK(lines.front().find("refuses its events: stopped") != std::string::npos);
    CHECK(a->ended == error_code()); // and it goes on
}
