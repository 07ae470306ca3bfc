// The example of TLS, with the right authority, with a wrong one, and with a certificate of the client's own.
#include "example.hpp"
#include "support/certificate_authority.hpp"
#include "support/expect_clean.hpp"

using namespace zklock::test;

TEST_CASE("TLS: a server of that authority, and one of another")
{
    server_options options;
    options.secure.emplace().client_auth = "want";
    zookeeper_server secured(options);
    const auto& authority = usual_authority();
    {
        example program("tls", {secured.secure_address("localhost"), authority.file()});
        program.expect(0, "held over TLS, with token [0-9]+\n");
    }
    {
        const auto own = usual_authority().certify();
        example program("tls", {secured.secure_address("localhost"), authority.file(), own.certificate, own.key});
        program.expect(0, "held over TLS, with token [0-9]+\n");
    }
    const certificate_authority stranger("another authority");
    example refused("tls", {secured.secure_address("localhost"), stranger.file()});
    refused.expect(3, "no lock: .*\n(.*: .*unable to get local issuer certificate.*\n)+");
    expect_clean(secured, {"/examples/tls"});
}
