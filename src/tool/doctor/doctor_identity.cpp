// Whom `doctor` is taken for, where it identifies itself by SASL.
#include "tool/doctor/doctor.hpp"

#include "tool/program/voice.hpp"

#include <zklock/errc.hpp>
#include <zklock/node.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace zklock::tool {

namespace asio = boost::asio;

/// A server that is told to let in whom it refuses says nothing of it (Kerberos's last step looks the same). So a node
/// is made that belongs to whom the server takes us for.
asio::awaitable<void> examine_identity(client zk, std::string server, sasl_mechanism mechanism, findings& found)
{
    const std::string node = fmt::format("/zklock-doctor-{}-identity", ::getpid());
    auto creating = zk.create(node, std::string(), node_kind::ephemeral, acl::creator_all);
    const auto made = co_await std::move(creating);
    const error_code why = made.has_error() ? made.error() : error_code();
    if (why == errc::invalid_option) { // there is nobody whom the server would know again
        found.bad("SASL",
                  fmt::format("{} has let us in, but not as whom we are: it does not accept the identity, and is "
                              "told not to say so (allowSaslFailedClients), or has no SASL",
                              server),
                  {{"server", server}});
        co_return;
    }
    if (why) {
        const bool at_root = why == errc::access_denied;
        const bool refused_unseen = mechanism == sasl_mechanism::gssapi;
        found.doubtful("SASL",
                       fmt::format("{}: whom it takes us for cannot be seen{}: {}{}", server,
                                   at_root ? ", because no node can be made at the root" : "", why.message(),
                                   refused_unseen
                                       ? ". If it is told to let in whom it refuses (allowSaslFailedClients), "
                                         "Kerberos's last refusal would not be seen either"
                                       : ""),
                       {{"server", server}});
        co_return;
    }
    auto reading = zk.get_acl(node);
    const auto access = co_await std::move(reading);
    auto removing = zk.remove(node);
    static_cast<void>(co_await std::move(removing)); // it is ephemeral
    if (access.has_error()) {
        found.doubtful("SASL",
                       fmt::format("{}: whom it takes us for cannot be read: {}", server, access.error().message()),
                       {{"server", server}});
        co_return;
    }
    const auto& all = access.value().list.entries();
    const auto own = std::ranges::find(all, "sasl", &access_entry::scheme);
    if (own == all.end()) {
        found.bad("SASL",
                  fmt::format("{} takes us for {}, and for nobody by SASL", server,
                              printable(to_string(access.value().list))),
                  {{"server", server}});
        co_return;
    }
    found.good("SASL", fmt::format("{} takes us for {}", server, printable(own->id)),
               {{"server", server}, {"identity", own->id}});
}

} // namespace zklock::tool
