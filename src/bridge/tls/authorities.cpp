#include "bridge/tls/authorities.hpp"
#include "bridge/tls/identity.hpp"

#include <openssl/pem.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace zklock::bridge {

namespace {

/// Adds the certificates of the text to the store, and counts them. False if there is one that cannot be read.
bool add_certificates(X509_STORE* store, std::string_view text, std::size_t& count)
{
    const owned_bio from = over(text);
    if (!from)
        return false;
    for (;;) {
        const owned_certificate each(PEM_read_bio_X509_AUX(from.get(), nullptr, &refuse_to_ask, nullptr));
        if (!each)
            return no_more_pem();
        if (X509_STORE_add_cert(store, each.get()) != 1)
            return false;
        ++count;
    }
}

/// Where OpenSSL looks for what the system trusts: what the environment says, or its own place.
std::string place(const char* variable, const char* otherwise)
{
    const char* const said = ::secure_getenv(variable);
    return said ? said : otherwise;
}

/// The names by which OpenSSL finds certificates in a folder, such as `2e5ac55d.0`.
bool is_hashed(std::string_view name)
{
    const auto dot = name.find('.');
    return dot == 8 && name.size() > 9 && name.find_first_not_of("0123456789abcdef") == dot &&
           name.find_first_not_of("0123456789", dot + 1) == name.npos;
}

std::vector<std::string> hashed_files(const std::string& folder)
{
    std::vector<std::string> found;
    std::error_code ec;
    for (std::filesystem::directory_iterator each(folder, ec), end; !ec && each != end; each.increment(ec))
        if (is_hashed(each->path().filename().native()))
            found.push_back(each->path().native());
    std::ranges::sort(found);
    return found;
}

/// What of the system's cannot be read, is left out, as OpenSSL does.
class system_store {
public:
    system_store(X509_STORE* store, std::vector<tls_file>& read) : store_(store), read_(read) {}

    void add_file(std::string path)
    {
        tls_file file(std::move(path));
        std::string unused;
        if (const auto contents = file.read(unused); contents && seen_.find(contents->text()) == seen_.npos) {
            static_cast<void>(add_certificates(store_, contents->text(), count_));
            seen_ += contents->text();
        }
        ERR_clear_error();
        read_.push_back(std::move(file));
    }

    /// All of it now: what OpenSSL would look for later, it would read on the executor.
    void add_folder(const std::string& path)
    {
        tls_file folder(path);
        folder.look();
        read_.push_back(std::move(folder));
        for (std::string& each : hashed_files(path))
            add_file(std::move(each));
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    X509_STORE* const store_;
    std::vector<tls_file>& read_;
    std::size_t count_ = 0;
    std::string seen_; ///< the text so far: usually, the folder has each of the file's certificates once more
};

bool load_system(X509_STORE* store, std::vector<tls_file>& read, std::string& why)
{
    const std::string file = place(X509_get_default_cert_file_env(), X509_get_default_cert_file());
    const std::string folders = place(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
    system_store all(store, read);
    all.add_file(file);
    for (std::size_t at = 0; at < folders.size();) {
        const auto colon = std::min(folders.find(':', at), folders.size());
        if (colon != at)
            all.add_folder(folders.substr(at, colon - at));
        at = colon + 1;
    }
    if (all.count() == 0)
        why = "tls.ca_file is empty, and the system has no certificates of authorities, neither in " + file +
              " nor in " + folders;
    return all.count() != 0;
}

} // namespace

bool load_authorities(SSL_CTX& context, const std::string& file, std::vector<tls_file>& read, std::string& why)
{
    X509_STORE* const store = SSL_CTX_get_cert_store(&context);
    if (file.empty())
        return load_system(store, read, why);
    const auto contents = read.emplace_back(file).read(why);
    if (!contents) {
        why.insert(0, "tls.ca_file: ");
        return false;
    }
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN); // what is in the file is enough, though others signed it
    std::size_t count = 0;
    if (!add_certificates(store, contents->text(), count))
        why = "tls.ca_file: a certificate in " + file + " cannot be read: " + first_error();
    else if (count == 0)
        why = "tls.ca_file: in " + file + " is no certificate in the form of PEM";
    return why.empty();
}

} // namespace zklock::bridge
