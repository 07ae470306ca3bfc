#pragma once
#include "store/scheduler.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>

namespace zklock::unit {

/// Time that moves when the test says so.
class manual_scheduler final : public store::scheduler {
public:
    [[nodiscard]] time_point now() const override { return now_; }
    [[nodiscard]] timer_id call_at(time_point when, std::function<void()> f) override
    {
        timers_.emplace(std::pair(when, ++last_), std::move(f));
        return last_;
    }
    void cancel(timer_id id) override
    {
        std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
    }
    void post(store::unique_function<void()> f) override { posted_.push_back(std::move(f)); }

    /// Runs what is posted, and what that posts.
    void run()
    {
        while (!posted_.empty()) {
            const auto f = std::move(posted_.front());
            posted_.pop_front();
            f();
        }
    }
    /// Time passes, and nothing is run: the process stood still.
    void skip(lease_clock::duration d) { now_ += d; }
    /// Lets time pass, with all that falls due.
    void pass(lease_clock::duration d)
    {
        const auto until = now_ + d;
        run();
        while (!timers_.empty() && timers_.begin()->first.first <= until) {
            now_ = std::max(now_, timers_.begin()->first.first);
            const auto f = std::move(timers_.begin()->second);
            timers_.erase(timers_.begin());
            f();
            run();
        }
        now_ = until;
    }

private:
    time_point now_{std::chrono::hours(1)};
    std::deque<store::unique_function<void()>> posted_;
    std::map<std::pair<time_point, timer_id>, std::function<void()>> timers_;
    timer_id last_ = 0;
};

/// A store whose requests wait for the test to answer them.
class fake_store final : public store::node_store {
public:
    /// One write of a batch, as batch_write says it, with texts of its own.
    struct written {
        zklock::store::batch_write::kind what{};
        std::string path;
        std::string data;
        zklock::store::node_kind created{};
        std::int32_t version = 0;
        std::string access; ///< as text; empty: the client's
    };
    struct request {
        std::string what; ///< "create /a/b", "sync /", "batch create /a/b, remove /a/c", …
        std::function<void(zklock::store::outcome)> answer;
        std::function<void(const std::vector<std::string>&)> list; ///< of a children request
        /// The same answer, with the parent's Stat.
        std::function<void(const std::vector<std::string>&, const zklock::store::node_stat&)> list_with;
        std::function<void(std::int64_t czxid, std::int32_t number)> number; ///< of a sequential create
        std::function<void(std::int64_t owner, std::string data)> show;      ///< of a get
        std::function<void(const zklock::store::node_stat&)> stat;           ///< of an exists, a set or a create
        std::vector<written> writes;                                         ///< of a batch, and the answers to it:
        std::function<void(const std::vector<std::string>& created)> done;
        std::function<void(std::size_t index, zklock::store::outcome)> fail;
        std::function<void(const zklock::store::node_stat&)> show_stat; ///< of a get
        std::function<void()> never_leaves; ///< of a write: the connection had ended before it could leave
        std::function<void(std::int32_t version, std::string data)> show_version;         ///< likewise
        std::function<void(const zklock::store::node_stat&, std::string data)> show_node; ///< of a get
        std::string access; ///< of a create or a set_acl, as text; empty: the client's
        std::string data;   ///< of a create
        std::function<void(const access_list&, const zklock::store::node_stat&)> show_access; ///< of a get_acl
    };

    explicit fake_store(manual_scheduler& clock) : clock_(clock) {}

    zklock::store::observer* observer = nullptr;
    std::deque<request> requests;
    std::function<void()> closed;
    bool session_given_up = false;

    void attach(zklock::store::observer& o) override { observer = &o; }
    void give_up_session() override { session_given_up = true; }
    void create(std::string_view path, std::string_view data, zklock::store::node_kind kind, const access_list* access,
                create_done told) override
    {
        const auto done = copyable(std::move(told));
        using zklock::store::node_kind;
        const char* const verb = kind == node_kind::container              ? "container "
                                 : kind == node_kind::ephemeral_sequential ? "create "
                                                                           : "persistent ";
        request& r = add(verb, path);
        r.access = as_text(access);
        r.data = data;
        const auto sent = clock_.now();
        r.answer = [done, sent](zklock::store::outcome o) { done({{o, sent}, {}, {}}); };
        r.never_leaves = [done] { done({never_left, {}, {}}); };
        r.stat = [done, sent, node = std::string(path)](const zklock::store::node_stat& stat) {
            done({{zklock::store::outcome::ok, sent}, node, stat});
        };
        r.number = [done, sent, node = std::string(path)](std::int64_t czxid, std::int32_t number) {
            char digits[16];
            std::snprintf(digits, sizeof digits, "%010d", number);
            zklock::store::node_stat stat;
            stat.czxid = czxid;
            done({{zklock::store::outcome::ok, sent}, node + digits, stat});
        };
    }
    void remove(std::string_view path, std::int32_t version, reply_done f) override
    {
        simple("remove ", std::string(path) + at_version(version), std::move(f));
    }
    void set(std::string_view path, std::string_view, std::int32_t version, stat_done f) override
    {
        stat_of("set ", std::string(path) + at_version(version), std::move(f));
    }
    void exists(std::string_view path, bool watch, stat_done f) override
    {
        stat_of(watch ? "watch exists " : "exists ", std::string(path), std::move(f));
    }
    void get_acl(std::string_view path, access_done told) override
    {
        const auto f = copyable(std::move(told));
        request& r = add("get_acl ", path);
        const auto sent = clock_.now();
        r.answer = [f, sent](zklock::store::outcome o) { f({{o, sent}, nullptr, {}}); };
        r.show_access = [f, sent](const access_list& access, const zklock::store::node_stat& stat) {
            f({{zklock::store::outcome::ok, sent}, &access, stat});
        };
    }
    void set_acl(std::string_view path, const access_list& access, std::int32_t acl_version, reply_done f) override
    {
        simple("set_acl ", std::string(path) + at_version(acl_version), std::move(f));
        requests.back().access = as_text(&access);
    }
    void batch(std::span<const zklock::store::batch_write> writes, batch_done told) override
    {
        const auto f = copyable(std::move(told));
        std::string what;
        std::vector<written> copies;
        for (const auto& w : writes) {
            what += (what.empty() ? "" : ", ") + std::string(to_string(w.what)) + ' ' + std::string(w.path) +
                    at_version(w.version);
            copies.push_back(
                {w.what, std::string(w.path), std::string(w.data), w.created, w.version, as_text(w.access)});
        }
        request& r = add("batch ", what);
        r.writes = std::move(copies);
        const auto sent = clock_.now();
        r.answer = [f, sent](zklock::store::outcome o) { f({{o, sent}, {}, {}}); };
        r.never_leaves = [f] { f({never_left, {}, {}}); };
        r.fail = [f, sent](std::size_t index, zklock::store::outcome o) { f({{o, sent}, {}, {}, index}); };
        r.done = [f, sent, writes = r.writes](const std::vector<std::string>& created) {
            const std::vector<std::string_view> paths(created.begin(), created.end());
            std::vector<zklock::store::node_stat> set;
            for (const written& w : writes)
                if (w.what == zklock::store::batch_write::kind::set)
                    set.emplace_back();
            f({{zklock::store::outcome::ok, sent}, paths, set});
        };
    }
    void get(std::string_view path, bool watch, get_done told) override
    {
        const auto done = copyable(std::move(told));
        request& r = add(watch ? "watch " : "get ", path);
        const auto sent = clock_.now();
        r.answer = [done, sent](zklock::store::outcome o) { done({{o, sent}, {}, {}}); };
        r.show = [done, sent](std::int64_t owner, std::string data) {
            zklock::store::node_stat stat;
            stat.ephemeral_owner = owner;
            stat.czxid = 77;
            done({{zklock::store::outcome::ok, sent}, data, stat});
        };
        r.show_version = [done, sent](std::int32_t version, std::string data) {
            zklock::store::node_stat stat;
            stat.version = version;
            done({{zklock::store::outcome::ok, sent}, data, stat});
        };
        r.show_node = [done, sent](const zklock::store::node_stat& stat, std::string data) {
            done({{zklock::store::outcome::ok, sent}, data, stat});
        };
        r.show_stat = [show = r.show_node](const zklock::store::node_stat& stat) { show(stat, {}); };
    }
    void children(std::string_view path, bool watch, children_done told) override
    {
        const auto done = copyable(std::move(told));
        request& r = add(watch ? "watch children " : "children ", path);
        const auto sent = clock_.now();
        r.answer = [done, sent](zklock::store::outcome o) {
            done({{o, sent}, &zklock::store::children_reply::no_names, {}});
        };
        r.list_with = [done, sent](const std::vector<std::string>& names, const zklock::store::node_stat& stat) {
            done({{zklock::store::outcome::ok, sent}, &names, stat});
        };
        r.list = [answer = r.list_with](const std::vector<std::string>& names) { answer(names, {}); };
    }
    void unwatch(std::string_view path, reply_done f) override { simple("unwatch ", path, std::move(f)); }
    void sync(std::string_view path, reply_done f) override { simple("sync ", path, std::move(f)); }
    void close(std::function<void()> f) override { closed = std::move(f); }

    /// The oldest unanswered request; it is the caller's to answer.
    request take()
    {
        request r = std::move(requests.front());
        requests.pop_front();
        return r;
    }
    /// What is unanswered, as text.
    [[nodiscard]] std::string pending() const
    {
        std::string text;
        for (const request& r : requests)
            text += (text.empty() ? "" : ", ") + r.what;
        return text;
    }

    /// Whether any unanswered request has that in its text.
    [[nodiscard]] bool asks(std::string_view text) const { return pending().find(text) != std::string::npos; }

private:
    static constexpr zklock::store::reply never_left{zklock::store::outcome::unknown, {}, true};

    /// Each way to answer a request has it.
    template <class Reply>
    static std::function<void(const Reply&)> copyable(zklock::store::unique_function<void(const Reply&)> f)
    {
        return [kept = std::make_shared<decltype(f)>(std::move(f))](const Reply& reply) { (*kept)(reply); };
    }
    request& add(const char* verb, std::string_view path)
    {
        request& r = requests.emplace_back();
        r.what = verb + std::string(path);
        return r;
    }
    static std::string as_text(const access_list* access) { return access ? to_string(*access) : std::string(); }
    static std::string at_version(std::int32_t version)
    {
        return version == zklock::store::any_version ? "" : " at version " + std::to_string(version);
    }
    void stat_of(const char* verb, const std::string& path, stat_done told)
    {
        const auto f = copyable(std::move(told));
        request& r = add(verb, path);
        const auto sent = clock_.now();
        r.answer = [f, sent](zklock::store::outcome o) { f({{o, sent}, {}}); };
        r.never_leaves = [f] { f({never_left, {}}); };
        r.stat = [f, sent](const zklock::store::node_stat& stat) { f({{zklock::store::outcome::ok, sent}, stat}); };
    }
    void simple(const char* verb, std::string_view path, reply_done told)
    {
        const auto f = copyable(std::move(told));
        request& r = add(verb, path);
        r.answer = [f, sent = clock_.now()](zklock::store::outcome o) { f({o, sent}); };
        r.never_leaves = [f] { f(never_left); };
    }

    manual_scheduler& clock_;
};

} // namespace zklock::unit
