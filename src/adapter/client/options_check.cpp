#include "adapter/client/options_check.hpp"

#include "bridge/names/host_list.hpp"
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/settings.hpp"
#ifdef ZKLOCK_WITH_TLS
#include "bridge/tls/context.hpp"
#endif
#include "queue/node_path.hpp"
#include "recipes/lease/lease.hpp"
#include "recipes/session/option_faults.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace zklock {
namespace {

using recipes::in_words;
using recipes::out_of_bounds;
using std::chrono::milliseconds;
using fault = std::optional<option_fault>;

constexpr std::size_t largest_budget = 1024 * 1024; // what the servers can read when the session ends, with room
// Servers grant two ticks at the least; less than this leaves no time to connect in. The wire has 32 bits for it.
constexpr milliseconds shortest_session{100};
constexpr milliseconds longest_session{std::numeric_limits<std::int32_t>::max()};

fault fault_of_servers(std::string_view servers, std::string_view with_chroot)
{
    if (bridge::parse_servers(servers))
        return std::nullopt;
    std::string_view wrong = servers;
    for (std::size_t at = 0; at < servers.size();) { // the one of them that cannot be read
        const auto comma = std::min(servers.find(',', at), servers.size());
        wrong = servers.substr(at, comma - at);
        if (!bridge::parse_servers(wrong))
            break;
        wrong = servers;
        at = comma + 1;
    }
    std::string which;
    if (servers.find_first_not_of(' ') == servers.npos)
        which = ", where no server is named";
    else if (wrong != with_chroot)
        which = ", where " + in_words(wrong) + " cannot be read";
    return option_fault("servers", in_words(with_chroot) + which,
                        "host:port,host:port or host:port,host:port/chroot, with ports from 1 to 65535 (2181 if there "
                        "is none) and IPv6 addresses in brackets");
}

/// What a chroot has to be that this one is not, though it is a path: the servers would have none of these, or another
/// than the one that was meant. Empty if nothing is wrong.
std::string_view expected_of_chroot(std::string_view chroot)
{
    if (chroot.ends_with(' '))
        return "a path without a blank at its end";
    if (find_path_fault("/any", chroot))
        return "a path outside of /zookeeper, which is the servers' own";
    return {};
}

/// Which rule of paths it breaks, to be put behind it. Empty if it breaks none.
std::string broken_rule(std::string_view chroot)
{
    const auto broken = queue::find_node_path_fault(chroot);
    return broken ? " (" + std::string(*broken) + ')' : std::string();
}

fault fault_of_chroot(const client_options& o, std::string_view behind_the_servers)
{
    if (!o.chroot.empty() && !queue::valid_path(o.chroot))
        return option_fault("chroot", in_words(o.chroot) + broken_rule(o.chroot),
                            "empty, or a path such as /app/locks");
    if (const auto expected = expected_of_chroot(o.chroot); !expected.empty())
        return option_fault("chroot", in_words(o.chroot), std::string(expected));
    if (behind_the_servers.empty())
        return std::nullopt;
    constexpr const char* form = "host:port,host:port/chroot: ";
    // What other clients take for a chroot of that odd name was meant as a list of servers with a chroot each.
    if (!queue::valid_path(behind_the_servers) || behind_the_servers.find(',') != behind_the_servers.npos)
        return option_fault("servers", in_words(o.servers) + broken_rule(behind_the_servers),
                            form + std::string("one path, behind the last server"));
    if (const auto expected = expected_of_chroot(behind_the_servers); !expected.empty())
        return option_fault("servers", in_words(o.servers), form + std::string(expected));
    if (!o.chroot.empty())
        return option_fault("chroot", in_words(o.chroot),
                            "empty where servers ends with one (" + in_words(behind_the_servers) + ')');
    return std::nullopt;
}

fault fault_of_lease(const client_options& o)
{
    constexpr milliseconds none{0};
    if (auto f = out_of_bounds("session_timeout", o.session_timeout, shortest_session, longest_session))
        return f;
    if (!(o.clock_drift >= 0.0 && o.clock_drift < 0.5)) // also refuses what is not a number
        return option_fault("clock_drift", in_words(o.clock_drift), "0 to below 0.5");
    // Kept below the longest session, so that sums of them are numbers.
    if (auto f = out_of_bounds("server_tick", o.server_tick, milliseconds(1), longest_session))
        return f;
    if (auto f = out_of_bounds("loss_notice", o.loss_notice, none, longest_session))
        return f;
    if (auto f = out_of_bounds("lease_margin", o.lease_margin.value_or(none), none, longest_session))
        return f;
    // Servers grant two ticks at the least, if nobody has told them otherwise: what they grant is looked at later.
    const recipes::lease_times times{o.clock_drift, o.session_timeout / 4, o.lease_margin, o.loss_notice,
                                     o.session_timeout};
    if (times.possible())
        return std::nullopt;
    const std::string room =
        "so much less than session_timeout (" + in_words(o.session_timeout) + ") that two heartbeats fit beside ";
    if (o.lease_margin && *o.lease_margin >= o.loss_notice)
        return option_fault("lease_margin", in_words(*o.lease_margin),
                            room + "it, loss_notice (" + in_words(o.loss_notice) + ") and clock_drift");
    return option_fault("loss_notice", in_words(o.loss_notice),
                        room + "it, lease_margin (" +
                            (o.lease_margin ? in_words(*o.lease_margin) : std::string("a quarter")) +
                            ") and clock_drift");
}

fault fault_of_back_off(const client_options& o)
{
    if (o.connect_backoff <= milliseconds::zero())
        return option_fault("connect_backoff", in_words(o.connect_backoff), "more than 0 ms");
    if (o.connect_backoff_limit < o.connect_backoff)
        return option_fault("connect_backoff_limit", in_words(o.connect_backoff_limit),
                            "connect_backoff (" + in_words(o.connect_backoff) + ") or more");
    return std::nullopt;
}

fault fault_of_identity(const client_options& o)
{
    if (std::ranges::any_of(o.auth, [](const credentials& c) { return c.scheme.empty(); }))
        return option_fault("auth", "credentials without a scheme", "of schemes that the servers know, such as digest");
    if (auto f = recipes::find_fault(o.access, o))
        return f;
    return recipes::find_fault(o.identifier, {});
}

/// A text among the options.
struct text_option {
    const char* name;
    const std::string& value;
    bool secret = false;

    [[nodiscard]] bool is_set() const noexcept { return !value.empty(); }
    [[nodiscard]] std::string in_words() const { return secret ? "a password" : recipes::in_words(value); }
};

fault fault_of_key(const tls_options& tls)
{
    constexpr std::size_t longest_password = 1'023; // what OpenSSL has room for
    if (tls.certificate_file.empty() && !tls.key_file.empty())
        return option_fault("tls.certificate_file", "empty", "the file with the certificate that tls.key_file is for");
    if (tls.certificate_file.empty() && !tls.key_password.empty())
        return option_fault("tls.key_password", "a password", "empty where tls.certificate_file is empty");
    if (tls.key_password.size() > longest_password)
        return option_fault("tls.key_password", std::to_string(tls.key_password.size()) + " bytes",
                            std::to_string(longest_password) + " bytes at most");
    return std::nullopt;
}

/// What is wrong with options by which TLS is on.
fault fault_of_connecting([[maybe_unused]] const client_options& o)
{
#ifndef ZKLOCK_WITH_TLS
    return option_fault("tls.enabled", "true",
                        "false: this library was built without TLS (with the CMake option ZKLOCK_TLS=OFF)");
#else
    if (o.tls.context && !bridge::verifies_servers(*o.tls.context))
        return option_fault("tls.context", "verify_none",
                            "one that verifies the servers: call set_verify_mode(verify_peer)");
    const auto servers = bridge::parse_servers(bridge::split_chroot(o.servers).first);
    for (const bridge::host_port& each : servers.value()) // else there was a fault before
        if (each.numeric && each.host.find('%') != each.host.npos)
            return option_fault("servers", in_words(o.servers) + ", where " + in_words(each.host) + " has a scope id",
                                "without one where tls.enabled is true: certificates are for no such address");
    return std::nullopt;
#endif
}

fault fault_of_tls(const client_options& o)
{
    const text_option files[] = {{"tls.ca_file", o.tls.ca_file},
                                 {"tls.certificate_file", o.tls.certificate_file},
                                 {"tls.key_file", o.tls.key_file},
                                 {"tls.key_password", o.tls.key_password, true}};
    const auto* const set = std::ranges::find_if(files, &text_option::is_set);
    const bool any = set != std::end(files);
    if (!o.tls.enabled && (o.tls.context || any))
        return option_fault("tls.enabled", "false",
                            std::string("true where ") + (any ? set->name : "tls.context") + " is set");
    if (o.tls.context && any)
        return option_fault(set->name, set->in_words(), "empty where tls.context is set");
    if (auto f = fault_of_key(o.tls); f || !o.tls.enabled)
        return f;
    return fault_of_connecting(o);
}

/// What of `sasl_options` goes with one mechanism only.
struct sasl_part : text_option {
    sasl_mechanism mechanism;
};

fault fault_of_sasl(const client_options& o)
{
    const sasl_options& sasl = o.sasl;
    const sasl_part parts[] = {{{"sasl.user", sasl.user}, sasl_mechanism::digest_md5},
                               {{"sasl.password", sasl.password, true}, sasl_mechanism::digest_md5},
                               {{"sasl.server_principal", sasl.server_principal}, sasl_mechanism::gssapi},
                               {{"sasl.keytab", sasl.keytab}, sasl_mechanism::gssapi},
                               {{"sasl.credential_cache", sasl.credential_cache}, sasl_mechanism::gssapi}};
    const std::string mechanism(to_string(sasl.mechanism));
    for (const sasl_part& each : parts) {
        const bool fits = each.mechanism == sasl.mechanism;
        if (each.is_set() && sasl.mechanism == sasl_mechanism::off)
            return option_fault("sasl.mechanism", mechanism,
                                std::string(to_string(each.mechanism)) + " where " + each.name + " is set");
        if (each.is_set() && !fits)
            return option_fault(each.name, each.in_words(), "empty where sasl.mechanism is " + mechanism);
        if (!each.is_set() && fits && sasl.mechanism == sasl_mechanism::digest_md5)
            return option_fault(each.name, "empty", "set where sasl.mechanism is " + mechanism);
        if (each.value.find('\0') != std::string::npos)
            return option_fault(each.name, each.in_words(), "without a zero byte");
    }
    if (mechanism == "unknown")
        return option_fault("sasl.mechanism", std::to_string(static_cast<int>(sasl.mechanism)),
                            "off, gssapi or digest_md5");
#ifndef ZKLOCK_WITH_SASL
    if (sasl.mechanism != sasl_mechanism::off)
        return option_fault("sasl.mechanism", mechanism,
                            "off: this library was built without SASL (without libkrb5-dev, or with the CMake option "
                            "ZKLOCK_SASL=OFF)");
#endif
    return std::nullopt;
}

[[maybe_unused]] fault fault_of_advertising(const handoff_options& handoff, const bridge::peering::endpoint& listen)
{
    bridge::peering::settings read{listen, {}, {}, {}};
    if (!bridge::peering::read_advertised(handoff.advertise, read))
        return option_fault("handoff.advertise", in_words(handoff.advertise),
                            "empty, or an address or address:port to which others can connect, such as 10.1.2.3 or "
                            "[2001:db8::7]:7411");
    const bool found_out = listen.address().is_unspecified();
    if (handoff.advertise.empty() && !found_out && !bridge::peering::is_reachable_by_others(listen.address()))
        return option_fault("handoff.listen", in_words(handoff.listen),
                            "an address to which others can connect, where handoff.advertise is empty");
    return std::nullopt;
}

fault fault_of_handoff(const client_options& o)
{
    const handoff_options& handoff = o.handoff;
    constexpr const char* form = "a numeric address and port, such as 0.0.0.0:0, 10.1.2.3:7411 or [::]:0";
    if (handoff.listen.empty()) {
        if (handoff.advertise.empty() && handoff.peers.empty())
            return std::nullopt;
        return option_fault("handoff.listen", "empty",
                            std::string(form) + ", where handoff." + (handoff.peers.empty() ? "advertise" : "peers") +
                                " is set");
    }
#ifndef ZKLOCK_WITH_TLS
    return option_fault("handoff.listen", in_words(handoff.listen),
                        "empty: this library was built without OpenSSL (with the CMake option ZKLOCK_TLS=OFF)");
#else
    const auto listen = bridge::peering::parse_endpoint(handoff.listen);
    if (!listen || listen->address().is_multicast())
        return option_fault("handoff.listen", in_words(handoff.listen), std::string("empty, or ") + form);
    if (auto f = fault_of_advertising(handoff, *listen))
        return f;
    for (const auto& each : handoff.peers)
        if (!bridge::peering::parse_network(each))
            return option_fault("handoff.peers", in_words(each),
                                "networks such as 10.0.0.0/8 or 2001:db8::/32, with nothing but zeros behind their "
                                "bits, or addresses");
    return std::nullopt;
#endif
}

fault fault_of_budget(const client_options& o)
{
    if (auto f = out_of_bounds("node_budget_limit", o.node_budget_limit, 1, largest_budget))
        return f;
    return out_of_bounds("node_budget", o.node_budget, 1, o.node_budget_limit, ", the node_budget_limit");
}

} // namespace

std::optional<option_fault> find_fault(const client_options& o)
{
    client_options parts = o;
    return detail::check(parts);
}

namespace detail {

std::optional<option_fault> check(client_options& o)
{
    auto [servers, chroot] = bridge::split_chroot(o.servers);
    if (chroot == "/") // which is none
        chroot = {};
    if (o.chroot == "/")
        o.chroot.clear();
    if (auto f = fault_of_servers(servers, o.servers))
        return f;
    if (auto f = fault_of_chroot(o, chroot))
        return f;
    for (const auto of : {fault_of_lease, fault_of_back_off, fault_of_tls, fault_of_sasl, fault_of_handoff,
                          fault_of_identity, fault_of_budget})
        if (auto f = of(o))
            return f;
    if (!chroot.empty())
        o.chroot = chroot;
    o.servers.resize(servers.size());
    return std::nullopt;
}

} // namespace detail
} // namespace zklock
