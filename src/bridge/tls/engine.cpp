#include "bridge/tls/engine.hpp"

#include "bridge/tls/certificate_text.hpp"
#include "bridge/tls/openssl.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace zklock::bridge {

namespace {

/// The first error that is one of TLS itself: before it may be what went wrong inside, as with a cipher.
unsigned long take_cause() noexcept
{
    const unsigned long first = ERR_peek_error();
    while (const unsigned long code = ERR_get_error())
        if (ERR_GET_LIB(code) == ERR_LIB_SSL)
            return code;
    return first;
}

bool is_alert(unsigned long code) noexcept
{
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
}

bool is_refusal_of_certificate(unsigned long code) noexcept
{
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

/// None of those who have signed the server's certificate is trusted.
bool is_unknown_authority(long verify_result) noexcept
{
    return verify_result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
           verify_result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
           verify_result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
           verify_result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
}

/// The types of records go from change_cipher_spec to application_data.
bool begins_a_record(char first) noexcept
{
    return first >= SSL3_RT_CHANGE_CIPHER_SPEC && first <= SSL3_RT_APPLICATION_DATA;
}

/// Expects the certificate to list the address.
bool expect_address(SSL* ssl, const std::string& address)
{
    X509_VERIFY_PARAM* const expected = SSL_get0_param(ssl);
    return X509_VERIFY_PARAM_set1_host(expected, nullptr, 0) == 1 &&
           X509_VERIFY_PARAM_set1_ip_asc(expected, address.c_str()) == 1;
}

/// Expects the certificate to be for the name, and tells the server which one is wanted.
bool expect_name(SSL* ssl, const std::string& name)
{
    if (name.empty() || name.front() == '.') // OpenSSL takes that for all names that end so
        return false;
    X509_VERIFY_PARAM* const expected = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(expected,
                                    X509_VERIFY_PARAM_get_hostflags(expected) | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_ip(expected, nullptr, 0) == 1 &&
           X509_VERIFY_PARAM_set1_host(expected, name.data(), name.size()) == 1 &&
           SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

/// What the user's own context may have left otherwise.
bool set_limits(SSL* ssl)
{
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION); // a write would have to wait for it
    SSL_set_mode(ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_clear_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ASYNC);
    const auto least = std::max<long>(SSL_get_min_proto_version(ssl), TLS1_2_VERSION);
    return SSL_set_min_proto_version(ssl, static_cast<int>(least)) == 1;
}

} // namespace

tls_engine::tls_engine(std::shared_ptr<const tls_context> context, const server_name& name)
    : context_(std::move(context)), expected_(name.host)
{
    const own_errors errors;
    ssl_ = {SSL_new(context_->native()), &SSL_free};
    owned_bio in(BIO_new(BIO_s_mem())), out(BIO_new(BIO_s_mem()));
    if (!ssl_ || !in || !out)
        throw std::bad_alloc();
    from_server_ = in.release();
    to_server_ = out.release();
    SSL_set_bio(ssl_.get(), from_server_, to_server_);
    SSL_set_connect_state(ssl_.get());
    expect(name);
}

/// What changes the connection: its errors are looked at within, and it may leave something to be sent.
class tls_engine::call {
public:
    explicit call(tls_engine& of) noexcept : of_(of) {}
    ~call() { of_.look_for_output(); }

private:
    const own_errors errors_;
    tls_engine& of_;
};

void tls_engine::look_for_output() noexcept
{
    char* data = nullptr;
    const long size = BIO_get_mem_data(to_server_, &data);
    pending_ = {data, static_cast<std::size_t>(std::max(size, 0L))};
}

void tls_engine::expect(const server_name& name)
{
    SSL* const ssl = ssl_.get();
    while (!name.numeric && expected_.ends_with('.'))
        expected_.pop_back();
    if (!(SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER))
        fail("tls.context is verify_none, and would take any server for the right one");
    else if (!set_limits(ssl))
        fail("TLS 1.2 or later is not allowed: ", first_error());
    else if (!(name.numeric ? expect_address(ssl, expected_) : expect_name(ssl, expected_)))
        fail("no certificate can be for \"", name.host, "\"");
    else if (!context_->is_of_user()) {
        SSL_set_app_data(ssl, this);
        SSL_set_verify(ssl, SSL_VERIFY_PEER, &note_refusal);
    }
}

/// Lets nothing pass that OpenSSL does not. It only notes what of the certificate will not be known later.
int tls_engine::note_refusal(int preverified, X509_STORE_CTX* verified) noexcept
{
    if (preverified)
        return preverified;
    try {
        const auto* const ssl =
            static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx()));
        auto& self = *static_cast<tls_engine*>(SSL_get_app_data(ssl));
        const int error = X509_STORE_CTX_get_error(verified);
        self.refusal_ = X509_verify_cert_error_string(error);
        if (const X509* const certificate = X509_STORE_CTX_get_current_cert(verified)) {
            if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH)
                self.refusal_ += ": it is for " + names_of(*certificate) + ", and not for " + self.expected_;
            else
                self.refusal_ += ": " + subject_of(*certificate);
        }
    } catch (const std::bad_alloc&) { // NOLINT: less is told
    }
    return 0;
}

auto tls_engine::advance() noexcept -> state
{
    if (state_ != state::handshaking)
        return state_;
    const call openssl(*this);
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1)
        follow(result);
    else if (!SSL_get0_peer_certificate(ssl_.get())) // with ciphers that only a user's context allows
        fail("the server has shown no certificate");
    else if (SSL_version(ssl_.get()) < TLS1_2_VERSION) // with a user's context that has a method of one version
        fail("the two agreed on ", SSL_get_version(ssl_.get()), ", and TLS 1.2 is needed");
    else
        state_ = state::open;
    return state_;
}

void tls_engine::put(std::span<const char> ciphertext) noexcept
{
    if (ciphertext.empty() || state_ == state::failed || state_ == state::ended)
        return;
    if (!anything_came_)
        speaks_tls_ = begins_a_record(ciphertext.front());
    anything_came_ = true;
    std::size_t taken = 0;
    if (BIO_write_ex(from_server_, ciphertext.data(), ciphertext.size(), &taken) != 1 || taken != ciphertext.size()) {
        const own_errors errors;
        fail("no memory for what the server says");
    }
}

void tls_engine::no_more(std::string_view why) noexcept
{
    if (state_ == state::failed || state_ == state::ended)
        return;
    const char* const hint = anything_came_ ? "" : " (does its port speak TLS?)";
    const char* const when = state_ == state::handshaking ? " during the handshake" : " without saying so";
    if (why.empty())
        fail("the server has hung up", when, hint);
    else
        fail(why, when, hint);
}

void tls_engine::sent(std::size_t count) noexcept
{
    std::array<char, 16 * 1024> gone;
    while (count != 0) {
        std::size_t taken = 0;
        if (BIO_read_ex(to_server_, gone.data(), std::min(count, gone.size()), &taken) != 1)
            break; // more than there was
        count -= taken;
    }
    look_for_output();
}

bool tls_engine::write(std::span<const char> plain) noexcept
{
    if (state_ != state::open || (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) != 0)
        return false;
    if (plain.empty())
        return true;
    const call openssl(*this);
    std::size_t written = 0;
    const int result = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written);
    if (result == 1 && written == plain.size())
        return true;
    follow(result);
    if (state_ == state::open)
        fail("what was to be written was not encrypted");
    return false;
}

std::size_t tls_engine::read(std::span<char> plain) noexcept
{
    std::size_t filled = 0;
    while (state_ == state::open && filled < plain.size() && has_input()) {
        const call openssl(*this);
        std::size_t got = 0;
        const int result = SSL_read_ex(ssl_.get(), plain.data() + filled, plain.size() - filled, &got);
        if (result != 1) {
            follow(result);
            break;
        }
        heard_ = true;
        filled += got;
    }
    return filled;
}

/// To ask OpenSSL for what is not there takes it as long as to decrypt something.
bool tls_engine::has_input() const noexcept
{
    return BIO_ctrl_pending(from_server_) != 0 || SSL_has_pending(ssl_.get()) == 1;
}

void tls_engine::shut_down() noexcept
{
    if (state_ != state::open)
        return;
    const call openssl(*this);
    static_cast<void>(SSL_shutdown(ssl_.get())); // 0: the server has not said so itself yet
}

void tls_engine::follow(int result) noexcept
{
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return;
    case SSL_ERROR_ZERO_RETURN:
        if (state_ == state::open)
            state_ = state::ended;
        else
            fail("the server has ended the handshake");
        return;
    case SSL_ERROR_SSL: fail_by([this] { failure_ = reason(); }); return;
    case SSL_ERROR_SYSCALL: fail("no memory for TLS"); return;
    default: fail("a callback of tls.context puts the handshake off, which is not supported"); return;
    }
}

/// Why a call has failed, by what it has left in the queue of errors.
std::string tls_engine::reason() const
{
    const unsigned long code = take_cause();
    std::string text = error_reason(code);
    if (is_refusal_of_certificate(code)) {
        const long result = SSL_get_verify_result(ssl_.get());
        if (!refusal_.empty())
            text += ": " + refusal_;
        else if (result != X509_V_OK)
            text += std::string(": ") + X509_verify_cert_error_string(result);
        if (context_->trusts_the_systems() && is_unknown_authority(result))
            text += " (tls.ca_file is empty: only the system's authorities are trusted)";
    } else if (is_alert(code)) {
        text.insert(0, "the server refuses: ");
        if (!SSL_get_certificate(ssl_.get()))
            text += " (the client has no certificate to show)";
    } else if (!speaks_tls_) {
        text += " (its answer is not TLS)";
    }
    return text;
}

template <class... Parts> void tls_engine::fail(const Parts&... parts) noexcept
{
    fail_by([&] { (failure_.append(parts), ...); });
}

template <class Say> void tls_engine::fail_by(Say say) noexcept
{
    state_ = state::failed;
    try {
        failure_.clear();
        say();
    } catch (const std::bad_alloc&) {
        failure_.clear();
    }
}

} // namespace zklock::bridge
