// program: tls
// Connections over which nothing goes any more: closes, destructors and other servers do not wait for them.
#include "integration/tls_scene.hpp"
#include "support/time_waited.hpp"

using namespace zklock::test;

namespace {

const auto stalled_server = secured();

/// Megabytes of writes that have nowhere to go.
std::deque<pending<node_stat>> queue_megabytes(client& zk)
{
    std::deque<pending<node_stat>> writes(16);
    const std::string half_a_megabyte(500'000, 'x');
    for (auto& each : writes)
        zk.set("/tls-stalled", half_a_megabyte, each.handler());
    return writes;
}

constexpr auto between_looks = 10ms;

/// How long the thread of an executor waited in one go at most, since this began to look, besides for work.
class standstill : public std::enable_shared_from_this<standstill> {
public:
    explicit standstill(const asio::any_io_executor& executor) : timer_(executor) {}

    void look()
    {
        timer_.expires_after(between_looks);
        timer_.async_wait([self = shared_from_this(), waited = time_waited()](error_code ec) {
            self->longest_ = std::max<steady_clock::duration>(self->longest_, waited.so_far() - between_looks);
            if (!ec && !self->over_)
                self->look();
        });
    }
    steady_clock::duration end()
    {
        over_ = true;
        timer_.cancel();
        return longest_;
    }

private:
    asio::steady_timer timer_;
    steady_clock::duration longest_{};
    bool over_ = false;
};

// The C client's own close waits for room, and then for an answer: for seconds.
constexpr auto tolerable = 500ms;

} // namespace

TEST_CASE("closed while megabytes wait for a connection that is stalled: each is told, and nothing stands still")
{
    play_timed<0>(tolerable, {}, [](timed_scene& noted, const any_io_executor& executor) -> awaitable<void> {
        for (const auto way : {direction::requests, direction::replies}) {
            secure_client remote(executor, server().secure_port());
            must(co_await remote.zk.wait_connected(default_limit));
            must(co_await remote.zk.create("/tls-stalled", ""));
            remote.link.block(way);
            auto writes = queue_megabytes(remote.zk);
            const auto still = std::make_shared<standstill>(executor);
            still->look();
            must(co_await remote.zk.close());
            noted.expect(still->end() < 2 * tolerable, "the executor stands still while a client closes");
            for (auto& each : writes) {
                const error_code ec = co_await each.end();
                const bool told = ec == errc::closed || ec == errc::outcome_unknown;
                CHECK(told);
            }
            remote.link.unblock();
            admin_client(server().port()).remove("/tls-stalled");
        }
    });
}

TEST_CASE("destroyed while megabytes wait for a connection that is stalled: at once")
{
    for (const bool context_first : {false, true}) {
        CAPTURE(context_first);
        const auto wrong = play_undisturbed(tolerable, [&](timed_scene& scene) {
            admin_client admin(server().port());
            admin.create("/tls-stalled");
            auto io = std::make_unique<asio::io_context>();
            std::optional<secure_client> remote(std::in_place, io->get_executor(), server().secure_port(), 4s);
            std::optional<error_code> connected;
            remote->zk.wait_connected([&](error_code ec) { connected = ec; });
            while (!connected)
                io->run_one_for(100ms);
            remote->link.block(direction::requests);
            auto writes = queue_megabytes(remote->zk);
            io->poll();
            const time_waited waited;
            if (context_first)
                io.reset();
            {
                client last = remote->zk;
                static_cast<void>(last);
            }
            remote.reset();
            io.reset();
            scene.expect(waited.so_far() < 2 * tolerable, "the destructors wait");
            admin.remove("/tls-stalled");
        });
        CHECK(wrong == "");
    }
    expect_clean(server());
}

TEST_CASE("megabytes of writes pass, in turn with what is read, and a stall in between delays them only")
{
    play<0>([&]() -> awaitable<void> {
        secure_client remote(co_await asio::this_coro::executor, server().secure_port(), 60s);
        must(co_await remote.zk.wait_connected(default_limit));
        must(co_await remote.zk.create("/tls-stalled", ""));
        for (int round = 0; round < 3; ++round) {
            remote.link.block(round % 2 == 0 ? direction::requests : direction::replies);
            auto writes = queue_megabytes(remote.zk);
            std::deque<pending<node_content>> reads(16);
            for (auto& each : reads)
                remote.zk.get("/tls-stalled", each.handler());
            remote.link.unblock();
            for (auto& each : writes) {
                CHECK_FALSE(co_await each.end());
            }
            for (auto& each : reads) {
                CHECK_FALSE(co_await each.end());
                CHECK(each.value().data.size() == 500'000);
            }
        }
        CHECK(remote.link.accepted() == 1);
        must(co_await remote.zk.remove("/tls-stalled"));
        must(co_await remote.zk.close());
    });
}

TEST_CASE("closed and destroyed in the middle of a handshake that goes no further: at once")
{
    const auto story = [](timed_scene& noted, const any_io_executor& executor) -> awaitable<void> {
        for (const bool close : {true, false})
            for (const auto way : {direction::requests, direction::replies}) {
                std::optional<secure_client> remote(std::in_place, executor, server().secure_port());
                remote->link.block(way);
                auto waits = begin_acquire(mutex(remote->zk, "/tls/stalled"));
                proxy* const link = &remote->link;
                co_await until("it has begun", [link] { return link->accepted() == 1; });
                const time_waited waited;
                if (close)
                    must(co_await remote->zk.close());
                remote.reset();
                CHECK(co_await waits.end() == errc::closed);
                noted.expect(waited.so_far() < 2 * tolerable, "a close waits for the handshake");
            }
    };
    play_timed<0>(tolerable, {.clean = {"/tls/stalled"}}, story);
}
