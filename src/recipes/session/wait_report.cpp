#include "zklock/events.hpp"

#include "recipes/session/option_faults.hpp"
#include "store/logger.hpp"

#include <chrono>
#include <string_view>

namespace zklock {
namespace {

void add_holder(std::string& line, const contender& who)
{
    const bool was_read = who.session_id != 0 || who.created != std::chrono::system_clock::time_point();
    line += "held by ";
    if (who.ours)
        line += "this client ";
    if (was_read) {
        line += who.revoked ? "somebody who was asked to let go" : recipes::in_words(who.identifier);
        line += " (session ";
        store::logger::add(line, store::session_name{who.session_id});
        line += ", node ";
        line += who.node;
        line += ", there since ";
        store::logger::add(line, who.created);
        line += ')';
    } else {
        line += "(node ";
        line += who.node;
        line += ", which could not be read in time)";
    }
}

} // namespace

std::string to_string(const wait_report& report)
{
    std::string line = "waited ";
    store::logger::add(line, report.waited);
    line += " for ";
    line += report.path;
    line += ": ";
    if (report.not_connected_for) {
        line += "not connected, for ";
        store::logger::add(line, *report.not_connected_for);
        line += " now";
        for (const wait_report::failed_address& failed : report.addresses) {
            line += &failed == report.addresses.data() ? " (" : "; ";
            line += failed.why;
        }
        if (!report.addresses.empty())
            line += ')';
    } else if (report.without_lease_for) {
        line += "connected, for ";
        store::logger::add(line, *report.without_lease_for);
        line += " now, but a lock is granted only once the lease is renewed";
    } else if (report.no_answer) {
        line += "no answer of the servers in time";
    }
    if (report.not_connected_for || report.no_answer) {
        if (!report.held_by && report.before_us == 0) // nothing was seen
            return line;
        line += "; when last seen, ";
    }
    const bool of_permits = report.permits != 0;
    if (of_permits && report.held_by)
        line +=
            report.permits == 1 ? "its only permit is " : "one of " + std::to_string(report.permits) + " permits is ";
    if (report.held_by)
        add_holder(line, *report.held_by);
    else
        line += of_permits ? "it is not known who holds its permits" : "it is not known who holds it";
    line += of_permits ? "; " : ", ";
    if (of_permits && report.before_us == 0)
        return line += "first in the line";
    line += std::to_string(report.before_us);
    if (report.before_us == wait_report::most_counted)
        line += " or more";
    line += of_permits ? " before us in the line" : " before us";
    return line;
}

} // namespace zklock
