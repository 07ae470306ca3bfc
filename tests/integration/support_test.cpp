// sanitizers: none
// program: tls
// What the other integration tests stand on: servers, proxy, administrator's client.
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"
#include "support/run_test.hpp"
#include "support/time_waited.hpp"
#include "support/undisturbed.hpp"

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

using namespace zklock::test;
namespace asio = boost::asio;

TEST_CASE("the administrator's client makes, reads and deletes nodes of every kind")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    CHECK(admin.create("/plain", "1") == "/plain");
    CHECK_THROWS_AS(admin.create("/plain"), zookeeper_error);
    admin.create("/box", {}, create_mode::container);
    const auto first = admin.create("/box/n-", "x", create_mode::ephemeral_sequential);
    CHECK(first == "/box/n-0000000000");
    const auto found = admin.exists(first);
    REQUIRE(found);
    CHECK(found->ephemeral_owner == admin.session().id);
    CHECK(found->data_length == 1);
    CHECK(admin.exists("/box")->num_children == 1);
    CHECK(admin.children("/box") == std::vector<std::string>{"n-0000000000"});
    CHECK_FALSE(admin.exists("/none"));
    CHECK_FALSE(admin.remove("/none"));
    admin.sync("/box");

    CHECK(ephemeral_count(server.port()) == 1);
    CHECK(ephemerals(server.port()).at(admin.session().id) == std::vector<std::string>{first});
    CHECK(connected_sessions(server.port()) == std::vector{admin.session().id});
    CHECK(monitor(server.port()).at("zk_ephemerals_count") == "1");
    CHECK_THROWS(expect_clean(server, {"/box"}, 50ms));
    admin.remove_all("/box");
    expect_clean(server, {"/box"});

    admin.authenticate("digest", "user:secret");
    admin.create("/private", {}, create_mode::persistent, {{.scheme = "auth", .id = {}}});
    admin_client stranger{server.port()};
    CHECK_THROWS_AS(static_cast<void>(stranger.get("/private")), zookeeper_error);
    CHECK(admin.get("/private").empty());
}

TEST_CASE("the administrator's client is destroyed like any other when its connection is gone")
{
    zookeeper_server server;
    proxy between{server.port()};
    const admin_client destroyed{between.port(), 60'000ms};
    between.cut();
}

TEST_CASE("the proxy cuts where it is told")
{
    zookeeper_server server;
    proxy between{server.port()};
    admin_client through{between.port(), 60'000ms};
    admin_client direct{server.port()};
    through.create("/p");
    CHECK(between.count(opcode::create) == 1);
    CHECK(between.history().back().path == "/p");

    between.on_next(opcode::create, moment::request, fate::cut);
    CHECK_THROWS(through.create("/p/never"));
    between.wait_struck();
    CHECK_FALSE(direct.exists("/p/never"));

    between.on_next(opcode::create, moment::reply, fate::cut, 1);
    through.create("/p/first");
    CHECK_THROWS(through.create("/p/second"));
    CHECK(direct.exists("/p/second"));

    between.on_next(opcode::create, moment::delivered, fate::cut);
    through.create("/p/third");
    CHECK_THROWS(static_cast<void>(through.exists("/p")));
    CHECK(direct.exists("/p/third"));
    CHECK(through.exists("/p")); // it connected again, with the same session
    CHECK(between.sessions().size() == 1);
    CHECK(between.accepted() == 4);

    between.cut();
    CHECK_THROWS(static_cast<void>(through.exists("/p")));
    between.refuse();
    CHECK_THROWS(static_cast<void>(through.exists("/p")));
    between.accept();
    CHECK(through.exists("/p"));

    between.forget();
    CHECK(between.count(opcode::any) == 0);
    through.keep_alive();
    CHECK(between.count(opcode::any) == 0);
    CHECK(between.count(opcode::ping) == 1);

    const auto id = through.session().id;
    between.expire_session();
    CHECK_THROWS(static_cast<void>(through.exists("/p")));
    CHECK(through.exists("/p"));
    CHECK(through.session().id != id);
    CHECK(between.sessions().size() == 2);
}

TEST_CASE("the proxy delays, blocks and holds")
{
    zookeeper_server server;
    proxy between{server.port()};
    admin_client through{between.port(), 60'000ms};
    admin_client direct{server.port()};
    const auto timed_create = [&](std::string path) {
        return std::thread{[&through, path = std::move(path)] { through.create(path); }};
    };

    between.delay(direction::requests, 40ms);
    between.delay(direction::replies, 60ms);
    const auto start = steady_clock::now();
    through.create("/slow");
    CHECK(steady_clock::now() - start >= 100ms);
    between.delay(direction::requests, 0ms);
    between.delay(direction::replies, 0ms);

    between.on_next(opcode::create, moment::reply, fate::hold);
    auto creator = timed_create("/held");
    between.wait_struck();
    CHECK(direct.exists("/held"));
    between.release();
    creator.join();

    between.on_next(opcode::create, moment::request, fate::hold);
    creator = timed_create("/held_before");
    between.wait_struck();
    CHECK_FALSE(direct.exists("/held_before"));
    between.release();
    creator.join();
    CHECK(direct.exists("/held_before"));

    between.forget();
    between.block();
    creator = timed_create("/blocked");
    between.wait_for_request(opcode::create);
    CHECK_FALSE(direct.exists("/blocked"));
    CHECK(between.connections() == 1);
    between.unblock();
    creator.join();
    CHECK(direct.exists("/blocked"));
    CHECK_THROWS(between.wait_for_request(opcode::multi, 1, 20ms));
}

TEST_CASE("run_test ends with its coroutine, fails with it, and has a limit")
{
    bool ran = false;
    const auto well = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        co_await asio::post(executor, asio::use_awaitable);
        ran = true;
    };
    run_test(test_limit, well);
    CHECK(ran);

    const auto throws = []() -> asio::awaitable<void> {
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        throw std::invalid_argument("thrown");
    };
    CHECK_THROWS_AS(run_test(test_limit, throws), std::invalid_argument);
    CHECK_THROWS_AS(run_test_on_threads(3, test_limit, throws), std::invalid_argument);

    const auto hangs = []() -> asio::awaitable<void> {
        asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
        co_await timer.async_wait(asio::use_awaitable);
    };
    CHECK_THROWS_WITH_AS(run_test(30ms, hangs), doctest::Contains("had not ended"), std::runtime_error);

    const auto leaves = []() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const auto timer = std::make_shared<asio::steady_timer>(executor, 1h);
        timer->async_wait([timer](auto) {});
    };
    CHECK_THROWS_WITH_AS(run_test(30ms, leaves), doctest::Contains("still pending"), std::runtime_error);
}

TEST_CASE("a scene that was disturbed is played again, and one that was not is believed")
{
    int played = 0;
    const auto sound = [&](timed_scene&) { ++played; };
    CHECK(play_undisturbed(default_limit, sound) == "");
    CHECK(played == 1);

    const auto late = [&](timed_scene& scene) {
        ++played;
        scene.expect(false, "in time");
    };
    CHECK(play_undisturbed(default_limit, late) == "in time\n");
    CHECK(played == 2);

    const auto impossible = [&](timed_scene&) {
        ++played;
        premise(false, "time enough");
    };
    CHECK(play_undisturbed(default_limit, impossible) == "the premise failed: time enough");
    CHECK(played == 7);

    // The machine stands still in the first attempt only: somebody stops this process for a while.
    played = 0;
    const auto self = std::to_string(::getpid());
    const temporary_directory directory;
    const auto disturbed_once = [&](timed_scene& scene) {
        if (++played > 1)
            return;
        child_process other{{"sh", "-c", "kill -STOP " + self + "; sleep 1; kill -CONT " + self}, directory.path(), {}};
        other.wait();
        scene.expect(false, "in time");
    };
    CHECK(play_undisturbed(400ms, disturbed_once) == "");
    CHECK(played == 2);
}

TEST_CASE("a thread waits for what is to come, and not while it works")
{
    const auto began = steady_clock::now();
    const time_waited waited;
    while (steady_clock::now() - began < 100ms) {
    }
    const auto while_working = waited.so_far();
    CHECK(while_working < 50ms);
    ::poll(nullptr, 0, 100);
    CHECK(waited.so_far() - while_working >= 50ms);
}

TEST_CASE("a process dies with what started it, and tells how it ended")
{
    const temporary_directory directory;
    child_process seven{{"sh", "-c", "echo out; exit 7"}, directory.path(), directory.path() / "log"};
    CHECK(seven.wait() == 7);
    CHECK(std::filesystem::file_size(directory.path() / "log") == 4);
    child_process killed{{"sleep", "1000"}, directory.path(), {}};
    CHECK(killed.running());
    CHECK_FALSE(killed.paused());
    killed.pause();
    CHECK(killed.paused());
    CHECK(killed.running());
    killed.resume();
    wait_until("it goes on", default_limit, [&] { return !killed.paused(); });
    killed.pause();
    CHECK(killed.paused());
    killed.kill();
    CHECK_FALSE(killed.paused());
    killed.pause(); // there is nothing to wait for
    CHECK(killed.wait() == 128 + SIGKILL);

    // One that is killed before it can clean up: its own child must not outlive it.
    pid_t orphan = 0;
    int out[2];
    REQUIRE(::pipe(out) == 0);
    const auto parent = ::fork();
    if (parent == 0) {
        child_process inner{{"sleep", "1000"}, "/", {}};
        const auto pid = inner.pid();
        if (::write(out[1], &pid, sizeof pid) != sizeof pid)
            ::_exit(1);
        ::raise(SIGKILL);
    }
    REQUIRE(::read(out[0], &orphan, sizeof orphan) == sizeof orphan);
    ::close(out[0]);
    ::close(out[1]);
    ::waitpid(parent, nullptr, 0);
    wait_until("the orphan is gone", default_limit, [&] {
        std::ifstream status{"/proc/" + std::to_string(orphan) + "/stat"};
        std::string pid, name, state;
        return !(status >> pid >> name >> state) || state == "Z"; // nobody may be there to reap it
    });
}
