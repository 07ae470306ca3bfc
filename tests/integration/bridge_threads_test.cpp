// program: bridge
// Several clients on several threads, and time.
#include "integration/bridge_client.hpp"

#include <ctime>
#include <future>
#include <thread>

using namespace zklock::test;

TEST_CASE("clients on threads of their own share one library without knowing it")
{
    const std::string address = server().address(); // it starts on this thread
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 3; ++round) {
                connected_bridge_client c{options_for(address)};
                int answered = 0;
                for (int i = 0; i < 300; ++i)
                    c.store().create("/t" + std::to_string(t) + '-', "", node_kind::ephemeral_sequential, nullptr,
                                     [&](const store::create_reply& r) {
                                         ++answered;
                                         wrong += r.result != outcome::ok;
                                     });
                c.run_until([&] { return answered == 300; });
                bool closed = false;
                c.store().close([&] { closed = true; });
                c.run_until([&] { return closed; });
            }
        });
    for (auto& thread : threads)
        thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("stores on strands of a thread pool")
{
    asio::thread_pool pool{3};
    struct worker : store::observer {
        worker(asio::thread_pool& p, const std::string& servers)
            : strand(runtime::make_strand(p.get_executor())),
              store(bridge::make_connection(strand, options_for(servers), requests)),
              scheduler(runtime::asio_scheduler::make(strand))
        {
            store->attach(*this);
        }
        void on_connected(const zklock::store::connect_reply&) override
        {
            for (int i = 0; i < 200; ++i)
                store->create("/p-", "", node_kind::ephemeral_sequential, nullptr, [this](const auto& r) {
                    good += r.result == outcome::ok;
                    if (++answered == 200)
                        (void)scheduler->call_at(scheduler->now() + 5ms,
                                                 [this] { store->close([this] { done.set_value(); }); });
                });
        }
        void on_disconnected() override {}
        void on_expired() override {}
        void on_authentication_failed() override {}
        void on_node_event(event_kind, std::string_view) override {}

        runtime::strand strand;
        counters::counter requests;
        std::shared_ptr<bridge::connection> store;
        const std::shared_ptr<runtime::asio_scheduler> scheduler;
        int answered = 0, good = 0;
        std::promise<void> done;
    };
    std::vector<std::unique_ptr<worker>> workers;
    for (int i = 0; i < 5; ++i)
        workers.push_back(std::make_unique<worker>(pool, server().address()));
    for (auto& w : workers) {
        REQUIRE(w->done.get_future().wait_for(default_limit) == std::future_status::ready);
    }
    pool.join();
    for (auto& w : workers)
        CHECK(w->good == 200);
}

TEST_CASE("the scheduler: order, cancel, times that have passed, and a flood")
{
    asio::io_context context;
    const auto scheduler = runtime::asio_scheduler::make(runtime::make_strand(context.get_executor()));
    auto& s = *scheduler;
    std::vector<int> ran;
    auto now = s.now();
    (void)s.call_at(now + 30ms, [&] { ran.push_back(3); });
    (void)s.call_at(now + 10ms, [&] { ran.push_back(2); });
    auto cancelled = s.call_at(now + 20ms, [&] { ran.push_back(-1); });
    store::scheduler::timer_id inner = s.call_at(now + 15ms, [&] { ran.push_back(-2); });
    (void)s.call_at(now - 1h, [&] {
        ran.push_back(1);
        s.cancel(inner);
    });
    s.post([&] { ran.push_back(0); });
    s.post([&] { s.post([&] { ran.push_back(1'000); }); });
    s.cancel(cancelled);
    s.cancel(0);
    s.cancel(987'654);
    CHECK(ran.empty());
    context.run();
    ran.erase(std::remove(ran.begin(), ran.end(), 1'000), ran.end());
    CHECK(ran == std::vector<int>{0, 1, 2, 3});
    CHECK(s.now() - now >= 30ms);

    // Setting and cancelling is what a server with many waiters does all day.
    std::vector<store::scheduler::timer_id> timers(100'000);
    const std::clock_t start = std::clock(); // processor time: others may have the processors meanwhile
    for (auto& id : timers)
        id = s.call_at(now + 1h, [] {});
    for (auto id : timers)
        s.cancel(id);
    CHECK(std::clock() - start < 10 * CLOCKS_PER_SEC);
    context.restart();
    CHECK(context.run_for(1s) <= 2); // the one wait that was set, and no more work
}

TEST_CASE("a flood of answers does not keep the executor's other work waiting")
{
    connected_bridge_client c{options_for(server().address())};
    int answered = 0;
    const int count = 20'000;
    for (int i = 0; i < count; ++i)
        c.store().get("/", false, [&](const store::get_reply&) { ++answered; });
    int others = 0;
    std::function<void()> other = [&] {
        ++others;
        if (answered < count)
            asio::post(c.context(), other);
    };
    other();
    c.run_until([&] { return answered == count; });
    CHECK(others >= count / 64 / 2); // at least about once in a batch
    c.close();
}
