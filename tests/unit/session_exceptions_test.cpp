// What an exception leaves half done, and how it is made up for. (At each allocation, in schedules of all sorts: the
// simulator's --scarce-memory.)
#include "session_scene.hpp"

#include <functional>
#include <stdexcept>
#include <string>

using namespace zklock;
using namespace zklock::unit;

TEST_SUITE("session, exceptions")
{
    TEST_CASE("news behind a user who throws is told all the same")
    {
        scene s;
        s.start();
        std::string told;
        const auto look_once = [&](const std::string& path, const std::function<void()>& done) {
            recipes::acquire_request request;
            request.path = path;
            request.mode = recipes::patience::look_once;
            request.done = [done](error_code, const recipes::grant&) { done(); };
            return s.locks->acquire(std::move(request));
        };
        const auto first = look_once("/a", [] { throw std::runtime_error("out of the user's executor"); });
        const auto second = look_once("/b", [&] { told += 'b'; });
        const auto third = look_once("/c", [&] { told += 'c'; });
        CHECK_THROWS_AS(s.clock.run(), std::runtime_error);
        CHECK(told == "");
        s.clock.run();
        CHECK(told == "bc");
        CHECK_FALSE(s.servers.given_up);
    }

    TEST_CASE("who meets a lack of memory when its create is made queues in the next epoch, and stops nobody")
    {
        scene s;
        s.start();
        s.connect();
        s.out_of_memory = true;
        const auto a = s.acquire("/a");
        CHECK(s.servers.given_up);
        const auto b = s.acquire("/b");
        CHECK(s.servers.pending() == ""); // this epoch is over
        s.servers.observer->on_disconnected();
        s.connect(5, false);
        const std::string sent = s.servers.pending();
        CHECK(sent.find("create /a/") != std::string::npos);
        CHECK(sent.find("create /b/") != std::string::npos);
        CHECK_FALSE(a->ended);
        CHECK_FALSE(b->ended);
    }
}
