#include "chaos/scene.hpp"

#include "chaos/server_faults.hpp"
#include "chaos/worker.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/failure_report.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace zklock::chaos {
namespace {

constexpr milliseconds longest_end{60'000};

test::zookeeper_ensemble behind(test::network& net, const scene::settings& chosen)
{
    const auto route = [&net](std::size_t from, std::size_t to, std::uint16_t port) {
        return net.route(from, to, port);
    };
    return test::zookeeper_ensemble(chosen.members, servers_with_ticks(chosen.tick), route);
}

} // namespace

std::string this_program()
{
    return std::filesystem::read_symlink("/proc/self/exe").string();
}

test::server_options servers_with_ticks(milliseconds tick, std::vector<std::string> config)
{
    test::server_options options;
    options.tick_time = tick;
    options.min_session_timeout = 2 * tick;
    options.heap = "128m";
    options.config = std::move(config);
    return options;
}

scene::scene(const settings& s)
    : chosen(s), ensemble(behind(net, chosen)), resource_(directory_.path() / "resource"), clients_(chosen.clients)
{
    test::admin_client admin(ensemble[ensemble.leader()].port());
    for (unsigned i = 0; i < paths_of(chosen.handoff); ++i)
        admin.create_all(journal_of(path_of(i)));
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        for (std::size_t member = 0; member < ensemble.size(); ++member)
            clients_[i].servers += (member == 0 ? "127.0.0.1:" : ",127.0.0.1:") +
                                   std::to_string(net.route(site_of_client(i), member, ensemble[member].port()));
        start_client(i);
    }
}

scene::~scene() = default;

std::filesystem::path scene::file(const char* kind, int process) const
{
    return directory_.path() / (kind + std::to_string(process));
}

void scene::for_each_member(const std::function<void(test::network::site)>& f)
{
    for (test::network::site member = 0; member < chosen.members; ++member)
        f(member);
}

// --- servers -----------------------------------------------------------------------------------------------------

bool scene::any_server_killed()
{
    bool found = false;
    for_each_member([&](test::network::site member) { found = found || !ensemble[member].running(); });
    return found;
}

bool scene::any_server_stopped()
{
    bool found = false;
    for_each_member([&](test::network::site member) { found = found || ensemble[member].paused(); });
    return found;
}

// --- clients --------------------------------------------------------------------------------------------------------

void scene::start_client(std::size_t client)
{
    auto& c = clients_.at(client);
    c.number = ++last_process_;
    std::vector<std::string> command{this_program(),
                                     "worker",
                                     "--servers=" + c.servers,
                                     "--events=" + file("events-", c.number).string(),
                                     "--log=" + file("log-", c.number).string(),
                                     "--resource=" + (directory_.path() / "resource").string(),
                                     "--process=" + std::to_string(c.number),
                                     "--seed=" + std::to_string(chosen.seed + static_cast<unsigned>(c.number)),
                                     "--session-timeout=" + std::to_string(chosen.session_timeout.count()),
                                     "--server-tick=" + std::to_string(chosen.tick.count())};
    if (chosen.handoff)
        command.push_back("--handoff");
    c.process = test::child_process(command, directory_.path(), file("output-", c.number));
    // It can take signals once it takes notes.
    test::wait_until("client process " + std::to_string(c.number) + " lives", test::default_limit,
                     [&] { return std::filesystem::exists(file("events-", c.number)); });
}

void scene::kill_client(std::size_t client)
{
    auto& c = clients_.at(client);
    c.process.kill();
    killed_[c.number] = now();
}

void scene::pause_client(std::size_t client)
{
    auto& c = clients_.at(client);
    c.process.pause();
    c.paused_at = now();
    c.stood_still = true;
}

void scene::resume_client(std::size_t client)
{
    auto& c = clients_.at(client);
    if (c.paused_at == 0)
        return;
    pauses_[c.number].emplace_back(std::exchange(c.paused_at, 0), now());
    c.process.resume();
}

bool scene::client_killed(std::size_t client) const
{
    return killed_.contains(clients_.at(client).number);
}

bool scene::client_stopped(std::size_t client) const
{
    return clients_.at(client).stood_still;
}

void scene::make_hold_on(std::size_t client)
{
    clients_.at(client).process.signal(SIGUSR1);
}

void scene::make_stop_before_write(std::size_t client)
{
    make_hold_on(client);
    auto& c = clients_.at(client);
    c.may_stop = true;
    c.process.signal(SIGHUP);
}

bool scene::stopped_before_write(std::size_t client)
{
    auto& c = clients_.at(client);
    notice_stop(c);
    return c.may_stop && c.paused_at != 0;
}

bool scene::overtaken(std::size_t client)
{
    const auto stop = last_stop(file("events-", clients_.at(client).number));
    return stop && resource_.largest_token(stop->path) > stop->token;
}

/// One that stops itself although that was called off has stopped before it heard of it.
void scene::notice_stop(client_process& c)
{
    if (c.paused_at != 0 || !c.process.paused())
        return;
    c.paused_at = now();
    c.stood_still = true;
    if (!c.may_stop)
        resume_client(static_cast<std::size_t>(&c - clients_.data()));
}

void scene::look_after_clients()
{
    for (auto& c : clients_)
        notice_stop(c);
    for (auto& c : clients_)
        if (!killed_.contains(c.number) && !c.process.running())
            throw client_ended("client process " + std::to_string(c.number) + " ended by itself, with status " +
                               std::to_string(c.process.wait()) + "\n" + output());
}

// --- time -----------------------------------------------------------------------------------------------------------

void scene::pass(milliseconds time, const std::function<void()>& now_and_then)
{
    const auto end = test::steady_clock::now() + time;
    while (test::steady_clock::now() < end) {
        look_after_clients();
        if (now_and_then)
            now_and_then();
        const auto left = std::chrono::ceil<milliseconds>(end - test::steady_clock::now());
        ::poll(nullptr, 0, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 50)));
    }
}

void scene::pass_until(const std::function<bool()>& holds, const std::function<void()>& now_and_then)
{
    const auto end = test::steady_clock::now() + test::default_limit;
    while (!holds() && test::steady_clock::now() < end)
        pass(milliseconds(50), now_and_then);
}

std::size_t scene::grants()
{
    for (int number = 1; number <= last_process_; ++number)
        grants_ += grants_noted(file("events-", number), grants_read_[number]);
    return grants_;
}

void scene::heal()
{
    net.heal_all();
    for (std::size_t i = 0; i < ensemble.size(); ++i) {
        if (ensemble[i].running())
            ensemble[i].resume();
        else
            ensemble[i].start();
    }
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        clients_[i].may_stop = false;
        resume_client(i);
        clients_[i].stood_still = false;
        if (killed_.contains(clients_[i].number))
            start_client(i);
        else
            clients_[i].process.signal(SIGUSR2);
    }
    ensemble.wait_all();
}

bool scene::finish(std::vector<std::string>& violations)
{
    // The last one is alone, so what it does at its end depends on nobody.
    const std::span all(clients_);
    const auto others = all.first(all.size() - 1), last = all.last(1);
    // Signals that came while it was stopped may be handled in another order: it may hold on since the last round.
    last.front().process.signal(SIGUSR2);
    const bool others_well = await_end(others, violations);
    const bool last_well = await_end(last, violations);
    std::vector<std::string> paths;
    for (unsigned i = 0; i < paths_of(chosen.handoff); ++i)
        paths.push_back(path_of(i));
    try {
        test::expect_clean(ensemble, paths, chosen.session_timeout + longest_end);
    } catch (const std::runtime_error& e) {
        violations.push_back(e.what());
    }
    return others_well && last_well;
}

/// None is killed before all have had their time: one that hangs may hold up the others, and the nodes tell which.
bool scene::await_end(std::span<client_process> all, std::vector<std::string>& violations)
{
    const auto running = [](client_process& c) { return c.process.running(); };
    for (client_process& c : all)
        c.process.signal(SIGTERM);
    try {
        test::wait_until("end of the processes", longest_end, [&] {
            for (client_process& c : clients_)
                notice_stop(c);
            return std::ranges::none_of(all, running);
        });
    } catch (const std::runtime_error& e) {
        violations.push_back(e.what() + contenders_left());
    }
    bool well = true;
    for (client_process& c : all) {
        const std::string who = "client process " + std::to_string(c.number);
        if (running(c)) {
            c.process.kill(); // what it noted tells which operation it is stuck in
            violations.push_back(who + " did not end; its log ended with:\n" + test::tail_of(file("log-", c.number)));
        } else if (const int status = c.process.wait(); status != 0) {
            violations.push_back(who + " ended with status " + std::to_string(status));
            well = false;
        }
    }
    return well;
}

/// The nodes of all paths, as each member has them, with the sessions that own them.
std::string scene::contenders_left()
{
    std::ostringstream all;
    for (std::size_t member = 0; member < ensemble.size(); ++member) {
        all << "\n  member " << member << ':';
        try {
            test::admin_client admin(ensemble[member].port());
            for (unsigned i = 0; i < paths_of(chosen.handoff); ++i) {
                const std::string path = path_of(i);
                admin.sync(path);
                for (const auto& child : admin.children(path))
                    if (const auto stat = admin.exists(path + '/' + child))
                        all << "\n    " << path << '/' << child << " of session 0x" << std::hex << stat->ephemeral_owner
                            << std::dec;
            }
        } catch (const std::runtime_error& e) {
            all << " cannot tell: " << e.what();
        }
    }
    return std::move(all).str();
}

std::vector<executed_commit> scene::executed()
{
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const instant ahead = std::chrono::nanoseconds(since_epoch).count() - now(); // of the servers' clock
    std::vector<executed_commit> all;
    test::admin_client admin(ensemble[ensemble.leader()].port());
    for (unsigned i = 0; i < paths_of(chosen.handoff); ++i) {
        const std::string journal = journal_of(path_of(i));
        admin.sync(journal);
        for (const auto& child : admin.children(journal)) { // sorted by their numbers
            const std::string node = journal + '/' + child;
            std::istringstream data(admin.get(node));
            auto& e = all.emplace_back();
            e.path = path_of(i);
            data >> e.process >> e.operation >> e.number >> e.token;
            e.begun = in_nanoseconds(milliseconds(admin.exists(node).value().ctime)) - ahead;
        }
    }
    return all;
}

history scene::take_history()
{
    history h;
    h.session_timeout = in_nanoseconds(chosen.session_timeout);
    h.writes = resource_.stop();
    for (int number = 1; number <= last_process_; ++number) {
        auto& p = h.processes[number] = read_history(file("events-", number));
        p.pauses = pauses_[number];
        if (const auto dead = killed_.find(number); dead != killed_.end())
            p.killed = dead->second;
    }
    return h;
}

/// Nobody deletes the nodes of a journal.
void scene::take_commits(history& h)
{
    h.executed = executed();
    std::set<std::pair<int, std::size_t>> there;
    for (const auto& e : h.executed)
        there.emplace(e.process, e.number);
    const auto any_wrote = [this](const std::string& data) {
        bool written = false;
        for (std::size_t member = 0; member < ensemble.size(); ++member)
            written = written || was_written(ensemble[member].data(), data);
        return written;
    };
    for (auto& [number, p] : h.processes)
        for (auto& [n, c] : p.commits)
            if (c.outcome == "ok" && !there.contains({number, n}))
                c.in_a_log = any_wrote(journal_entry(number, c.operation, n, p.operations.at(c.operation).token));
}

std::vector<std::string> scene::different_members()
{
    std::vector<std::string> all;
    for (std::size_t member = 0; member < ensemble.size(); ++member) {
        std::ifstream log(ensemble[member].log());
        if (const std::string line = different_data(log); !line.empty())
            all.push_back("member " + std::to_string(member) + " says: " + line);
    }
    return all;
}

std::string scene::output() const
{
    std::string all;
    for (int number = 1; number <= last_process_; ++number) {
        std::ifstream in(file("output-", number));
        const std::string text(std::istreambuf_iterator<char>(in), {});
        if (!text.empty())
            all += "Process " + std::to_string(number) + " printed:\n" + text + '\n';
    }
    return all;
}

} // namespace zklock::chaos
