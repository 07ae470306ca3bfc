#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/digest_md5.hpp"
#include "bridge/sasl/gssapi.hpp"

#include <utility>

namespace zklock::bridge {

sasl_credentials::sasl_credentials(sasl_options& from)
    : mechanism_(from.mechanism), user_(from.user), password_(std::move(from.password)),
      server_principal_(from.server_principal), keytab_(from.keytab), credential_cache_(from.credential_cache),
      tickets_(keytab_.empty() || !credential_cache_.empty() ? nullptr : std::make_unique<kerberos_tickets>(keytab_))
{
}

sasl_credentials::~sasl_credentials() = default;

const char* sasl_credentials::mechanism_name() const noexcept
{
    return mechanism_ == sasl_mechanism::gssapi ? "Kerberos" : "DIGEST-MD5";
}

sasl_start start_sasl(const sasl_credentials& from, const std::vector<std::string>& hosts)
{
    if (from.mechanism_ == sasl_mechanism::digest_md5) {
        if (std::string why = digest_md5::missing(); !why.empty())
            return {nullptr, std::move(why)};
        return {std::make_unique<digest_md5>(from.user_, from.password_.text(), digest_md5::particulars{}), {}};
    }
    kerberos_names names{from.server_principal_, false, from.keytab_, from.credential_cache_};
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
