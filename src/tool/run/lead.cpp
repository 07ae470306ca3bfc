#include "tool/run/run.hpp"

#include "tool/program/exit_status.hpp"
#include "tool/program/run_program.hpp"
#include "tool/run/lock_session.hpp"

#include <zklock/events.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// From the beginning of a term to that of the next: a command that fails at once is not started a hundred times a
/// second.
constexpr milliseconds shortest_term{1000};

/// One term. Gives the command's status, or another with which to end.
asio::awaitable<int> one_term(lock_session& session, voice& out)
{
    auto acquiring = session.acquire();
    int status = co_await std::move(acquiring);
    if (!session.holds())
        co_return status;
    auto running = session.run_command();
    status = co_await std::move(running);
    auto releasing = session.release();
    const int released = co_await std::move(releasing);
    out.tell("term_ended", {{"status", status}}, "the term has ended");
    co_return released == succeeded ? status : released;
}

asio::awaitable<int> lead_on(lock_session& session, std::string path, voice& out)
{
    auto connecting = session.connect();
    int status = co_await std::move(connecting);
    while (status == succeeded) {
        const auto began = lease_clock::now();
        auto term = one_term(session, out);
        const int ended = co_await std::move(term);
        if (session.asked_to_end() != 0 || session.cannot_go_on()) {
            status = ended;
            break;
        }
        out.tell("standing", {{"path", path}}, "standing again for " + path);
        const auto rest = shortest_term - std::chrono::duration_cast<milliseconds>(lease_clock::now() - began);
        if (rest > milliseconds(0)) {
            auto pausing = session.pause(rest);
            status = co_await std::move(pausing);
        }
    }
    auto closing = session.close();
    co_await std::move(closing);
    co_return status;
}

} // namespace

int lead(const run_plan& plan)
{
    keeper commands(plan.command, plan.stop); // forked before anything else
    voice out(plan.verbose, plan.json);
    asio::io_context& io = make_context();
    lock_session session(io, plan, &commands, out);
    return run_program(io, lead_on(session, plan.lock.path, out));
}

} // namespace zklock::tool
