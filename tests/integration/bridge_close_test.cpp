// time limit: 900 s
// program: bridge_replaced
// How a store ends: in good order, in a hurry, inside its own completions, and with its context.
#include "integration/bridge_client.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"

#include <dlfcn.h>
#include <poll.h>

using namespace zklock::test;

namespace {

using lines = std::vector<std::string>;

/// Their sessions do not end by themselves while a test waits for their end.
client_options long_lived(const std::string& servers)
{
    return options_for(servers, 60s);
}
constexpr milliseconds long_before_the_end{20'000};

thread_local bool may_wait = true;
thread_local int waits = 0; ///< while it may not

/// How often this thread would have waited for a socket meanwhile: what the C client does, up to three seconds at a
/// time. On a busy machine that says more than how long it took.
int waits_in(const std::function<void()>& f)
{
    waits = 0;
    may_wait = false;
    f();
    may_wait = true;
    return waits;
}

/// In the handlers of the context, until `holds`.
int waits_until(bridge_client& c, const std::function<bool()>& holds)
{
    int all = 0;
    wait_until("what the handlers do", default_limit, [&] {
        c.context().restart();
        all += waits_in([&] { c.context().poll(); });
        return holds();
    });
    return all;
}

/// Tells when its context is going away.
struct going_away : asio::execution_context::service {
    using key_type = going_away;
    static inline asio::execution_context::id id;
    explicit going_away(asio::execution_context& e) : asio::execution_context::service(e) {}
    void shutdown() override
    {
        if (ending)
            ending();
    }
    std::function<void()> ending;
};

} // namespace

extern "C" int poll(pollfd* sockets, nfds_t count, int timeout)
{
    static auto real = reinterpret_cast<decltype(&::poll)>(::dlsym(RTLD_NEXT, "poll"));
    if (const int ready = real(sockets, count, 0); ready != 0 || timeout == 0)
        return ready;
    waits += !may_wait;
    return real(sockets, count, timeout);
}

TEST_CASE("close ends the session at once, every time, idle or in the middle of work")
{
    for (int i = 0; i < 200; ++i) {
        connected_bridge_client c{options_for(server().address())};
        CHECK(c.create("/e" + std::to_string(i), node_kind::ephemeral).result == outcome::ok);
        int answered = 0;
        const int pending = i % 4 * 100;
        for (int n = 0; n < pending; ++n)
            c.store().create("/s" + std::to_string(i) + '-', std::string(500, 'x'), node_kind::ephemeral_sequential,
                             nullptr, [&](const store::create_reply&) { ++answered; });
        c.lines.clear();
        c.close();
        CHECK(answered == pending);
        CHECK(c.lines == lines{"disconnected"});
        if (ephemeral_count(server().port()) != 0) {
            FAIL("ephemeral nodes were left in round ", i);
        }
    }
}

TEST_CASE("dropping the store without close ends the session too, and waits for nothing")
{
    for (int i = 0; i < 200; ++i) {
        connected_bridge_client c{long_lived(server().address())};
        CHECK(c.create("/e" + std::to_string(i), node_kind::ephemeral).result == outcome::ok);
        CHECK(waits_in([&] { c.destroy_store(); }) == 0);
    }
    expect_clean(server(), {}, long_before_the_end);
}

TEST_CASE("a server that does not answer stalls neither close nor the destructor")
{
    zookeeper_server own;
    bridge_client closing{long_lived(own.address())}, dropped{long_lived(own.address())},
        full{options_for(own.address(), 2000ms)};
    for (auto* c : {&closing, &dropped, &full})
        c->wait_connected();
    CHECK(closing.create("/c", node_kind::ephemeral).result == outcome::ok);
    CHECK(dropped.create("/d", node_kind::ephemeral).result == outcome::ok);
    own.pause();

    bool closed = false;
    const auto start = steady_clock::now();
    closing.store().close([&] { closed = true; });
    CHECK(waits_until(closing, [&] { return closed; }) == 0);
    CHECK(steady_clock::now() - start < long_before_the_end); // a second, by the timers

    CHECK(waits_in([&] { dropped.destroy_store(); }) == 0);

    // More than the sockets take: the library would wait three seconds for room.
    int answered = 0;
    for (int i = 0; i < 100; ++i)
        full.store().create("/f", std::string(500'000, 'x'), node_kind::ephemeral, nullptr,
                            [&](const store::create_reply& r) { answered += r.result == outcome::unknown; });
    closed = false;
    full.store().close([&] { closed = true; });
    CHECK(waits_until(full, [&] { return closed; }) == 0);
    CHECK(answered == 100);

    own.resume();
    // The first two could ask for the end of their sessions, so nothing waits for their time-out. The third could not.
    expect_clean(own, {}, long_before_the_end);
}

TEST_CASE("closed or destroyed inside a completion, an event, or the news of a connection")
{
    admin_client admin{server().port()};
    admin.create("/w");
    for (bool destroy : {false, true})
        for (const char* where : {"connected, new", "event 1 /w", "event 2 /w", "disconnected", "answer"}) {
            CAPTURE(where);
            proxy between{server().port()};
            if (!admin.exists("/w"))
                admin.create("/w");
            bridge_client c{long_lived(between.address())};
            bool closed = false, ended = false;
            c.on_line = [&](const std::string& line) {
                CHECK_FALSE((ended && destroy)); // nobody is called any more
                if (line != where || ended)
                    return;
                ended = true;
                if (destroy)
                    c.destroy_store();
                else
                    c.store().close([&] { closed = true; });
            };
            auto finished = [&] { return destroy ? ended : closed; };
            c.run_until([&] { return c.open || ended; });
            if (!ended) {
                bool armed = false;
                c.store().get("/w", true, [&](const store::get_reply&) { armed = true; });
                c.run_until([&] { return armed; });
                for (int i = 0; i < 1000; ++i)
                    c.store().sync("/", [&](const store::reply&) {
                        if (!ended)
                            c.tell("answer");
                        else
                            CHECK_FALSE(destroy);
                    });
                if (std::string{where} == "event 1 /w")
                    admin.remove("/w");
                else if (std::string{where} == "event 2 /w")
                    admin.set("/w", "x");
                else if (std::string{where} == "disconnected")
                    between.cut();
            }
            c.run_until(finished);
            c.run_ready();
        }
    expect_clean(server(), {}, long_before_the_end);
}

TEST_CASE("close before there is a connection, while resolving, and while nobody is there")
{
    port_lease nobody;
    for (const auto& servers : {"127.0.0.1:" + std::to_string(nobody.port()), std::string{"no-such-host.invalid:1"}})
        for (int turns : {0, 1, 5}) {
            bridge_client c{options_for(servers)};
            for (int i = 0; i < turns; ++i) {
                c.context().restart();
                c.context().poll_one();
            }
            c.close();
            CHECK(c.lines.empty());
            bool called = false;
            c.store().sync("/", [&](const store::reply&) { called = true; });
            c.run_ready();
            CHECK_FALSE(called); // after the answer to close
        }
}

TEST_CASE("the context goes first: shutdown drops everything uncalled, and what is left of the store is inert")
{
    struct silent : store::observer {
        void on_connected(const store::connect_reply&) override { connected = true; }
        void on_disconnected() override { FAIL("called"); }
        void on_expired() override { FAIL("called"); }
        void on_authentication_failed() override { FAIL("called"); }
        void on_node_event(event_kind, std::string_view) override { FAIL("called"); }
        bool connected = false;
    };
    for (bool early : {false, true}) { // the service before or after those of the I/O objects
        silent observer;
        auto context = std::make_unique<asio::io_context>();
        if (early)
            asio::use_service<going_away>(*context);
        std::optional<runtime::strand> strand = runtime::make_strand(context->get_executor());
        counters::counter requests;
        const auto store = bridge::make_connection(*strand, long_lived(server().address()), requests);
        const auto scheduler = runtime::asio_scheduler::make(*strand);
        strand.reset();
        asio::use_service<going_away>(*context).ending = [&] {
            store->stop();
            scheduler->stop();
        };
        store->attach(observer);
        while (!observer.connected)
            context->run_one();
        (void)scheduler->call_at(lease_clock::now() + 1h, [] { FAIL("called"); });
        scheduler->post([] { FAIL("called"); });
        auto alive = std::make_shared<int>();
        store->create("/e", "", node_kind::ephemeral, nullptr, [alive](const store::create_reply&) { FAIL("called"); });
        CHECK(waits_in([&] { context.reset(); }) == 0);
        CHECK(alive.use_count() == 1);
        store->sync("/", [alive](const store::reply&) { FAIL("called"); });
        scheduler->post([alive] { FAIL("called"); });
        CHECK(alive.use_count() == 1);
    }
    expect_clean(server(), {}, long_before_the_end);
}
