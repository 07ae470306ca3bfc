#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/digest_md5.hpp"
#include "bridge/sasl/gssapi.hpp"

#include <utility>

namespace zklock::bridge {

sasl_credentials::sasl_credentials(sasl_options from) : options_(std::move(from))
{
    if (!options_.keytab.empty() && options_.credential_cache.empty())
        tickets_.emplace(options_.keytab);
}

const char* sasl_credentials::mechanism_name() const noexcept
{
    return options_.mechanism == sasl_mechanism::gssapi ? "Kerberos" : "DIGEST-MD5";
}

sasl_start start_sasl(const sasl_credentials& from, const std::vector<std::string>& hosts)
{
    if (from.options_.mechanism == sasl_mechanism::digest_md5) {
        if (std::string why = digest_md5::missing(); !why.empty())
            return {nullptr, std::move(why)};
        return {std::make_unique<digest_md5>(from.options_.user, from.options_.password, digest_md5::particulars{}),
                {}};
    }
    kerberos_names names{from.options_.server_principal, false, from.options_.keytab, from.options_.credential_cache};
    if (from.tickets_) {
        names.own = from.tickets_->current();
        names.cache = names.own->name();
        if (names.cache.empty())
            return {nullptr, names.own->why()};
    }
    if (!names.service.empty())
        return start_gssapi(names).start;
    sasl_start last;
    for (const std::string& host : hosts) {
        names.service = host;
        names.is_host = true;
        gssapi_start next = start_gssapi(names);
        if (!next.unknown_service)
            return std::move(next.start);
        if (last.why.empty()) // by the first name the server is meant
            last.why = std::move(next.start.why);
    }
    return last;
}

} // namespace zklock::bridge
