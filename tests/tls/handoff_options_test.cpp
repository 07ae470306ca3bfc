// Options of the hand-off past the servers that cannot be used: which one is named, and what is accepted.
#include "zklock/client_options.hpp"

#include <doctest/doctest.h>

using namespace zklock;

namespace {

std::string fault_of(const std::string& listen, const std::string& advertise = {},
                     const std::vector<std::string>& peers = {})
{
    client_options o;
    o.handoff.listen = listen;
    o.handoff.advertise = advertise;
    o.handoff.peers = peers;
    const auto fault = find_fault(o);
    return fault ? to_string(*fault) : "none";
}

} // namespace

TEST_CASE("options of the hand-off that can be used")
{
    CHECK(fault_of("") == "none");
    CHECK(fault_of("0.0.0.0:0") == "none");
    CHECK(fault_of("[::]:7411") == "none");
    CHECK(fault_of("127.0.0.1:0", "", {"127.0.0.0/8"}) == "none");
    CHECK(fault_of("0.0.0.0:7411", "192.0.2.1", {"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"}) == "none");
    CHECK(fault_of("0.0.0.0:7411", "[2001:db8::1]:80") == "none");
    CHECK(fault_of("[fe80::1]:7411", "2001:db8::1") == "none");
}

TEST_CASE("options of the hand-off that cannot be used")
{
    const std::string form = "a numeric address and port, such as 0.0.0.0:0, 10.1.2.3:7411 or [::]:0";
    for (const std::string wrong :
         {"0.0.0.0", "localhost:0", "10.0.0.1:65536", "224.0.0.1:7", ":7411", " 10.0.0.1:7"}) {
        CAPTURE(wrong);
        CHECK(fault_of(wrong) == "handoff.listen is \"" + wrong + "\", and has to be empty, or " + form);
    }
    CHECK(fault_of("", "192.0.2.1") ==
          "handoff.listen is empty, and has to be " + form + ", where handoff.advertise is set");
    CHECK(fault_of("", "", {"10.0.0.0/8"}) ==
          "handoff.listen is empty, and has to be " + form + ", where handoff.peers is set");
    CHECK(fault_of("[fe80::1]:7411") ==
          "handoff.listen is \"[fe80::1]:7411\", and has to be an address to which others can connect, where "
          "handoff.advertise is empty");
    for (const std::string wrong : {"host", "0.0.0.0", "224.0.0.1:7", "192.0.2.1:0", "fe80::1", "192.0.2.1:"}) {
        CAPTURE(wrong);
        CHECK(fault_of("0.0.0.0:0", wrong) == "handoff.advertise is \"" + wrong +
                                                  "\", and has to be empty, or an address or address:port to which "
                                                  "others can connect, such as 10.1.2.3 or [2001:db8::7]:7411");
    }
    for (const std::string wrong : {"10.0.0.1/8", "10.0.0.0/33", "host", "", "2001:db8::1/32"}) {
        CAPTURE(wrong);
        CHECK(fault_of("0.0.0.0:0", "", {"10.0.0.0/8", wrong}) ==
              "handoff.peers is \"" + wrong +
                  "\", and has to be networks such as 10.0.0.0/8 or 2001:db8::/32, with "
                  "nothing but zeros behind their bits, or addresses");
    }
}
