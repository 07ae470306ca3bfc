// A library that was built with TLS, and without SASL: it says so, and identifies nobody by nothing.
#include "zklock/client_options.hpp"

#include <doctest/doctest.h>

using namespace zklock;

TEST_CASE("without SASL in the library: the option is refused, and the reason names the package and the build's option")
{
    client_options o;
    CHECK_FALSE(find_fault(o));
    o.sasl.mechanism = sasl_mechanism::gssapi;
    CHECK(to_string(find_fault(o).value()) ==
          "sasl.mechanism is gssapi, and has to be off: this library was built without SASL (without libkrb5-dev, or "
          "with the CMake option ZKLOCK_SASL=OFF)");
    o.sasl.mechanism = sasl_mechanism::digest_md5;
    o.sasl.user = "bob";
    o.sasl.password = "x";
    CHECK(find_fault(o).value().option == "sasl.mechanism");
}
