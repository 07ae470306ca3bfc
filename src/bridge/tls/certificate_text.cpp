#include "bridge/tls/certificate_text.hpp"
#include "bridge/tls/harmless.hpp"

#include <openssl/x509v3.h>

#include <array>
#include <string_view>

#include <arpa/inet.h>

namespace zklock::bridge {

namespace {

using owned_names = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;

constexpr std::size_t longest_text = 200;
constexpr int most_names = 10;

std::string harmless(std::string_view text)
{
    return bridge::harmless(text, longest_text, " and so on");
}

std::string_view bytes_of(const ASN1_STRING* string)
{
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
            static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string text_of(const GENERAL_NAME& name)
{
    int kind = 0;
    const void* const value = GENERAL_NAME_get0_value(&name, &kind);
    if (kind == GEN_DNS)
        return "DNS:" + harmless(bytes_of(static_cast<const ASN1_STRING*>(value)));
    if (kind != GEN_IPADD)
        return {};
    const auto address = bytes_of(static_cast<const ASN1_STRING*>(value));
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool known = (address.size() == 4 || address.size() == 16) &&
                       ::inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
    return "IP:" + std::string(known ? text.data() : "?");
}

} // namespace

std::string subject_of(const X509& certificate)
{
    const owned_bio to(BIO_new(BIO_s_mem()));
    if (!to || X509_NAME_print_ex(to.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253) < 0)
        return {};
    const char* text = nullptr;
    const long size = BIO_get_mem_data(to.get(), &text);
    return harmless({text, static_cast<std::size_t>(std::max(size, 0L))});
}

std::string names_of(const X509& certificate)
{
    const owned_names listed(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string all;
    const int count = listed ? sk_GENERAL_NAME_num(listed.get()) : 0;
    for (int each = 0; each < std::min(count, most_names); ++each)
        if (const std::string name = text_of(*sk_GENERAL_NAME_value(listed.get(), each)); !name.empty())
            all += (all.empty() ? "" : ", ") + name;
    if (count > most_names)
        all += " and so on";
    return all.empty() ? subject_of(certificate) : all;
}

} // namespace zklock::bridge
