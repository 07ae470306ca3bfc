// What an exception leaves half done, and how it is made up for. (At each allocation, in schedules of all sorts: the
// simulator's --scarce-memory.)
#include "session_scene.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

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
            request.mode = recipes::acquire_mode::look_once;
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

    TEST_CASE("as long as memory fails, it is tried again after a pause each, and then all is told")
    {
        struct at_a_loss final : recipes::session_member {
            void epoch_began() override {}
            void epoch_ended() override {}
            void session_ended() override
            {
                if (++tries <= 200)
                    throw std::bad_alloc();
            }
            void lease_lapsed() override {}
            void refuse_all(errc) override {}
            void stop(errc) override {}
            void advance() override {}
            void on_own_event(store::event_kind, std::string_view) override {}
            void on_node_event(store::event_kind, std::string_view, std::string_view) override {}
            int tries = 0;
        };
        scene s;
        recipes::session session(s.servers, s.clock, s.counted, s.options, [] { return std::string(); });
        at_a_loss member;
        session.add(member);
        s.servers.observer->on_connected({5, 10s, true, s.clock.now()});
        s.servers.observer->on_disconnected();
        s.servers.observer->on_expired();
        int told = 0;
        session.tell([&] { ++told; });
        s.clock.pass(100ms);
        CHECK(member.tries > 1);
        CHECK(member.tries < 40); // 200 at once, if there was no pause
        CHECK(told == 0);
        s.clock.pass(10s);
        CHECK(member.tries == 201);
        CHECK(told == 1);
        session.remove(member);
    }

    TEST_CASE("a change of the state is told with a slot that was made before; of several at once, the last")
    {
        scene s;
        s.start();
        std::vector<connection_state> told;
        s.session->on_state([&](connection_state now) { told.push_back(now); });
        s.connect();
        s.servers.observer->on_disconnected();
        CHECK(s.session->state() == connection_state::suspended);
        s.servers.observer->on_expired();
        s.clock.run();
        s.servers.observer->on_disconnected();
        s.clock.run();
        using enum connection_state;
        CHECK(told == std::vector{connected, connecting, suspended});
    }
}
