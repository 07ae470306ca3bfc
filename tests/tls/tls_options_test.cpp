// Options that contradict each other, or that this build cannot serve: which one is named, and what is accepted.
#include "zklock/client_options.hpp"

#include <boost/asio/ssl/context.hpp>
#include <doctest/doctest.h>

using namespace zklock;

namespace {

template <class Spoil> std::string fault_of(Spoil spoil)
{
    client_options o;
    o.tls.enabled = true;
    spoil(o);
    const auto fault = find_fault(o);
    return fault ? to_string(*fault) : "none";
}

std::shared_ptr<boost::asio::ssl::context> context(boost::asio::ssl::verify_mode mode)
{
    auto made = std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_client);
    made->set_verify_mode(mode);
    return made;
}

} // namespace

TEST_CASE("options of TLS that go together; no file is read for it")
{
    CHECK(fault_of([](client_options&) {}) == "none");
    CHECK(fault_of([](client_options& o) { o.tls.enabled = false; }) == "none");
    CHECK(fault_of([](client_options& o) { o.tls.ca_file = "/no/such/file"; }) == "none");
    CHECK(fault_of([](client_options& o) { o.tls.certificate_file = "c"; }) == "none");
    CHECK(fault_of([](client_options& o) {
              o.tls.ca_file = "a";
              o.tls.certificate_file = "c";
              o.tls.key_file = "k";
              o.tls.key_password = std::string(1'023, 'x');
          }) == "none");
    CHECK(fault_of([](client_options& o) { o.tls.context = context(boost::asio::ssl::verify_peer); }) == "none");
    CHECK(fault_of([](client_options& o) { o.servers = "zk1.,[::1]:2182,10.0.0.1/app"; }) == "none");
}

TEST_CASE("options of TLS that contradict each other")
{
    const auto off = [](auto set) {
        return fault_of([&](client_options& o) {
            o.tls.enabled = false;
            set(o.tls);
        });
    };
    const std::string is_off = "tls.enabled is false, and has to be true where tls.";
    CHECK(off([](tls_options& tls) { tls.ca_file = "a"; }) == is_off + "ca_file is set");
    CHECK(off([](tls_options& tls) { tls.certificate_file = "c"; }) == is_off + "certificate_file is set");
    CHECK(off([](tls_options& tls) { tls.key_file = "k"; }) == is_off + "key_file is set");
    CHECK(off([](tls_options& tls) { tls.key_password = "hush"; }) == is_off + "key_password is set");
    CHECK(off([](tls_options& tls) { tls.context = context(boost::asio::ssl::verify_peer); }) ==
          is_off + "context is set");

    const auto on = [](auto set) { return fault_of([&](client_options& o) { set(o.tls); }); };
    CHECK(on([](tls_options& tls) { tls.key_file = "k"; }) ==
          "tls.certificate_file is empty, and has to be the file with the certificate that tls.key_file is for");
    CHECK(on([](tls_options& tls) { tls.key_password = "hush"; }) ==
          "tls.key_password is a password, and has to be empty where tls.certificate_file is empty");
    CHECK(on([](tls_options& tls) {
              tls.certificate_file = "c";
              tls.key_password = std::string(1'024, 'x');
          }) == "tls.key_password is 1024 bytes, and has to be 1023 bytes at most");
    const auto with_context = [&](auto set) {
        return on([&](tls_options& tls) {
            tls.context = context(boost::asio::ssl::verify_peer);
            set(tls);
        });
    };
    CHECK(with_context([](tls_options& tls) { tls.ca_file = "a"; }) ==
          "tls.ca_file is \"a\", and has to be empty where tls.context is set");
    CHECK(with_context([](tls_options& tls) { tls.certificate_file = "c"; }) ==
          "tls.certificate_file is \"c\", and has to be empty where tls.context is set");
    CHECK(with_context([](tls_options& tls) { tls.key_password = "hush"; }) ==
          "tls.key_password is a password, and has to be empty where tls.context is set");
}

TEST_CASE("a context that verifies nobody, and addresses that are in no certificate, are refused")
{
    CHECK(fault_of([](client_options& o) { o.tls.context = context(boost::asio::ssl::verify_none); }) ==
          "tls.context is verify_none, and has to be one that verifies the servers: call set_verify_mode(verify_peer)");
    auto moved = context(boost::asio::ssl::verify_peer);
    const boost::asio::ssl::context elsewhere(std::move(*moved));
    CHECK(fault_of([&](client_options& o) { o.tls.context = moved; }).starts_with("tls.context is verify_none"));
    const auto scoped = [](client_options& o) { o.servers = "zk1,[fe80::1%lo]:2181/app"; };
    CHECK(fault_of(scoped) ==
          "servers is \"zk1,[fe80::1%lo]:2181/app\", where \"fe80::1%lo\" has a scope id, and has to be without one "
          "where tls.enabled is true: certificates are for no such address");
    CHECK(fault_of([&](client_options& o) {
              scoped(o);
              o.tls.enabled = false;
          }) == "none");
}

TEST_CASE("who shows a certificate has an identity, and can be the creator of nodes")
{
    const auto creator = [](auto set) {
        return fault_of([&](client_options& o) {
            o.access = acl::creator_all;
            set(o);
        });
    };
    CHECK(creator([](client_options& o) { o.tls.certificate_file = "c"; }) == "none");
    CHECK(creator([](client_options& o) { o.tls.context = context(boost::asio::ssl::verify_peer); }) == "none");
    CHECK(creator([](client_options& o) { o.auth = {{"digest", "ann:x"}}; }) == "none");
    CHECK(creator([](client_options& o) { o.tls.ca_file = "a"; }).starts_with("access is acl::creator_all"));
    CHECK(creator([](client_options& o) { o.tls.enabled = false; }).starts_with("access is acl::creator_all"));
}
