#pragma once
#include <gssapi/gssapi_ext.h>

#include <doctest/doctest.h>

#include <string>

namespace zklock::test {

/// A server's end of GSSAPI. It does not look at what the client says beyond what Kerberos does.
class gssapi_acceptor {
public:
    explicit gssapi_acceptor(const std::string& keytab)
    {
        gss_key_value_element_desc where{"keytab", keytab.c_str()};
        const gss_key_value_set_desc store{1, &where};
        OM_uint32 minor = 0;
        REQUIRE(::gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_ACCEPT, &store,
                                        &credential_, nullptr, nullptr) == GSS_S_COMPLETE);
    }
    ~gssapi_acceptor()
    {
        OM_uint32 minor = 0;
        ::gss_delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
        ::gss_release_cred(&minor, &credential_);
        ::gss_release_name(&minor, &client_);
    }
    gssapi_acceptor(const gssapi_acceptor&) = delete;
    gssapi_acceptor& operator=(const gssapi_acceptor&) = delete;

    /// Takes the client's first token, and gives the server's proof.
    std::string accept(const std::string& token)
    {
        gss_buffer_desc input = buffer_of(token), output = GSS_C_EMPTY_BUFFER;
        OM_uint32 minor = 0;
        REQUIRE(::gss_accept_sec_context(&minor, &context_, credential_, &input, GSS_C_NO_CHANNEL_BINDINGS, &client_,
                                         nullptr, &output, nullptr, nullptr, nullptr) == GSS_S_COMPLETE);
        return taken(output);
    }
    /// Who the client has proved to be.
    [[nodiscard]] std::string client() const
    {
        gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
        OM_uint32 minor = 0;
        REQUIRE(::gss_display_name(&minor, client_, &output, nullptr) == GSS_S_COMPLETE);
        return taken(output);
    }
    /// Says that of layers.
    std::string offer(const std::string& layers)
    {
        gss_buffer_desc input = buffer_of(layers), output = GSS_C_EMPTY_BUFFER;
        OM_uint32 minor = 0;
        REQUIRE(::gss_wrap(&minor, context_, 0, GSS_C_QOP_DEFAULT, &input, nullptr, &output) == GSS_S_COMPLETE);
        return taken(output);
    }
    std::string unwrap(const std::string& wrapped)
    {
        gss_buffer_desc input = buffer_of(wrapped), output = GSS_C_EMPTY_BUFFER;
        OM_uint32 minor = 0;
        REQUIRE(::gss_unwrap(&minor, context_, &input, &output, nullptr, nullptr) == GSS_S_COMPLETE);
        return taken(output);
    }

private:
    static gss_buffer_desc buffer_of(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }
    static std::string taken(gss_buffer_desc& made)
    {
        std::string text(static_cast<const char*>(made.value), made.length);
        OM_uint32 minor = 0;
        ::gss_release_buffer(&minor, &made);
        return text;
    }

    gss_cred_id_t credential_ = GSS_C_NO_CREDENTIAL;
    gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
    gss_name_t client_ = GSS_C_NO_NAME;
};

} // namespace zklock::test
