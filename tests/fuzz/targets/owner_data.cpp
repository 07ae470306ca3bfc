// What other clients write into their nodes, and how they call them, as contenders() and holders() read it.
#include "queue/owner_data.hpp"
#include "input.hpp"
#include "recipes/requests/queue_requests.hpp"
#include "recipes/session/option_faults.hpp"
#include "unit/fake_store.hpp"

#include <sstream>
#include <tuple>

using namespace zklock;
using boost::system::error_code;
using fuzz::require;
using store::outcome;
using unit::manual_scheduler; // whose time stands still here

namespace {

constexpr std::int64_t own_session = 7;
constexpr std::string_view path = "/locks/a";

struct node {
    outcome result = outcome::ok;
    std::string data;
    store::node_stat stat;
};

/// Answers reads from what the input says; nothing else is asked of it.
class scripted_store final : public store::node_store {
public:
    scripted_store(manual_scheduler& s, const std::map<std::string, node>& nodes) : scheduler_(s), nodes_(nodes) {}

    void attach(zklock::store::observer& o) override { observer = &o; }
    void give_up_session() override {}
    void create(std::string_view, std::string_view, zklock::store::node_kind, const zklock::access_list*,
                create_done) override
    {
        unexpected();
    }
    void remove(std::string_view, std::int32_t, reply_done) override { unexpected(); }
    void set(std::string_view, std::string_view, std::int32_t, stat_done) override { unexpected(); }
    void batch(std::span<const zklock::store::batch_write>, batch_done) override { unexpected(); }
    void exists(std::string_view, bool, stat_done) override { unexpected(); }
    void get_acl(std::string_view, access_done) override { unexpected(); }
    void set_acl(std::string_view, const zklock::access_list&, std::int32_t, reply_done) override { unexpected(); }
    void unwatch(std::string_view, reply_done) override { unexpected(); }
    void sync(std::string_view, reply_done) override { unexpected(); }

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
        n.stat.created = std::chrono::system_clock::time_point(std::chrono::milliseconds(kind));
        if (!name.empty() && name.find('/') == name.npos && name.find('\0') == name.npos)
            nodes.emplace(name, std::move(n));
    }
    return nodes;
}

/// The decimal number behind the last dash, if there is one; else 0. After two dashes it is negative.
std::int32_t lease_number(const std::string& name)
{
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    std::int64_t number = 0;
    const auto dash = name.rfind('-');
    for (std::size_t i = dash + 1; dash != name.npos && i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i)
        number = std::min(number * 10 + (name[i] - '0'), most + 2);
    const bool negative = dash != name.npos && dash != 0 && name[dash - 1] == '-';
    if (number > most + (negative ? 1 : 0))
        return 0;
    return static_cast<std::int32_t>(negative ? -number : number);
}

/// All children are leases, the older one first where the numbers do not tell.
struct as_leases {
    static const recipes::list_kind& what() { return recipes::list_kind::permits; }
    static std::optional<std::int32_t> number(const std::string& name) { return lease_number(name); }
    static auto age(const node& n) { return n.stat.created; }
};
struct as_queue {
    static const recipes::list_kind& what() { return recipes::list_kind::queue; }
    static std::optional<std::int32_t> number(const std::string& name) { return queue::name_rules().sequence_of(name); }
    static auto age(const node&) { return std::chrono::system_clock::time_point(); }
};

/// Where its client may be reached, which is no property.
bool says_where(const std::string& line)
{
    return line.starts_with("handoff=") && queue::looks_like_endpoint(std::string_view(line).substr(8));
}

template <class As>
void check(const std::map<std::string, node>& nodes, error_code ec, const std::vector<contender>& listed)
{
    std::vector<std::tuple<std::int32_t, std::chrono::system_clock::time_point, std::string, const node*>> expected;
    bool forbidden = false;
    for (const auto& [name, n] : nodes) {
        const auto sequence = As::number(name);
        if (!sequence || n.result == outcome::no_node)
            continue;
        forbidden = forbidden || n.result == outcome::no_auth;
        expected.emplace_back(*sequence, As::age(n), std::string(path) + '/' + name, &n);
    }
    if (forbidden)
        return require(ec == errc::access_denied && listed.empty(), "what may not be read is reported");
    std::sort(expected.begin(), expected.end());
    require(!ec && listed.size() == expected.size(), "every contender is listed once");
    for (std::size_t i = 0; i < listed.size(); ++i) {
        const auto& [sequence, age, full, n] = expected[i];
        const bool revoked = n->data == "__REVOKE__";
        std::string first_line;
        std::map<std::string, std::string> properties;
        std::istringstream lines(revoked ? std::string() : n->data);
        std::getline(lines, first_line);
        for (std::string line; std::getline(lines, line);)
            if (const auto sign = line.find('='); sign != line.npos && sign != 0 && !says_where(line))
                properties.insert({line.substr(0, sign), line.substr(sign + 1)});
        require(listed[i].sequence == sequence && listed[i].node == full, "in the order of the queue");
        require(listed[i].identifier == first_line, "the first line tells who it is");
        require(listed[i].properties == properties, "the other lines are its properties");
        require(listed[i].revoked == revoked, "only the whole data are a request to let go");
        if (!recipes::find_fault(first_line, properties)) {
            const auto again = queue::read_owner_data(queue::write_owner_data(first_line, properties));
            require(again.identifier == first_line && again.more == properties && !again.revoked,
                    "what is written reads the same");
        }
        require(listed[i].session_id == n->stat.ephemeral_owner, "the session is the node's owner");
        require(listed[i].ours == (n->stat.ephemeral_owner == own_session), "ours are those of our session");
        require(listed[i].created == n->stat.created, "created when the node was");
    }
}

template <class As>
void list(recipes::session& session, manual_scheduler& scheduler, const std::map<std::string, node>& nodes)
{
    int answers = 0;
    const auto answered = [&](error_code ec, const std::vector<contender>& listed) {
        ++answers;
        check<As>(nodes, ec, listed);
    };
    recipes::list_contenders(session, std::string(path), answered, As::what());
    scheduler.run();
    require(answers == 1, "the list is answered once");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const auto nodes = read_nodes(in);
    manual_scheduler scheduler;
    scripted_store store(scheduler, nodes);
    zklock::counters::connection_counters counted;
    recipes::session session(store, scheduler, counted, client_options(), [] { return std::string(36, 'u'); });
    zklock::store::connect_reply connected;
    connected.session_id = own_session;
    connected.session_timeout = std::chrono::seconds(10);
    connected.renewed = true;
    connected.sent = scheduler.now();
    store.observer->on_connected(connected);

    list<as_queue>(session, scheduler, nodes);
    list<as_leases>(session, scheduler, nodes);
    return 0;
}
