#include "tls/server_end.hpp"

#include "bridge/tls/certificate_text.hpp"

#include <openssl/pem.h>

#include <array>
#include <stdexcept>

namespace zklock::test {

namespace {

void expect_done(bool done)
{
    if (!done)
        throw std::runtime_error("OpenSSL: " + bridge::first_error());
}

bridge::owned_bio reading(const std::string& text)
{
    return bridge::owned_bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

bridge::owned_certificate certificate_in(BIO* from)
{
    return bridge::owned_certificate(PEM_read_bio_X509(from, nullptr, nullptr, nullptr));
}

} // namespace

server_end::server_end(const server_settings& s) : context_(SSL_CTX_new(TLS_server_method()))
{
    const bridge::own_errors errors;
    expect_done(context_ != nullptr);
    SSL_CTX* const context = context_.get();
    expect_done(SSL_CTX_set_min_proto_version(context, s.version) == 1);
    expect_done(SSL_CTX_set_max_proto_version(context, s.version) == 1);
    const auto certificates = reading(s.own.certificate);
    const auto certificate = certificate_in(certificates.get());
    const bridge::owned_key key(PEM_read_bio_PrivateKey(reading(s.own.key).get(), nullptr, nullptr, nullptr));
    expect_done(SSL_CTX_use_certificate(context, certificate.get()) == 1);
    expect_done(SSL_CTX_use_PrivateKey(context, key.get()) == 1);
    while (auto next = certificate_in(certificates.get()))
        expect_done(SSL_CTX_add0_chain_cert(context, next.release()) == 1);
    if (!s.client_authority.empty()) {
        const auto trusted = certificate_in(reading(s.client_authority).get());
        expect_done(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), trusted.get()) == 1);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (s.client_needed ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
    }
    if (!s.ciphers.empty())
        expect_done(SSL_CTX_set_cipher_list(context, s.ciphers.c_str()) == 1);
    ssl_.reset(SSL_new(context));
    expect_done(ssl_ != nullptr);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_.get());
}

void server_end::put(std::string_view ciphertext)
{
    if (!ciphertext.empty())
        expect_done(BIO_write(SSL_get_rbio(ssl_.get()), ciphertext.data(), static_cast<int>(ciphertext.size())) > 0);
}

std::string server_end::take()
{
    std::string taken(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    if (!taken.empty())
        expect_done(BIO_read(SSL_get_wbio(ssl_.get()), taken.data(), static_cast<int>(taken.size())) > 0);
    return taken;
}

void server_end::work()
{
    if (!failure_.empty())
        return;
    const bridge::own_errors errors;
    const auto look = [&](int result) {
        if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_SSL)
            failure_ = bridge::first_error();
    };
    if (!open_) {
        const int result = SSL_do_handshake(ssl_.get());
        open_ = result == 1;
        if (!open_)
            return look(result);
    }
    std::array<char, 4096> piece{};
    for (;;) {
        const int result = SSL_read(ssl_.get(), piece.data(), piece.size());
        if (result <= 0)
            return look(result);
        heard_.append(piece.data(), static_cast<std::size_t>(result));
    }
}

void server_end::write(std::string_view plain)
{
    expect_done(SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) == static_cast<int>(plain.size()));
}

void server_end::update_keys(bool the_clients_too)
{
    const int kind = the_clients_too ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
    expect_done(SSL_key_update(ssl_.get(), kind) == 1 && SSL_do_handshake(ssl_.get()) == 1);
}

std::string server_end::name_wanted() const
{
    const char* const name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
}

std::string server_end::client_name() const
{
    const X509* const shown = SSL_get0_peer_certificate(ssl_.get());
    return shown ? bridge::subject_of(*shown) : "";
}

void exchange(bridge::tls_engine& client, server_end& server, std::string* heard)
{
    for (bool more = true; more;) {
        client.advance();
        std::array<char, 1000> piece{};
        while (const std::size_t got = client.read(piece))
            if (heard)
                heard->append(piece.data(), got);
        const auto pending = client.pending();
        more = !pending.empty();
        server.put({pending.data(), pending.size()});
        client.sent(pending.size());
        server.work();
        const std::string answer = server.take();
        more = more || !answer.empty();
        client.put(answer);
    }
}

} // namespace zklock::test
