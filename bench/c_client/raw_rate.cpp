// The floor for many at once: their creates and deletes, pipelined one by one or gathered in multis, without any lock.
#include "c_client/raw.hpp"

#include <array>
#include <cstring>
#include <deque>

namespace zklock::bench {

namespace {

struct contender {
    class cycling* owner = nullptr;
    std::string prefix;
    std::array<char, 192> node{}; ///< its path, empty as long as it has none
    steady_clock::time_point asked_at{};
};

/// Contenders that create and delete their nodes, again and again.
class cycling : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        const auto paths = asked_.number("paths", 0);
        const auto count = paths ? paths : asked_.number("waiters");
        for (std::int64_t i = 0; i < count; ++i) {
            auto& c = contenders_.emplace_back();
            c.owner = this;
            c.prefix = contender_prefix(paths ? path() + "/" + std::to_string(i) : path());
            begin(c);
        }
        const auto limit = steady_clock::now() + std::chrono::milliseconds{asked_.number("warm_up_ms", 3'000)};
        loop_.run_until([&] { return operations_ >= contenders_.size() || steady_clock::now() >= limit; });
    }
    report measure() override
    {
        creates_ = cycles_ = {};
        operations_ = 0;
        report found;
        const auto start = steady_clock::now();
        loop_.run_for(seconds());
        found.elapsed = steady_clock::now() - start;
        found.operations = operations_;
        found.latencies = {{"acquire", std::move(creates_)}, {"cycle", std::move(cycles_)}};
        return found;
    }
    void tear_down() override
    {
        stopping_ = true;
        loop_.run_until([this] { return running_ == 0; });
        raw_scene::tear_down();
    }

protected:
    virtual void create(contender& c) = 0;
    virtual void remove(contender& c) = 0;

    void begin(contender& c)
    {
        ++running_;
        c.node[0] = '\0';
        c.asked_at = steady_clock::now();
        create(c);
    }
    void on_created(contender& c)
    {
        creates_.record(steady_clock::now() - c.asked_at);
        remove(c);
    }
    void on_removed(contender& c)
    {
        cycles_.record(steady_clock::now() - c.asked_at);
        ++operations_;
        --running_;
        if (!stopping_)
            begin(c);
    }

private:
    std::deque<contender> contenders_;
    histogram creates_, cycles_;
    std::uint64_t operations_ = 0;
    std::size_t running_ = 0;
    bool stopping_ = false;
};

class one_by_one : public cycling {
public:
    using cycling::cycling;

private:
    static contender& of(const void* context) { return *static_cast<contender*>(const_cast<void*>(context)); }

    void create(contender& c) override
    {
        const auto done = [](int code, const char* node, const void* context) {
            check(code, "create");
            auto& created = of(context);
            std::strncpy(created.node.data(), node, created.node.size() - 1);
            static_cast<one_by_one*>(created.owner)->on_created(created);
        };
        const int code = zoo_acreate(session_->handle(), c.prefix.c_str(), "raw", 3, &ZOO_OPEN_ACL_UNSAFE,
                                     contender_flags, done, &c);
        check(code, "create");
    }
    void remove(contender& c) override
    {
        const auto done = [](int code, const void* context) {
            check(code, "delete");
            auto& removed = of(context);
            static_cast<one_by_one*>(removed.owner)->on_removed(removed);
        };
        check(zoo_adelete(session_->handle(), c.node.data(), -1, done, &c), "delete");
    }
};

/// What comes while two multis are under way is gathered for the next.
class in_multis : public cycling {
public:
    explicit in_multis(const request& asked) : cycling(asked), size_(static_cast<std::size_t>(asked.number("multi")))
    {
        for (auto& b : batches_) {
            b.owner = this;
            b.operations.resize(size_);
            b.results.resize(size_);
            b.paths.resize(size_ * path_size);
            idle_.push_back(&b);
        }
    }

private:
    static constexpr int path_size = std::tuple_size_v<decltype(contender::node)>;

    struct batch {
        in_multis* owner = nullptr;
        std::vector<zoo_op_t> operations;
        std::vector<zoo_op_result_t> results;
        std::vector<contender*> contenders;
        std::vector<char> paths; ///< of what was created

        char* path(std::size_t i) { return paths.data() + i * path_size; }
    };

    void create(contender& c) override { gather(c); }
    void remove(contender& c) override { gather(c); }
    void gather(contender& c)
    {
        gathered_.push_back(&c);
        if (!completing_)
            send();
    }
    void send()
    {
        while (!idle_.empty() && !gathered_.empty()) {
            auto& b = *idle_.back();
            idle_.pop_back();
            b.contenders.clear();
            for (; b.contenders.size() < size_ && !gathered_.empty(); gathered_.pop_front()) {
                auto& c = *gathered_.front();
                auto& operation = b.operations[b.contenders.size()];
                b.contenders.push_back(&c);
                if (c.node[0])
                    zoo_delete_op_init(&operation, c.node.data(), -1);
                else
                    zoo_create_op_init(&operation, c.prefix.c_str(), "raw", 3, &ZOO_OPEN_ACL_UNSAFE, contender_flags,
                                       b.path(b.contenders.size() - 1), path_size);
            }
            check(zoo_amulti(session_->handle(), static_cast<int>(b.contenders.size()), b.operations.data(),
                             b.results.data(), &done, &b),
                  "multi");
        }
    }
    static void done(int code, const void* context)
    {
        check(code, "multi");
        auto& b = *static_cast<batch*>(const_cast<void*>(context));
        b.owner->on_done(b);
    }
    void on_done(batch& b)
    {
        completing_ = true;
        for (std::size_t i = 0; i < b.contenders.size(); ++i) {
            auto& c = *b.contenders[i];
            if (c.node[0]) {
                on_removed(c);
            } else {
                std::strncpy(c.node.data(), b.path(i), c.node.size() - 1);
                on_created(c);
            }
        }
        completing_ = false;
        idle_.push_back(&b);
        send();
    }

    std::size_t size_;
    std::array<batch, 2> batches_;
    std::vector<batch*> idle_;
    std::deque<contender*> gathered_;
    bool completing_ = false;
};

/// Creates by the clock, whatever became of those before; timed from the moment they were due.
class arrivals : public raw_scene {
public:
    using raw_scene::raw_scene;

    void set_up() override
    {
        raw_scene::set_up();
        arrive(std::chrono::milliseconds{200});
    }
    report measure() override
    {
        creates_ = {};
        operations_ = 0;
        report found;
        const auto start = steady_clock::now();
        arrive(seconds());
        found.elapsed = steady_clock::now() - start;
        found.operations = operations_;
        found.latencies["acquire"] = std::move(creates_);
        return found;
    }

private:
    void arrive(std::chrono::milliseconds time)
    {
        start_ = steady_clock::now();
        end_ = start_ + time;
        next_ = 0;
        in_service_ = 1;
        next_arrival();
        loop_.run_until([this] { return in_service_ == 0; });
    }
    [[nodiscard]] steady_clock::time_point due(std::int64_t i) const
    {
        return start_ + i * (std::chrono::nanoseconds{1'000'000'000} / asked_.number("arrivals_per_s"));
    }
    void next_arrival()
    {
        const auto now = steady_clock::now();
        while (due(next_) <= now && due(next_) < end_)
            serve(due(next_), next_ % asked_.number("paths")), ++next_;
        loop_.update(*session_);
        if (due(next_) < end_)
            loop_.call_at(due(next_), [this] { next_arrival(); });
        else
            --in_service_;
    }
    void serve(steady_clock::time_point asked_at, std::int64_t where)
    {
        ++in_service_;
        session_->create(contender_prefix(path() + "/" + std::to_string(where)), contender_flags,
                         [this, asked_at](int code, const char* node) {
                             check(code, "create");
                             creates_.record(steady_clock::now() - asked_at);
                             ++operations_;
                             session_->remove(node, [this](int result, const char*) {
                                 check(result, "delete");
                                 --in_service_;
                             });
                         });
    }

    histogram creates_;
    std::uint64_t operations_ = 0;
    steady_clock::time_point start_, end_;
    std::int64_t next_ = 0;
    std::size_t in_service_ = 0;
};

} // namespace

std::unique_ptr<workload> make_raw_rate_workload(const request& asked)
{
    if (asked.workload == "arrivals")
        return std::make_unique<arrivals>(asked);
    if (asked.workload != "crowd" && asked.workload != "independent")
        return nullptr;
    if (asked.number("multi", 0) != 0)
        return std::make_unique<in_multis>(asked);
    return std::make_unique<one_by_one>(asked);
}

} // namespace zklock::bench
