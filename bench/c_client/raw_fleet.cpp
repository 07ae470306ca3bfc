// The floor for clients that hold a lock, or wait for one, and do nothing: the pings that keep their sessions.
#include "c_client/raw.hpp"

#include <deque>

namespace zklock::bench {

namespace {

/// Two sessions have a path each time: the first has a node there, which the second one watches.
class fleet : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        const auto timeout = asked_.milliseconds("session_ms");
        const auto count = asked_.number("sessions");
        for (std::int64_t i = 0; i < count; ++i) {
            auto& self = sessions_.emplace_back(loop_, asked_.text("servers"), timeout);
            if (i % 2 == 0)
                self.create(contender_prefix(path() + "/" + std::to_string(i / 2)), contender_flags, hold());
            else
                self.get_and_watch(held_, waits());
            answered_ = false;
            loop_.run_until([this] { return answered_; });
            loop_.run_for(timeout / (2 * count));
        }
        loop_.run_for(timeout / 2);
    }
    report measure() override
    {
        report found;
        const auto start = steady_clock::now();
        loop_.run_for(seconds());
        found.elapsed = steady_clock::now() - start;
        found.operations = static_cast<std::uint64_t>(std::chrono::duration<double>(found.elapsed).count() *
                                                      static_cast<double>(sessions_.size()));
        return found;
    }
    void tear_down() override
    {
        sessions_.clear();
        raw_scene::tear_down();
    }

private:
    answer hold()
    {
        return [this](int code, const char* node) {
            check(code, "create");
            held_ = node;
            answered_ = true;
        };
    }
    answer waits()
    {
        return [this](int code, const char*) {
            check(code, "get");
            answered_ = true;
        };
    }

    std::deque<session> sessions_;
    std::string held_;
    bool answered_ = false;
};

} // namespace

std::unique_ptr<workload> make_raw_fleet(const request& asked)
{
    if (asked.workload == "fleet")
        return std::make_unique<fleet>(asked);
    return nullptr;
}

} // namespace zklock::bench
