// What other clients write into their nodes, and how they call them, as contenders() reads it.
#include "input.hpp"
#include "queue/node_name.hpp"
#include "recipes/session.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <tuple>

using namespace zklock;
using fuzz::require;
using boost::system::error_code;
using store::outcome;

namespace {

constexpr std::int64_t own_session = 7;
constexpr std::string_view path = "/locks/a";

class manual_scheduler final : public store::scheduler {
public:
    time_point now() const override { return time_point(std::chrono::hours(1)); }
    timer_id call_at(time_point, std::function<void()>) override { return ++timers_; } // time stands still
    void cancel(timer_id) override {}
    void post(std::function<void()> f) override { ready_.push_back(std::move(f)); }

    void run()
    {
        while (!ready_.empty()) {
            const auto next = std::move(ready_.front());
            ready_.pop_front();
            next();
        }
    }

private:
    timer_id timers_ = 0;
    std::deque<std::function<void()>> ready_;
};

struct node {
    outcome result = outcome::ok;
    std::string data;
    store::node_stat stat;
};

/// Answers reads from what the input says; nothing else is asked of it.
class scripted_store final : public store::store {
public:
    scripted_store(manual_scheduler& s, const std::map<std::string, node>& nodes) : scheduler_(s), nodes_(nodes) {}

    void attach(zklock::store::observer& o) override { observer = &o; }
    void create(std::string_view, std::string_view, zklock::store::node_kind, create_done) override { unexpected(); }
    void remove(std::string_view, std::int32_t, done) override { unexpected(); }
    void set(std::string_view, std::string_view, std::int32_t, stat_done) override { unexpected(); }
    void batch(std::span<const zklock::store::batch_write>, batch_done) override { unexpected(); }
    void exists(std::string_view, stat_done) override { unexpected(); }
    void unwatch(std::string_view, done) override { unexpected(); }
    void sync(std::string_view, done) override { unexpected(); }

    void get(std::string_view of, bool watch, get_done f) override
    {
        require(!watch, "whoever only looks leaves no watch");
        require(of.starts_with(path) && of.size() > path.size() && of[path.size()] == '/',
                "a child of the path is read");
        const node& n = nodes_.at(std::string(of.substr(path.size() + 1)));
        scheduler_.post([&n, f = std::move(f)] {
            zklock::store::get_reply answer;
            answer.result = n.result;
            if (n.result == outcome::ok) {
                answer.data = n.data;
                answer.stat = n.stat;
            }
            f(answer);
        });
    }

    void children(std::string_view of, bool watch, children_done f) override
    {
        require(!watch, "whoever only looks leaves no watch");
        require(of == path, "the path's children are read");
        scheduler_.post([this, f = std::move(f)] {
            std::vector<std::string> names;
            for (const auto& [name, n] : nodes_)
                names.push_back(name);
            zklock::store::children_reply answer;
            answer.result = outcome::ok;
            answer.names = &names;
            f(answer);
        });
    }

    void close(std::function<void()> closed) override { scheduler_.post(std::move(closed)); }

    zklock::store::observer* observer = nullptr;

private:
    static void unexpected() { require(false, "whoever only looks changes nothing"); }

    manual_scheduler& scheduler_;
    const std::map<std::string, node>& nodes_;
};

std::map<std::string, node> read_nodes(fuzz::input& in)
{
    std::map<std::string, node> nodes;
    for (std::size_t left = in.below(16); left != 0; --left) {
        const std::string name(in.line());
        const std::uint8_t kind = in.byte();
        node n;
        n.data = in.line('\xff');
        n.result = kind % 16 == 0 ? outcome::no_node : kind % 64 == 1 ? outcome::no_auth : outcome::ok;
        n.stat.ephemeral_owner = kind / 64;
        n.stat.ephemeral_owner += own_session - 1;
        n.stat.ctime_ms = kind;
        if (!name.empty() && name.find('/') == name.npos && name.find('\0') == name.npos)
            nodes.emplace(name, std::move(n));
    }
    return nodes;
}

void check(const std::map<std::string, node>& nodes, error_code ec, const std::vector<contender>& listed)
{
    std::vector<std::tuple<std::int32_t, std::string, const node*>> expected;
    bool forbidden = false;
    for (const auto& [name, n] : nodes) {
        const auto sequence = queue::sequence_of(name);
        if (!sequence || n.result == outcome::no_node)
            continue;
        forbidden = forbidden || n.result == outcome::no_auth;
        expected.emplace_back(*sequence, std::string(path) + '/' + name, &n);
    }
    if (forbidden)
        return require(ec == errc::access_denied && listed.empty(), "what may not be read is reported");
    std::sort(expected.begin(), expected.end());
    require(!ec && listed.size() == expected.size(), "every contender is listed once");
    for (std::size_t i = 0; i < listed.size(); ++i) {
        const auto& [sequence, full, n] = expected[i];
        std::string first_line;
        for (const char c : n->data) {
            if (c == '\n')
                break;
            first_line += c;
        }
        require(listed[i].sequence == sequence && listed[i].node == full, "in the order of the queue");
        require(listed[i].identifier == first_line, "the first line tells who it is");
        require(listed[i].session_id == n->stat.ephemeral_owner, "the session is the node's owner");
        require(listed[i].ours == (n->stat.ephemeral_owner == own_session), "ours are those of our session");
        require(listed[i].created.time_since_epoch() == std::chrono::milliseconds(n->stat.ctime_ms),
                "created when the node was");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const auto nodes = read_nodes(in);
    manual_scheduler scheduler;
    scripted_store store(scheduler, nodes);
    recipes::session session(store, scheduler, client_options(), [] { return std::string(36, 'u'); });
    zklock::store::connect_reply connected;
    connected.session_id = own_session;
    connected.session_timeout = std::chrono::seconds(10);
    connected.renewed = true;
    connected.sent = scheduler.now();
    store.observer->on_connected(connected);

    int answers = 0;
    session.contenders(std::string(path), [&](error_code ec, const std::vector<contender>& listed) {
        ++answers;
        check(nodes, ec, listed);
    });
    scheduler.run();
    require(answers == 1, "the list is answered once");
    return 0;
}
