#include "bridge/sasl/gssapi.hpp"
#include "bridge/sasl/kdc_calls.hpp"
#include "bridge/tls/harmless.hpp"

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5/krb5.h>

#include <array>
#include <cstddef>
#include <utility>

#include <unistd.h>

namespace zklock::bridge {

namespace {

// What each side says of layers: which ones, and in how long pieces.
constexpr std::size_t layers_size = 4;
constexpr unsigned char no_layer = 1;

constexpr std::size_t longest_words = 600;

constexpr OM_uint32 wanted_flags = GSS_C_MUTUAL_FLAG | GSS_C_SEQUENCE_FLAG | GSS_C_INTEG_FLAG;

gss_OID kerberos() noexcept
{
    return const_cast<gss_OID>(gss_mech_krb5);
}

gss_buffer_desc buffer_of(std::string_view text) noexcept
{
    return {text.size(), const_cast<char*>(text.data())};
}

/// What a call of GSSAPI makes.
class made_buffer {
public:
    ~made_buffer()
    {
        OM_uint32 minor = 0;
        ::gss_release_buffer(&minor, &buffer_);
    }
    made_buffer& operator=(made_buffer&&) = delete;

    [[nodiscard]] gss_buffer_t get() noexcept { return &buffer_; }
    [[nodiscard]] std::string_view text() const noexcept
    {
        return {static_cast<const char*>(buffer_.value), buffer_.length};
    }

private:
    gss_buffer_desc buffer_ = GSS_C_EMPTY_BUFFER;
};

/// How a call of GSSAPI ended.
struct gss_result {
    OM_uint32 major = GSS_S_COMPLETE;
    OM_uint32 minor = 0;

    [[nodiscard]] bool failed() const noexcept { return GSS_ERROR(major) != 0; }
    /// Kerberos's own words, if it has some; they are kept by thread, for the last failure of a kind. What a KDC says
    /// may be among them, and nobody has proved that it is one.
    [[nodiscard]] std::string words() const { return harmless(all_words(), longest_words, "..."); }

private:
    [[nodiscard]] std::string all_words() const
    {
        const std::string general = words_of(major, GSS_C_GSS_CODE);
        const std::string special = minor != 0 ? words_of(minor, GSS_C_MECH_CODE) : std::string();
        if (special.empty())
            return general;
        const OM_uint32 kind = GSS_ROUTINE_ERROR(major);
        return kind == GSS_S_FAILURE || kind == GSS_S_NO_CRED ? special : general + ": " + special;
    }

    static std::string words_of(OM_uint32 code, int type)
    {
        std::string all;
        OM_uint32 more = 0;
        do {
            made_buffer one;
            OM_uint32 minor = 0;
            if (GSS_ERROR(::gss_display_status(&minor, code, type, kerberos(), &more, one.get())))
                break;
            all += (all.empty() ? "" : ", ") + std::string(one.text());
        } while (more != 0);
        return all;
    }
};

sasl_step token(std::string_view text)
{
    return {sasl_step::kind::token, std::string(text)};
}

/// Where the client's identity was looked for; of its own places Kerberos tells by itself.
std::string place_of(const kerberos_names& names)
{
    if (!names.keytab.empty())
        return " (keytab " + names.keytab + ")";
    return names.cache.empty() ? std::string() : " (credential cache " + names.cache + ")";
}

/// The parts of an exchange that GSSAPI owns. In a forked process they are left alone: there a lock may be locked for
/// ever.
class gssapi final : public mechanism {
public:
    explicit gssapi(const kerberos_names& names)
        : service_(names.is_host ? "zookeeper@" + names.service : names.service), cache_(names.own)
    {
    }
    ~gssapi() override
    {
        if (::getpid() != process_)
            return;
        const not_stopped_here whole;
        OM_uint32 minor = 0;
        ::gss_delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
        ::gss_release_cred(&minor, &credential_);
        ::gss_release_name(&minor, &name_);
    }

    /// Makes the first token. If that fails, `why` says why.
    gss_result begin(const kerberos_names& names, std::string& why)
    {
        gss_buffer_desc service = buffer_of(service_);
        gss_result result;
        result.major = ::gss_import_name(
            &result.minor, &service, names.is_host ? GSS_C_NT_HOSTBASED_SERVICE : GSS_KRB5_NT_PRINCIPAL_NAME, &name_);
        if (!result.failed()) {
            result = acquire(names);
            if (result.failed()) { // of a keytab that cannot be read, GSSAPI says that there is no cache
                const std::string fault = names.keytab.empty() ? "" : keytab_fault(names.keytab);
                why = (fault.empty() ? result.words() : harmless(fault, longest_words, "...")) + place_of(names);
                return result;
            }
            result = initiate({}, first_);
        }
        if (result.failed())
            why = result.words();
        return result;
    }

    [[nodiscard]] const std::string& first() const noexcept override { return first_; }

    [[nodiscard]] sasl_step step(std::string_view challenge) override
    {
        if (answered_) {
            if (challenge.empty())
                return {sasl_step::kind::done};
            return failed_step(sasl_failure::broken, "the server has sent more than belongs to GSSAPI");
        }
        if (challenge.empty())
            return unanswered_step(proved_ ? sasl_failure::unproved : sasl_failure::disagreed);
        return proved_ ? choose_layer(challenge) : look_at_proof(challenge);
    }

    [[nodiscard]] sasl_step refused() override
    {
        if (proved_) // so its key is the one that the ticket is for
            return failed_step(sasl_failure::refused,
                               "the server has taken the Kerberos ticket for " + service_ + ", but not the client");
        if (cache_)
            cache_->spoil();
        // The server alone knows why, and its clock may be mended.
        return failed_step(sasl_failure::unproved,
                           "the server does not accept the Kerberos ticket for " + service_ +
                               ": their clocks may differ, or it has another key than the ticket is for; " +
                               (cache_ ? "the next attempt gets a new one" : "if that is newer, kinit gets new ones"));
    }

private:
    gss_result acquire(const kerberos_names& names)
    {
        std::array<gss_key_value_element_desc, 2> entries{};
        gss_key_value_set_desc where{0, entries.data()};
        if (!names.cache.empty())
            entries[where.count++] = {"ccache", names.cache.c_str()};
        if (!names.keytab.empty())
            entries[where.count++] = {"client_keytab", names.keytab.c_str()};
        gss_OID_set_desc mechanisms{1, kerberos()};
        gss_result result;
        result.major =
            ::gss_acquire_cred_from(&result.minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE,
                                    where.count != 0 ? &where : GSS_C_NO_CRED_STORE, &credential_, nullptr, nullptr);
        return result;
    }

    gss_result initiate(std::string_view came, std::string& made)
    {
        gss_buffer_desc input = buffer_of(came);
        made_buffer output;
        gss_result result;
        result.major = ::gss_init_sec_context(&result.minor, credential_, &context_, name_, kerberos(), wanted_flags, 0,
                                              GSS_C_NO_CHANNEL_BINDINGS, came.empty() ? GSS_C_NO_BUFFER : &input,
                                              nullptr, output.get(), &flags_, nullptr);
        made = output.text();
        return result;
    }

    sasl_step look_at_proof(std::string_view challenge)
    {
        if (challenge.find("md5-sess") != challenge.npos)
            return failed_step(sasl_failure::disagreed, "the server has no GSSAPI: it speaks DIGEST-MD5");
        std::string answer;
        const gss_result result = initiate(challenge, answer);
        if (result.failed())
            return failed_step(sasl_failure::unproved, result.words());
        if (result.major == GSS_S_COMPLETE) {
            if ((flags_ & wanted_flags) != wanted_flags)
                return failed_step(sasl_failure::unproved,
                                   "the server has not proved who it is (no mutual authentication)");
            proved_ = true;
        }
        return token(answer);
    }

    /// The server tells what it can do; the client wants none of it, and to be whom the ticket is for.
    sasl_step choose_layer(std::string_view challenge)
    {
        gss_buffer_desc wrapped = buffer_of(challenge);
        made_buffer offer;
        gss_result result;
        result.major = ::gss_unwrap(&result.minor, context_, &wrapped, offer.get(), nullptr, nullptr);
        if (result.failed())
            return failed_step(sasl_failure::unproved, result.words());
        if (offer.text().size() != layers_size)
            return failed_step(sasl_failure::broken, "the server's offer of layers is none");
        if ((static_cast<unsigned char>(offer.text().front()) & no_layer) == 0)
            return failed_step(sasl_failure::broken, "the server wants a layer of GSSAPI over the connection");
        constexpr std::string_view choice("\1\0\0\0", layers_size);
        gss_buffer_desc chosen = buffer_of(choice);
        made_buffer answer;
        result.major = ::gss_wrap(&result.minor, context_, 0, GSS_C_QOP_DEFAULT, &chosen, nullptr, answer.get());
        if (result.failed())
            return failed_step(sasl_failure::broken, result.words());
        answered_ = true;
        return token(answer.text());
    }

    const int process_ = ::getpid();
    const std::string service_;
    const std::shared_ptr<memory_cache> cache_; ///< lives as long as what was got from it
    gss_name_t name_ = GSS_C_NO_NAME;
    gss_cred_id_t credential_ = GSS_C_NO_CREDENTIAL;
    gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
    OM_uint32 flags_ = 0;
    bool proved_ = false;   ///< the server knows its key
    bool answered_ = false; ///< its offer of layers
    std::string first_;
};

} // namespace

gssapi_start start_gssapi(const kerberos_names& names)
{
    gssapi_start made;
    auto exchange = std::make_unique<gssapi>(names);
    const gss_result result = exchange->begin(names, made.start.why);
    if (result.failed())
        made.unknown_service = result.minor == static_cast<OM_uint32>(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN);
    else
        made.start.made = std::move(exchange);
    return made;
}

} // namespace zklock::bridge
