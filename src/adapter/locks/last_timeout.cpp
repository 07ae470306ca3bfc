#include "adapter/locks/last_timeout.hpp"

#include "adapter/client/client_core.hpp"
#include "adapter/client/client_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "zklock/detail/operations.hpp"

namespace zklock::detail {
namespace {

std::shared_ptr<const wait_report> report_of(const client_core& core, const lock_target& lock,
                                             recipes::acquisition& acquisition, const error_code& how,
                                             lease_clock::duration waited)
{
    const auto report = std::make_shared<wait_report>(acquisition.describe_wait());
    if (report->path.empty())
        report->path = lock.path();
    report->waited = waited;
    report->no_answer = how != errc::timed_out;
    report->not_connected_for = core.store->unconnected_for();
    if (report->not_connected_for)
        for (const auto& [address, why] : core.store->failures())
            report->addresses.push_back({address, why});
    else if (report->no_answer)
        report->without_lease_for = core.session.without_lease_for();
    return report;
}

} // namespace

void note_timeout(client_state& client, const lock_target& lock, recipes::acquisition& acquisition,
                  const error_code& how, lease_clock::duration waited)
{
    client_core* const core = client.open_core();
    if (core == nullptr)
        return lock.timeouts().set(nullptr); // an earlier one is not to stay
    const auto report = report_of(*core, lock, acquisition, how, waited);
    lock.timeouts().set(report);
    const log_level level = how == errc::timed_out ? log_level::info : log_level::warning;
    if (!core->session.log.on(level))
        return;
    if (const auto left_out = core->timeouts_told.say(report->path, lease_clock::now()))
        core->session.log(level, report->no_answer ? "in vain: " : "timed out: ", to_string(*report),
                          store::times_left_out{*left_out});
}

std::optional<wait_report> last_timeout_of(const std::shared_ptr<lock_state>& lock)
{
    const auto report = lock ? lock->target()->timeouts().get() : nullptr;
    return report ? std::optional(*report) : std::nullopt;
}

} // namespace zklock::detail
