#include "zklock/events.hpp"

#include "recipes/session/option_faults.hpp"
#include "store/logger.hpp"

#include <chrono>
#include <string_view>

namespace zklock {
namespace {

std::string describe_holder(const contender& who)
{
    using store::logger;
    const std::string_view ours = who.ours ? "this client " : "";
    const bool was_read = who.session_id != 0 || who.created != std::chrono::system_clock::time_point();
    if (!was_read)
        return logger::line("held by ", ours, "(node ", who.node, ", which could not be read in time)");
    const std::string owner = who.revoked ? "somebody who was asked to let go" : recipes::in_words(who.identifier);
    return logger::line("held by ", ours, owner, " (session ", store::session_name{who.session_id}, ", node ", who.node,
                        ", there since ", who.created, ")");
}

} // namespace

std::string to_string(const wait_report& report)
{
    std::string line;
    const auto add = [&line](const auto&... parts) { (store::logger::add(line, parts), ...); };
    add("waited ", report.waited, " for ", report.path, ": ");
    if (report.not_connected_for) {
        add("not connected, for ", *report.not_connected_for, " now");
        for (const wait_report::failed_address& failed : report.addresses)
            add(&failed == report.addresses.data() ? " (" : "; ", failed.why);
        if (!report.addresses.empty())
            add(")");
    } else if (report.without_lease_for) {
        add("connected, for ", *report.without_lease_for, " now, but a lock is granted only once the lease is renewed");
    } else if (report.no_answer) {
        add("no answer of the servers in time");
    }
    if (report.not_connected_for || report.no_answer) {
        if (!report.held_by && report.before_us == 0) // nothing was seen
            return line;
        add("; when last seen, ");
    }
    const bool of_permits = report.permits != 0;
    if (of_permits && report.held_by)
        add(report.permits == 1 ? "its only permit is " : "one of " + std::to_string(report.permits) + " permits is ");
    if (report.held_by)
        add(describe_holder(*report.held_by));
    else
        add(of_permits ? "it is not known who holds its permits" : "it is not known who holds it");
    if (of_permits && report.before_us == 0)
        return line += "; first in the line";
    add(of_permits ? "; " : ", ", std::to_string(report.before_us),
        report.before_us == wait_report::most_counted ? " or more" : "",
        of_permits ? " before us in the line" : " before us");
    return line;
}

} // namespace zklock
