#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace zklock::bridge {

template <auto free> struct freed_by {
    template <class T> void operator()(T* it) const noexcept { free(it); }
};
using owned_bio = std::unique_ptr<BIO, freed_by<&BIO_free>>;
using owned_certificate = std::unique_ptr<X509, freed_by<&X509_free>>;
using owned_context = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using owned_key = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

/// To read the text, which has to live as long. Null where there is no memory.
[[nodiscard]] inline owned_bio over(std::string_view text) noexcept
{
    return owned_bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// While it lives, what is in this thread's queue of errors came from the calls since its construction: OpenSSL itself
/// looks there to tell what became of a call. Afterwards the queue is empty, for the program's other uses.
class own_errors {
public:
    own_errors() noexcept { clear(); }
    ~own_errors() { clear(); }
    own_errors& operator=(own_errors&&) = delete;

private:
    static void clear() noexcept
    {
        if (ERR_peek_error() != 0) // to clear an empty queue costs as much as to encrypt a request
            ERR_clear_error();
    }
};

/// The error's reason, such as `wrong version number`.
[[nodiscard]] inline std::string error_reason(unsigned long code)
{
    if (code == 0)
        return "no reason given";
    if (const char* reason = ERR_reason_error_string(code))
        return reason;
    return "error " + std::to_string(ERR_GET_REASON(code)) + " of OpenSSL's library " +
           std::to_string(ERR_GET_LIB(code));
}

/// The reason of the first error in the queue.
[[nodiscard]] inline std::string first_error()
{
    return error_reason(ERR_peek_error());
}

} // namespace zklock::bridge
