// The floor for one waiter at a time: the requests that a lock cannot do without, and nothing else.
#include "c_client/raw.hpp"

#include <deque>

namespace zklock::bench {

namespace {

/// Create and delete in turn, each sent from the completion of the one before.
class uncontended : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        prefix_ = contender_prefix(path());
        cycles(std::chrono::milliseconds{100});
    }
    report measure() override
    {
        creates_ = deletes_ = cycles_ = {};
        report found;
        found.elapsed = cycles(seconds());
        found.operations = operations_;
        found.latencies = {
            {"acquire", std::move(creates_)}, {"release", std::move(deletes_)}, {"cycle", std::move(cycles_)}};
        return found;
    }

private:
    steady_clock::duration cycles(std::chrono::milliseconds time)
    {
        operations_ = 0;
        running_ = true;
        const auto start = steady_clock::now();
        end_ = start + time;
        begin(start);
        loop_.run_until([this] { return !running_; });
        return deleted_ - start;
    }
    void begin(steady_clock::time_point now)
    {
        asked_at_ = now;
        const int code = zoo_acreate(session_->handle(), prefix_.c_str(), "raw", 3, &ZOO_OPEN_ACL_UNSAFE,
                                     contender_flags, &created, this);
        check(code, "create");
    }
    static void created(int code, const char* node, const void* context)
    {
        check(code, "create");
        auto& self = *static_cast<uncontended*>(const_cast<void*>(context));
        self.created_ = steady_clock::now();
        self.creates_.record(self.created_ - self.asked_at_);
        check(zoo_adelete(self.session_->handle(), node, -1, &removed, context), "delete");
    }
    static void removed(int code, const void* context)
    {
        check(code, "delete");
        auto& self = *static_cast<uncontended*>(const_cast<void*>(context));
        self.deleted_ = steady_clock::now();
        self.deletes_.record(self.deleted_ - self.created_);
        self.cycles_.record(self.deleted_ - self.asked_at_);
        ++self.operations_;
        self.running_ = self.deleted_ < self.end_;
        if (self.running_)
            self.begin(self.deleted_);
    }

    std::string prefix_;
    histogram creates_, deletes_, cycles_;
    std::uint64_t operations_ = 0;
    bool running_ = false;
    steady_clock::time_point end_, asked_at_, created_, deleted_;
};

/// The list of children of a path that has one.
class children : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        bool done = false;
        session_->create(contender_prefix(path()), contender_flags, [&](int code, const char*) {
            check(code, "create");
            done = true;
        });
        loop_.run_until([&] { return done; });
    }
    report measure() override
    {
        report found;
        const auto start = steady_clock::now();
        for (auto now = start; now - start < seconds(); ++found.operations) {
            bool done = false;
            session_->children(path(), [&](int code, const String_vector*) {
                check(code, "get children");
                done = true;
            });
            loop_.run_until([&] { return done; });
            const auto end = steady_clock::now();
            found.latencies["children"].record(end - now);
            found.elapsed = end - start;
            now = end;
        }
        return found;
    }
};

/// On each path a create and, sent together with it, the list of children.
class first : public raw_scene {
public:
    using raw_scene::raw_scene;

    report measure() override
    {
        report found;
        for (std::int64_t i = 0; i < asked_.number("paths"); ++i, ++found.operations) {
            const auto parent = path() + "/" + std::to_string(i);
            const auto prefix = contender_prefix(parent);
            std::string node;
            int missing = 2;
            const auto start = steady_clock::now();
            session_->create(prefix, contender_flags, [&](int code, const char* name) {
                check(code, "create");
                node = name;
                --missing;
            });
            session_->children(parent, [&](int code, const String_vector*) {
                check(code, "get children");
                --missing;
            });
            loop_.run_until([&] { return missing == 0; });
            const auto took = steady_clock::now() - start;
            found.latencies["first"].record(took);
            found.elapsed += took;
            session_->remove(node, [&](int code, const char*) {
                check(code, "delete");
                missing = -1;
            });
            loop_.run_until([&] { return missing == -1; });
        }
        return found;
    }
};

/// From the delete of a node in one session to the event in the next one's, all in one thread.
class handoff : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        for (std::int64_t i = 0; i < asked_.number("sessions"); ++i)
            sessions_.emplace_back(loop_, asked_.text("servers")).on_event = [this](int type, const char*) {
                event_at_ = steady_clock::now();
                deleted_ = type == ZOO_DELETED_EVENT;
            };
        static_cast<void>(pass_on(std::chrono::milliseconds{100}));
    }
    report measure() override { return pass_on(seconds()); }
    void tear_down() override
    {
        sessions_.clear();
        raw_scene::tear_down();
    }

private:
    report pass_on(std::chrono::milliseconds time)
    {
        report found;
        auto& latencies = found.latencies["handoff"];
        const std::chrono::microseconds hold{asked_.number("hold_us")};
        const auto prefix = contender_prefix(path());
        const auto start = steady_clock::now();
        for (std::size_t holder = 0; steady_clock::now() - start < time; ++found.operations) {
            auto& from = sessions_[holder];
            holder = (holder + 1) % sessions_.size();
            auto& to = sessions_[holder];
            std::string node;
            from.create(prefix, contender_flags, [&](int code, const char* name) {
                check(code, "create");
                node = name;
            });
            loop_.run_until([&] { return !node.empty(); });
            bool ready = false;
            to.get_and_watch(node, [&](int code, const char*) {
                check(code, "get");
                ready = true;
            });
            loop_.run_until([&] { return ready; });
            if (hold.count() != 0) {
                ready = false;
                loop_.call_at(steady_clock::now() + hold, [&] { ready = true; });
                loop_.run_until([&] { return ready; });
            }
            ready = deleted_ = false;
            const auto asked_at = steady_clock::now();
            from.remove(node, [&](int code, const char*) {
                check(code, "delete");
                ready = true;
            });
            loop_.run_until([&] { return ready && deleted_; });
            latencies.record(event_at_ - asked_at);
        }
        found.elapsed = steady_clock::now() - start;
        return found;
    }

    std::deque<session> sessions_;
    bool deleted_ = false;
    steady_clock::time_point event_at_;
};

} // namespace

std::unique_ptr<workload> make_raw_latency_workload(const request& asked)
{
    if (asked.workload == "uncontended")
        return std::make_unique<uncontended>(asked);
    if (asked.workload == "children")
        return std::make_unique<children>(asked);
    if (asked.workload == "first")
        return std::make_unique<first>(asked);
    if (asked.workload == "handoff")
        return std::make_unique<handoff>(asked);
    return nullptr;
}

} // namespace zklock::bench
