// Very many clients that hold a lock each, or wait for one, and do nothing: what their sessions cost, and what becomes
// of them while their server is away.
#include "zklock/scene.hpp"

#include <cstdint>
#include <vector>

namespace zklock::bench {

namespace {

/// One or two clients have a path each time: the first holds its lock, the second waits for it. One operation is a
/// second of one client. With `outage` they may lose their locks, and their sessions, which are counted.
class fleet : public scene {
public:
    using scene::scene;

    void set_up() override
    {
        scene::set_up();
        guards_.resize(sessions());
        for (std::size_t i = 0; i < sessions(); ++i)
            start(contend(i));
        run_for(asked_.milliseconds("session_ms") / 2); // what follows a connect and an acquire is over then
        if (held_ != paths())
            throw std::runtime_error("a client for each path should hold its lock");
    }
    report measure() override
    {
        report found;
        const auto before = session_ids();
        const auto start = steady_clock::now();
        run_for(seconds());
        found.elapsed = steady_clock::now() - start;
        found.operations = static_cast<std::uint64_t>(std::chrono::duration<double>(found.elapsed).count() *
                                                      static_cast<double>(sessions()));
        const auto after = session_ids();
        std::size_t lost = 0;
        for (std::size_t i = 0; i < sessions(); ++i)
            lost += before[i] != after[i];
        found.figures["sessions_lost"] = static_cast<double>(lost);
        if (asked_.text("outage", "").empty() && held_ != paths())
            throw std::runtime_error("a lock was lost");
        return found;
    }
    void tear_down() override
    {
        stopping_ = true;
        scene::tear_down();
        run_until_started_end();
    }

protected:
    [[nodiscard]] std::size_t sessions() const override { return static_cast<std::size_t>(asked_.number("sessions")); }
    /// So that their heartbeats are spread evenly, as those of programs that were started at any time.
    [[nodiscard]] std::chrono::milliseconds between_sessions() const override
    {
        return asked_.milliseconds("session_ms") / (2 * asked_.number("sessions"));
    }

private:
    [[nodiscard]] std::size_t paths() const { return static_cast<std::size_t>(asked_.number("paths")); }
    [[nodiscard]] std::vector<std::int64_t> session_ids()
    {
        std::vector<std::int64_t> ids(sessions());
        for (std::size_t i = 0; i < ids.size(); ++i)
            ids[i] = zk(i).session_id();
        return ids;
    }
    awaitable<void> contend(std::size_t self)
    {
        mutex lock{zk(self), path() + "/" + std::to_string(self * paths() / sessions()), options()};
        auto acquired = co_await lock.acquire();
        if (stopping_)
            co_return;
        guards_[self] = must(std::move(acquired));
        ++held_;
        guards_[self].wait_lost([this](error_code ec) { held_ -= !ec; });
    }

    std::vector<guard> guards_;
    std::size_t held_ = 0;
    bool stopping_ = false;
};

} // namespace

std::unique_ptr<workload> make_fleet_workload(const request& asked)
{
    if (asked.workload == "fleet")
        return std::make_unique<fleet>(asked);
    return nullptr;
}

} // namespace zklock::bench
