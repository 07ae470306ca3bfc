// An acquire that is cancelled, or runs out of time, at every point at which it is suspended.
#include "integration/mutex_scene.hpp"

#include <array>
#include <string_view>

using namespace zklock;
using namespace zklock::test;

namespace {

struct suspension_point {
    std::string_view name;
    opcode op;
    moment at;
    bool contended;
    std::size_t skip = 0;
};

// What an acquire sends, in its order: the create with the watch of the path behind it; when somebody is before it, the
// read of the children, and the watches on its own node and on its predecessor's.
constexpr std::array suspension_points{
    suspension_point{"create, not yet done", opcode::create2, moment::request, false},
    suspension_point{"create, not yet done, behind a holder", opcode::create2, moment::request, true},
    suspension_point{"create, done", opcode::create2, moment::reply, false},
    suspension_point{"create, done, behind a holder", opcode::create2, moment::reply, true},
    suspension_point{"path, not yet watched", opcode::get_data, moment::request, false},
    suspension_point{"path, watched", opcode::get_data, moment::reply, false},
    suspension_point{"path, watched, behind a holder", opcode::get_data, moment::reply, true},
    suspension_point{"children, not yet read, behind a holder", opcode::get_children2, moment::request, true},
    suspension_point{"children, read, behind a holder", opcode::get_children2, moment::reply, true},
    suspension_point{"watch, not yet set", opcode::get_data, moment::request, true, 1},
    suspension_point{"watch, set", opcode::get_data, moment::reply, true, 1},
};

} // namespace

TEST_CASE("cancelled at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        for (const auto& point : suspension_points)
            for (const auto type : cancellations) {
                CAPTURE(point.name);
                CAPTURE(static_cast<int>(type));
                remote_client remote(executor, server().port());
                co_await remote.connect();
                mutex lock(remote.zk, path);
                std::vector<std::string> expected;
                if (point.contended)
                    expected.push_back(foreign_contender(admin, path));

                remote.link.on_next(point.op, point.at, fate::hold, point.skip);
                auto attempt = begin_acquire(lock);
                proxy& link = remote.link;
                const auto struck = [&link, &point] { return link.count(point.op) > point.skip; };
                co_await until("the request is on its way", struck);
                remote.link.wait_struck();
                CHECK_FALSE(attempt.ended());
                attempt.cancel(type);
                const error_code ec = co_await attempt.end(); // before any answer can come
                CHECK(ec == asio::error::operation_aborted);
                attempt.cancel(type);
                remote.link.release();
                co_await until_only_left(server().port(), expected);

                // The client is as good as before.
                if (point.contended)
                    admin.remove(expected[0]);
                guard held = must(co_await lock.acquire(60s));
                co_await release(std::move(held));
                co_await nothing_left(server().port());
                co_await remote.close();
            }
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}

TEST_CASE("timed out at every point at which an acquire is suspended")
{
    const std::string path = "/timeouts/points_in_time";
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        admin_client admin(server().port(), 60s);
        admin.create_all(path);
        for (const auto& point : suspension_points) {
            CAPTURE(point.name);
            remote_client remote(executor, server().port());
            co_await remote.connect();
            mutex lock(remote.zk, path);
            std::vector<std::string> expected;
            if (point.contended)
                expected.push_back(foreign_contender(admin, path));
            remote.link.on_next(point.op, point.at, fate::hold, point.skip);
            // Where everything is slow, one time-out may be over before the request is on its way.
            for (milliseconds timeout = 100ms; timeout < default_limit && !remote.link.struck(); timeout *= 2)
                CHECK(error_in(co_await lock.acquire(timeout)) == errc::timed_out);
            remote.link.wait_struck();
            remote.link.release();
            co_await until_only_left(server().port(), expected);
            for (const std::string& node : expected)
                admin.remove(node);
            co_await remote.close();
        }
    };
    run_test(test_limit, body);
    expect_clean(server(), {path});
}
