#include "recipes/session/option_faults.hpp"

#include "queue/owner_data.hpp"
#include "recipes/lease/lease.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

namespace zklock {
namespace recipes {
namespace {

bool is_control(unsigned char c) noexcept
{
    return c < ' ' || c == 0x7f;
}

/// The shortest session that has time for a lease with these options.
std::chrono::milliseconds shortest_session(lease_times times)
{
    std::int64_t too_short = 0, enough = std::numeric_limits<std::int32_t>::max();
    while (enough - too_short > 1) {
        const std::int64_t middle = (too_short + enough) / 2;
        times.timeout = std::chrono::milliseconds(middle);
        (times.possible() ? enough : too_short) = middle;
    }
    return std::chrono::milliseconds(enough);
}

constexpr std::string_view longest_data = "64 KiB at most, together with the identifier and the other properties";

std::optional<option_fault> fault_of_property(const std::string& key, const std::string& value)
{
    if (key.empty() || key.find_first_of("=\n") != key.npos)
        return option_fault("properties", "a key " + in_words(key),
                            "keys that are not empty, without '=' or line feed");
    if (value.find('\n') != value.npos)
        return option_fault("properties", "a value " + in_words(value) + " of " + in_words(key),
                            "values without a line feed");
    if (key == queue::handoff_key && queue::looks_like_endpoint(value))
        return option_fault("properties", in_words(key) + " that is an address", "another key: zklock uses that one");
    return std::nullopt;
}

/// Whether it can be a hash in base 64, of any algorithm the servers' `digestAlg` names: the shortest has 16 bytes.
bool may_be_hash(std::string_view text)
{
    constexpr std::size_t shortest = 24;
    constexpr std::size_t most_padding = 2;
    const auto is_letter = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
    };
    const std::string_view letters = text.substr(0, text.find('='));
    const std::string_view padding = text.substr(letters.size());
    return text.size() >= shortest && text.size() % 4 == 0 && std::ranges::all_of(letters, is_letter) &&
           padding.size() <= most_padding && padding.find_first_not_of('=') == padding.npos;
}

/// The first digest in the list whose hash cannot be one, if there is such. Servers take any text for a hash, such as a
/// password: then the entry is for nobody, and anybody can read it who may read the list.
std::optional<option_fault> find_digest_fault(const access_list& access)
{
    constexpr const char* accepted =
        "of digests user:hash, with the hash in base 64, as digest_entry() makes them of user and password";
    for (const access_entry& entry : access.entries()) {
        if (entry.scheme != "digest")
            continue;
        const std::string_view id = entry.id;
        const auto colon = id.find(':');
        if (colon == id.npos) // it may be secret
            return option_fault("access", "an entry of the scheme digest whose id has no hash", accepted);
        if (!may_be_hash(id.substr(colon + 1)))
            return option_fault(
                "access", "an entry of the digest of " + in_words(id.substr(0, colon)) + " whose hash cannot be one",
                accepted);
    }
    return std::nullopt;
}

/// Whether the servers know again who it is: by credentials, by SASL, or by the certificate that TLS shows.
bool has_identity(const client_options& o)
{
    return !o.auth.empty() || (o.tls.enabled && (o.tls.context || !o.tls.certificate_file.empty())) ||
           o.sasl.mechanism != sasl_mechanism::off;
}

} // namespace

std::string in_words(std::chrono::milliseconds time)
{
    return std::to_string(time.count()) + " ms";
}

std::string in_words(double number)
{
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
    return {text.data(), end.ptr};
}

std::string in_words(naming names)
{
    return "naming::" + std::string(to_string(names));
}

std::string in_words(std::string_view text)
{
    constexpr std::size_t most = 200;
    std::string quoted(text.substr(0, most));
    std::ranges::replace_if(quoted, is_control, '?');
    return '"' + quoted + (text.size() > most ? "\" and so on" : "\"");
}

std::string in_words(const access_list& access)
{
    for (const acl one : {acl::open, acl::creator_all, acl::creator_all_or_read})
        if (access == access_list(one))
            return "acl::" + std::string(to_string(one));
    return in_words(to_string(access));
}

std::optional<option_fault> first_fault(std::initializer_list<std::optional<option_fault>> all)
{
    const auto found = std::ranges::find_if(all, [](const auto& fault) { return fault.has_value(); });
    return found == all.end() ? std::nullopt : *found;
}

option_fault contradicts(std::string_view option, std::string wanted, std::string there, std::string_view where)
{
    return {std::string(option), std::move(wanted), there.append(where)};
}

std::optional<option_fault> out_of_bounds(std::string_view option, std::chrono::milliseconds value,
                                          std::chrono::milliseconds least, std::chrono::milliseconds most)
{
    if (value >= least && value <= most)
        return std::nullopt;
    return option_fault(std::string(option), in_words(value), in_words(least) + " to " + in_words(most));
}

std::optional<option_fault> out_of_bounds(std::string_view option, std::size_t value, std::size_t least,
                                          std::size_t most, std::string_view bound_by)
{
    if (value >= least && value <= most)
        return std::nullopt;
    std::string accepted = std::to_string(least) + " to " + std::to_string(most);
    accepted += bound_by;
    return option_fault(std::string(option), std::to_string(value), std::move(accepted));
}

std::string too_short_for_a_lease(const client_options& o, std::chrono::milliseconds granted)
{
    const lease_times times{o.clock_drift, o.server_tick, o.lease_margin, o.loss_notice, {}};
    const std::string margin = o.lease_margin ? in_words(*o.lease_margin) : "not stated (so 21 %, and a tick at least)";
    return "session_timeout is " + in_words(granted) + ", as the servers grant it (" + in_words(o.session_timeout) +
           " were asked for), and has to be " + in_words(shortest_session(times)) +
           " or more for a lease, with server_tick " + in_words(o.server_tick) + ", lease_margin " + margin +
           ", loss_notice " + in_words(o.loss_notice) + " and clock_drift " + in_words(o.clock_drift) +
           ": every acquire is refused; the servers' minSessionTimeout and maxSessionTimeout limit what they grant";
}

std::optional<option_fault> find_fault(std::string_view identifier,
                                       const std::map<std::string, std::string>& properties)
{
    if (identifier.find('\n') != identifier.npos)
        return option_fault("identifier", in_words(identifier), "one line");
    if (identifier.size() > queue::longest_owner_data)
        return option_fault("identifier", std::to_string(identifier.size()) + " bytes", "64 KiB at most");
    if (identifier == queue::revocation_request && properties.empty())
        return option_fault("identifier", in_words(identifier), "something else: that is the request to let go");
    std::size_t size = identifier.size();
    for (const auto& [key, value] : properties) {
        if (auto fault = fault_of_property(key, value))
            return fault;
        size += key.size() + value.size() + 2;
    }
    if (size > queue::longest_owner_data)
        return option_fault("properties", "too long", std::string(longest_data));
    return std::nullopt;
}

std::optional<option_fault> find_fault(naming names, parent_kind parents)
{
    if (names != naming::curator && names != naming::kazoo)
        return option_fault("names", std::to_string(static_cast<unsigned>(names)), "naming::curator or naming::kazoo");
    if (parents != parent_kind::container && parents != parent_kind::persistent)
        return option_fault("parents", std::to_string(static_cast<unsigned>(parents)),
                            "parent_kind::container or parent_kind::persistent");
    return std::nullopt;
}

std::optional<option_fault> find_fault(const std::optional<access_list>& access)
{
    if (!access)
        return std::nullopt;
    constexpr std::size_t most = 64;
    const auto& entries = access->entries();
    if (entries.empty() || entries.size() > most)
        return option_fault("access", "a list of " + std::to_string(entries.size()) + " entries", "one of 1 to 64");
    constexpr std::size_t most_bytes = 8 * 1024; // so that a transaction of 64 creates fits into what servers read
    if (store::size_of(*access) > most_bytes)
        return option_fault("access", "a list of " + std::to_string(store::size_of(*access)) + " bytes",
                            "one of 8 KiB at most");
    for (const access_entry& entry : entries) {
        if (entry.scheme.empty() || std::ranges::any_of(entry.scheme, is_control))
            return option_fault("access", "an entry of the scheme " + in_words(entry.scheme),
                                "of schemes that the servers know, such as digest");
        if (std::ranges::any_of(entry.id, is_control))
            return option_fault("access", "an entry of the id " + in_words(entry.id),
                                "of ids without control characters");
        if (entry.allowed == 0 || entry.allowed > permission::all)
            return option_fault("access", "an entry that allows " + std::to_string(entry.allowed),
                                "of entries that allow something, of permission::all");
    }
    return find_digest_fault(*access);
}

std::optional<option_fault> find_fault(const std::optional<access_list>& access, const client_options& of_client)
{
    if (auto fault = find_fault(access); fault || !access)
        return fault;
    const auto is_creator = [](const access_entry& entry) { return entry.scheme == "auth"; };
    if (!has_identity(of_client) && std::ranges::any_of(access->entries(), is_creator))
        return option_fault("access", in_words(*access),
                            "without auth where client_options has neither auth nor sasl nor tls.certificate_file: "
                            "there is no creator that servers would know again");
    return std::nullopt;
}

void log_refusal(session& s, const std::string& path, const std::optional<access_list>& access, store::outcome answer)
{
    if (access && answer == store::outcome::invalid_acl)
        report_fault(s, path,
                     {"access", in_words(*access),
                      "of schemes and ids that the servers know, and of auth only for a client that has shown "
                      "them credentials"});
}

errc report_fault(session& s, const std::string& path, const option_fault& fault)
{
    s.log(log_level::error, path, " is refused: ", to_string(fault));
    return errc::invalid_option;
}

errc report_path_fault(const session& s, std::string_view path, std::string_view fault)
{
    s.log(log_level::error, "the path ", in_words(path), " is refused: ", fault);
    return errc::invalid_path;
}

} // namespace recipes

option_fault::option_fault(std::string the_option, std::string the_value, std::string what_is_accepted)
    : option(std::move(the_option)), value(std::move(the_value)), accepted(std::move(what_is_accepted))
{
}

std::string to_string(const option_fault& fault)
{
    return fault.option + " is " + fault.value + ", and has to be " + fault.accepted;
}

} // namespace zklock
