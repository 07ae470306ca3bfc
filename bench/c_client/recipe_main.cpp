// The driver of ZooKeeper's C recipe. A session per contender on a path, because that is how it names them; all of
// them on one thread.
#include "c_client/raw.hpp"
#include "c_client/recipe_lock.hpp"

#include <sys/resource.h>

#include <deque>

namespace zklock::bench {

namespace {

struct recipe_session {
    recipe_session(loop& turning, const std::string& servers) : plain(turning, servers)
    {
        plain.on_event = [this](int, const char* path) { recipe_lock::dispatch(watchers, path); };
    }
    session plain;
    std::map<std::string, recipe_lock*> watchers;
};

/// As many sessions and locks as the workload wants: of one path each a session, of several all in one.
class recipe_scene : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        const auto paths = asked_.number("paths", 0);
        if (paths) {
            sessions_.emplace_back(loop_, asked_.text("servers"));
            for (std::int64_t i = 0; i < paths; ++i)
                add_lock(path() + "/" + std::to_string(i));
            return;
        }
        const auto contenders = asked_.number("waiters", asked_.number("sessions", 1));
        for (std::int64_t i = 0; i < contenders; ++i) {
            sessions_.emplace_back(loop_, asked_.text("servers"));
            add_lock(path());
        }
    }
    report measure() override
    {
        found_ = {};
        const auto start = steady_clock::now();
        loop_.run_for(seconds());
        found_.elapsed = steady_clock::now() - start;
        return std::move(found_);
    }
    void tear_down() override
    {
        stopping_ = true;
        loop_.run_until([this] { return running_ == 0; });
        locks_.clear();
        sessions_.clear();
        raw_scene::tear_down();
    }

protected:
    void add_lock(const std::string& where)
    {
        auto& s = sessions_.back();
        locks_.emplace_back(s.plain, s.watchers, where);
    }
    /// Acquires and releases until the end.
    void contend(recipe_lock& lock)
    {
        ++running_;
        const auto start = steady_clock::now();
        lock.lock([this, &lock, start] {
            found_.latencies["acquire"].record(steady_clock::now() - start);
            lock.unlock([this, &lock, start] {
                found_.latencies["cycle"].record(steady_clock::now() - start);
                ++found_.operations;
                --running_;
                if (!stopping_)
                    contend(lock);
            });
        });
    }

    std::deque<recipe_session> sessions_;
    std::deque<recipe_lock> locks_;
    report found_;
    std::size_t running_ = 0;
    bool stopping_ = false;
};

/// uncontended, crowd, independent
class contenders : public recipe_scene {
public:
    using recipe_scene::recipe_scene;

    void set_up() override
    {
        recipe_scene::set_up();
        for (auto& lock : locks_)
            contend(lock);
        const auto limit = steady_clock::now() + std::chrono::milliseconds{asked_.number("warm_up_ms", 100)};
        loop_.run_until([&] { return found_.operations >= locks_.size() && steady_clock::now() >= limit; });
    }
};

class first : public recipe_scene {
public:
    using recipe_scene::recipe_scene;

    report measure() override
    {
        for (auto& lock : locks_) {
            bool done = false;
            const auto start = steady_clock::now();
            lock.lock([&] {
                const auto took = steady_clock::now() - start;
                found_.latencies["first"].record(took);
                found_.elapsed += took;
                lock.unlock([&] { done = true; });
            });
            loop_.run_until([&] { return done; });
        }
        found_.operations = locks_.size();
        return std::move(found_);
    }
};

class handoff : public recipe_scene {
public:
    using recipe_scene::recipe_scene;

    void set_up() override
    {
        recipe_scene::set_up();
        for (auto& lock : locks_)
            contend(lock);
        loop_.run_for(std::chrono::milliseconds{100});
    }

private:
    void contend(recipe_lock& lock)
    {
        ++running_;
        lock.lock([this, &lock] {
            if (last_holder_ != &lock) {
                found_.latencies["handoff"].record(steady_clock::now() - released_);
                ++found_.operations;
            }
            const std::chrono::microseconds hold{asked_.number("hold_us")};
            if (hold.count() == 0)
                release(lock);
            else
                loop_.call_at(steady_clock::now() + hold, [this, &lock] { release(lock); });
        });
    }
    void release(recipe_lock& lock)
    {
        last_holder_ = &lock;
        released_ = steady_clock::now();
        lock.unlock([this, &lock] {
            --running_;
            if (!stopping_)
                contend(lock);
        });
    }

    recipe_lock* last_holder_ = nullptr;
    steady_clock::time_point released_ = steady_clock::now();
};

/// Each session has a socket.
void allow_many_sockets()
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

} // namespace zklock::bench

int main()
{
    using namespace zklock::bench;
    allow_many_sockets();
    return serve([](const request& asked) -> std::unique_ptr<workload> {
        if (asked.workload == "first")
            return std::make_unique<first>(asked);
        if (asked.workload == "handoff")
            return std::make_unique<handoff>(asked);
        if (asked.workload == "uncontended" || asked.workload == "crowd" || asked.workload == "independent")
            return std::make_unique<contenders>(asked);
        return nullptr;
    });
}
