#include "bridge/sasl/digest_md5.hpp"
#include "bridge/sasl/texts.hpp"
#include "bridge/tls/harmless.hpp"
#include "bridge/tls/openssl.hpp"

#include <boost/algorithm/hex.hpp>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iomanip>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace zklock::bridge {

namespace {

constexpr const char* not_understood = "the server's challenge is none of DIGEST-MD5 that this client understands";

std::string in_hexadecimal(const auto& bytes)
{
    std::string text;
    text.reserve(2 * bytes.size()); // so no part of it stays behind elsewhere
    boost::algorithm::hex_lower(bytes.begin(), bytes.end(), std::back_inserter(text));
    return text;
}

/// Of all parts, one after the other; empty if OpenSSL makes none. Some are as good as a password.
secret md5(std::initializer_list<std::string_view> parts)
{
    std::size_t size = 0;
    for (const std::string_view part : parts)
        size += part.size();
    secret joined, digest;
    joined.edit().reserve(size); // so no part of it stays behind elsewhere
    for (const std::string_view part : parts)
        joined.edit() += part;
    digest.edit().resize(16);
    if (EVP_Q_digest(nullptr, "MD5", nullptr, joined.text().data(), size,
                     reinterpret_cast<unsigned char*>(digest.edit().data()), nullptr) != 1)
        digest.edit().clear();
    return digest;
}

/// Nothing, if the machine has no chance.
std::string drawn_nonce()
{
    const own_errors errors;
    std::array<unsigned char, 24> drawn{};
    return RAND_bytes(drawn.data(), static_cast<int>(drawn.size())) == 1 ? in_hexadecimal(drawn) : std::string();
}

bool lists(std::string_view all, std::string_view wanted)
{
    std::vector<std::string> each;
    boost::algorithm::split(each, all, boost::algorithm::is_any_of(", \t\r\n"));
    return std::ranges::find(each, wanted) != each.end();
}

/// What ISO 8859-1 holds is hashed in it, though it is sent as UTF-8.
std::string_view hashed(const std::optional<secret>& latin_1, std::string_view utf_8)
{
    return latin_1 ? latin_1->text() : utf_8;
}

} // namespace

digest_md5::digest_md5(std::string user, std::string_view password, particulars as)
    : user_(std::move(user)), password_(std::string(password)), particulars_(std::move(as))
{
}

std::string digest_md5::missing()
{
    const own_errors errors;
    if (!md5({}).text().empty())
        return {};
    return "OpenSSL has no MD5 here, perhaps because of FIPS, and DIGEST-MD5 needs it (" + first_error() + ")";
}

sasl_step digest_md5::step(std::string_view challenge)
{
    if (challenge.empty())
        return unanswered_step(answered_ ? sasl_failure::unproved : sasl_failure::disagreed);
    if (!answered_) {
        answered_ = true;
        return answer(challenge);
    }
    const auto all = read_directives(challenge);
    const auto proof = all ? all->find("rspauth") : decltype(all->end()){};
    if (!all || proof == all->end())
        return failed_step(sasl_failure::broken, "the server has sent something else than its proof (rspauth)");
    const std::string_view got = proof->second;
    if (got.size() != expected_.size() || CRYPTO_memcmp(got.data(), expected_.data(), got.size()) != 0)
        return failed_step(sasl_failure::unproved,
                           "the server does not know the password: its proof (rspauth) is wrong");
    return {sasl_step::kind::done};
}

sasl_step digest_md5::refused()
{
    if (!answered_)
        return failed_step(sasl_failure::disagreed, "the server has no DIGEST-MD5: it speaks GSSAPI (Kerberos)");
    return failed_step(sasl_failure::refused, "the server does not know the user, or the password is wrong");
}

sasl_step digest_md5::answer(std::string_view challenge)
{
    auto all = read_directives(challenge);
    if (!all || (*all)["algorithm"] != "md5-sess" || (*all)["nonce"].empty())
        return failed_step(sasl_failure::broken, not_understood);
    if (all->contains("qop") && !lists((*all)["qop"], "auth"))
        return failed_step(sasl_failure::broken, "the server wants more than authentication (qop=" +
                                                     harmless((*all)["qop"], 60, "...") + ")");
    const bool utf_8 = (*all)["charset"] == "utf-8";
    const std::string& realm = (*all)["realm"];
    const std::string& nonce = (*all)["nonce"];
    const std::string client_nonce = particulars_.client_nonce.empty() ? drawn_nonce() : particulars_.client_nonce;
    if (client_nonce.empty())
        return failed_step(sasl_failure::broken, "OpenSSL has no random numbers");

    const auto latin_user = in_latin_1(user_);
    const auto latin_password = in_latin_1(password_.text());
    const auto latin_realm = utf_8 ? in_latin_1(realm) : std::nullopt; // what is not UTF-8 is in it already
    if (!utf_8 && (!latin_user || !latin_password))
        return failed_step(sasl_failure::broken,
                           "the server takes no UTF-8, and the user's name or password is more than ISO 8859-1");

    const own_errors errors;
    const secret identity = md5(
        {hashed(latin_user, user_), ":", hashed(latin_realm, realm), ":", hashed(latin_password, password_.text())});
    const secret session(in_hexadecimal(md5({identity.text(), ":", nonce, ":", client_nonce}).text()));
    const auto response = [&](std::string_view method) {
        const secret request(in_hexadecimal(md5({method, ":", particulars_.uri}).text()));
        return in_hexadecimal(
            md5({session.text(), ":", nonce, ":00000001:", client_nonce, ":auth:", request.text()}).text());
    };
    const std::string proof = response("AUTHENTICATE");
    expected_ = response("");
    if (identity.text().empty() || session.text().empty() || proof.empty() || expected_.empty())
        return failed_step(sasl_failure::broken, "OpenSSL could not make an MD5");
    std::ostringstream text;
    text.exceptions(std::ios::badbit); // so that std::bad_alloc gets out
    text << (utf_8 ? "charset=utf-8," : "")
         << "username=" << std::quoted(utf_8 ? std::string_view(user_) : latin_user->text())
         << ",realm=" << std::quoted(realm) << ",nonce=" << std::quoted(nonce)
         << ",cnonce=" << std::quoted(client_nonce)
         << ",nc=00000001,qop=auth,digest-uri=" << std::quoted(particulars_.uri) << ",response=" << proof
         << ",maxbuf=65536";
    return {sasl_step::kind::token, std::move(text).str()};
}

} // namespace zklock::bridge
