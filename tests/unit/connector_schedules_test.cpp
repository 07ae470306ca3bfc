#include "connector_scene.hpp"
#include "support/fresh_seed.hpp"
#include "support/sanitized.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

using namespace std::chrono_literals;
using zklock::bridge::connector;

// The connector among servers and resolvers that are made to fail by chance, in virtual time. Whatever they do, it
// keeps to its limits; and when they work again, it is soon connected.

namespace {

using clock_type = connector::clock;
using time_point = clock_type::time_point;
using duration = clock_type::duration;
using step = connector::step;
using loss = connector::loss;
using phase = connector::phase;

class schedule {
public:
    explicit schedule(unsigned seed)
        : random_(seed), settings_{pick({1000ms, 4000ms, 12000ms, 40000ms}), pick({10ms, 100ms, 2000ms}),
                                   pick({500ms, 5000ms, 20000ms})},
          connector_(settings_, seed, now_)
    {
        for (int n = below(5) + 1; n != 0; --n)
            servers_["s" + std::to_string(n)];
    }

    void play()
    {
        take(connector_.begin(now_));
        for (int n = 0; n < 300; ++n) {
            if (below(10) == 0)
                change_the_world();
            pass_time();
        }
        all_is_well_again();
        const auto since = now_;
        while (connector_.now_in() != phase::connected) {
            REQUIRE(now_ - since <= longest_until_connected());
            pass_time();
        }
        close();
    }

private:
    enum class manner : std::uint8_t { serves, refuses, silent, drops, forgets_sessions };
    struct server {
        manner how = manner::serves;
        bool known = true; ///< its name has been looked up
    };

    int below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
    template <class T> T pick(std::initializer_list<T> from)
    {
        return from.begin()[below(static_cast<int>(from.size()))];
    }

    void change_the_world()
    {
        for (auto& [name, s] : servers_)
            if (below(2) == 0) {
                s.how = static_cast<manner>(below(5));
                s.known = below(4) != 0;
            }
        if (below(2) == 0)
            tell_names();
        const auto present = servers_.find(present_);
        if (connector_.now_in() == phase::connected && present->second.how != manner::serves)
            lose(loss::connection);
    }

    void all_is_well_again()
    {
        for (auto& [name, s] : servers_)
            s = {};
        if (connector_.now_in() != phase::connected)
            tell_names();
    }

    [[nodiscard]] duration longest_until_connected() const
    {
        // An attempt that began before, of a server that was silent then; the rest of the pause; the names.
        return settings_.session_timeout * 2 / 3 + std::max(settings_.backoff, settings_.backoff_limit) + 200ms;
    }

    void pass_time()
    {
        at_this_time_ = connector_.due() && *connector_.due() <= now_ ? at_this_time_ + 1 : 0;
        REQUIRE(at_this_time_ <= 2 * static_cast<int>(servers_.size()) + 4); // it never spins
        if (!connector_.due()) {
            now_ += std::chrono::milliseconds(below(20000));
            if (below(2) == 0)
                connector_.served(now_);
            if (connector_.now_in() == phase::connected && below(2) == 0)
                lose(below(4) == 0 ? loss::session : loss::connection);
            return;
        }
        now_ = std::max(now_, *connector_.due());
        take(connector_.time_passed(now_));
    }

    void tell_names()
    {
        connector::names known;
        for (const auto& [name, s] : servers_)
            if (s.known)
                known.addresses.push_back(zklock::test::address_called(name));
            else
                tried_.erase(name); // when it is known again, it is new
        known.complete = known.addresses.size() == servers_.size();
        known.answers_due = !known.complete && below(2) == 0;
        take(connector_.names_known(std::move(known), now_));
    }

    void take(step next)
    {
        switch (next) {
        case step::wait: break;
        case step::resolve:
            CHECK(connector_.now_in() == phase::resolving);
            tried_.clear();
            tell_names();
            break;
        case step::attempt: begin_attempt(); break;
        case step::leave:
            REQUIRE(attempt_began_);
            CHECK_FALSE(servers_[present_].known);
            lose(loss::connection);
            break;
        case step::give_up:
            REQUIRE(attempt_began_);
            CHECK(now_ - *attempt_began_ <= duration(settings_.session_timeout) * 2 / 3);
            lose(loss::connection);
            break;
        case step::finish: connector_.finished(); break;
        }
    }

    void begin_attempt()
    {
        REQUIRE_FALSE(attempt_began_); // one at a time
        attempt_began_ = now_;
        present_ = connector_.address().text;
        REQUIRE(servers_.contains(present_));
        CHECK(tried_.insert(present_).second); // once in a cycle
        switch (servers_[present_].how) {
        case manner::serves: open(); break;
        case manner::drops:
            open();
            lose(loss::connection);
            break;
        case manner::refuses: lose(below(2) == 0 ? loss::security : loss::connection); break;
        case manner::forgets_sessions:
            servers_[present_].how = manner::serves;
            lose(loss::session);
            break;
        case manner::silent: break; // until its time is over
        }
    }

    void open()
    {
        // A server that drops connections is not stormed: of four pauses in a row, one may be none after a loss, one
        // when a new session is asked for, and one is drawn from 0 on.
        opened_at_.push_back(now_);
        if (opened_at_.size() > 4) {
            const auto longest =
                std::min({settings_.backoff * 2, settings_.backoff_limit, settings_.session_timeout / 8});
            CHECK(now_ - opened_at_.front() >= duration(longest) * 66 / 100);
            opened_at_.pop_front();
        }
        connector_.opened(settings_.session_timeout);
        CHECK(connector_.now_in() == phase::connected);
        CHECK_FALSE(connector_.due());
        tried_.clear();
    }

    void lose(loss what)
    {
        const bool was_open = connector_.now_in() == phase::connected;
        attempt_began_.reset();
        if (was_open && what == loss::connection)
            session_ends_ = now_ + settings_.session_timeout;
        if (what == loss::session) {
            session_ends_ = {};
            tried_.clear();
        }
        take(connector_.lost(what, now_));
        if (was_open)
            tried_.clear();
        CHECK(connector_.now_in() == phase::pausing);
        REQUIRE(connector_.due());
        const auto pause = *connector_.due() - now_;
        CHECK(pause <= std::max(settings_.backoff, settings_.backoff_limit));
        if (session_ends_ != time_point{} && now_ < session_ends_ + settings_.session_timeout)
            CHECK(pause <= settings_.session_timeout / 8);
    }

    void close()
    {
        const auto began = now_;
        take(connector_.close(now_));
        if (below(2) == 0 && connector_.now_in() == phase::flushing)
            connector_.hung_up(now_ += 500ms);
        while (connector_.now_in() != phase::closed) {
            now_ = *connector_.due();
            take(connector_.time_passed(now_));
        }
        CHECK(now_ - began <= 2s);
        tell_names();
        CHECK(connector_.lost(loss::connection, now_) == step::wait);
        CHECK(connector_.time_passed(now_ + 24h) == step::wait);
        CHECK_FALSE(connector_.due());
    }

    std::mt19937 random_;
    const connector::settings settings_;
    time_point now_{1h};
    zklock::unit::connecting::sleeper connector_;
    std::map<std::string, server> servers_;
    std::string present_; ///< the server of the last attempt
    std::set<std::string> tried_;
    std::optional<time_point> attempt_began_;
    std::deque<time_point> opened_at_; ///< the last four
    time_point session_ends_{};
    int at_this_time_ = 0;
};

} // namespace

TEST_CASE("schedules of servers and resolvers that fail: limits are kept, and who can be reached is")
{
    auto seed = static_cast<unsigned>(zklock::test::fresh_seed());
    for (auto left = zklock::test::scaled(3000); left != 0; --left, ++seed) {
        INFO("ZKLOCK_TEST_SEED=", seed, " begins with it");
        schedule(seed).play();
    }
}
