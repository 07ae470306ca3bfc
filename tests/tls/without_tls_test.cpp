// A library that was built without TLS: it says so, and leaves nothing unencrypted that was to be encrypted.
#include "zklock/client_options.hpp"

#include <doctest/doctest.h>

using namespace zklock;

TEST_CASE("without TLS in the library: the option is refused, and the reason names the build's option")
{
    client_options o;
    CHECK_FALSE(find_fault(o));
    o.tls.enabled = true;
    const auto fault = find_fault(o);
    REQUIRE(fault);
    CHECK(fault->option == "tls.enabled");
    CHECK(to_string(*fault) == "tls.enabled is true, and has to be false: this library was built without TLS (with the "
                               "CMake option ZKLOCK_TLS=OFF)");
    o.tls.ca_file = "a";
    CHECK(find_fault(o).value().option == "tls.enabled");
    o.tls.enabled = false;
    CHECK(to_string(find_fault(o).value()) == "tls.enabled is false, and has to be true where tls.ca_file is set");
}

TEST_CASE("without OpenSSL in the library, clients tell each other nothing: the option is refused, and the reason told")
{
    client_options o;
    o.handoff.listen = "0.0.0.0:0";
    CHECK(
        to_string(find_fault(o).value()) ==
        "handoff.listen is \"0.0.0.0:0\", and has to be empty: this library was built without OpenSSL (with the CMake "
        "option ZKLOCK_TLS=OFF)");
}
