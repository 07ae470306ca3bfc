#include "tool/run/run.hpp"

#include "tool/program/exit_status.hpp"
#include "tool/program/run_program.hpp"
#include "tool/run/lock_session.hpp"

#include <boost/json/object.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

/// For scripts: which node, and which token. One line, or one object.
bool print_hold(const lock_session& session, const run_plan& plan)
{
    const std::string& node = session.node();
    const std::int64_t token = session.token();
    const std::string line = plan.json ? json_line({{"path", plan.lock.path}, {"node", node}, {"token", token}})
                                       : node + ' ' + std::to_string(token) + '\n';
    return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

asio::awaitable<int> print_and_hold(lock_session& session, const run_plan& plan, voice& out)
{
    if (!print_hold(session, plan)) {
        out.warn("failed", {}, "cannot write node and token");
        co_return failed;
    }
    auto held = session.hold_only();
    co_return co_await std::move(held);
}

asio::awaitable<int> run_once(lock_session& session, const run_plan& plan, voice& out)
{
    auto connecting = session.connect();
    int status = co_await std::move(connecting);
    if (status == succeeded) {
        auto acquiring = session.acquire();
        status = co_await std::move(acquiring);
        if (session.holds()) {
            auto holding = plan.command.empty() ? print_and_hold(session, plan, out) : session.run_command();
            status = co_await std::move(holding);
            auto holding_on = session.hold_on(plan.hold_at_least);
            co_await std::move(holding_on);
            auto releasing = session.release();
            const int released = co_await std::move(releasing);
            if (released != succeeded)
                status = released;
        }
    }
    auto closing = session.close();
    co_await std::move(closing);
    co_return status;
}

} // namespace

int run(const run_plan& plan)
{
    std::optional<keeper> commands; // forked before anything else
    if (!plan.command.empty())
        commands.emplace(plan.command, plan.stop);
    voice out(plan.verbose, plan.json);
    asio::io_context& io = make_context();
    lock_session session(io, plan, commands ? &*commands : nullptr, out);
    return run_program(io, run_once(session, plan, out));
}

} // namespace zklock::tool
