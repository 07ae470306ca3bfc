#include "support/kerberos_realm.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace zklock::test {
namespace {

// They are not in everybody's PATH.
constexpr const char* kdc_program = "/usr/sbin/krb5kdc";
constexpr const char* database_program = "/usr/sbin/kdb5_util";
constexpr const char* administration_program = "/usr/sbin/kadmin.local";
constexpr const char* ticket_program = "/usr/bin/kinit";
constexpr const char* list_program = "/usr/bin/klist";

} // namespace

bool kerberos_realm::installed()
{
    if (::getenv("ZKLOCK_TESTS_WITHOUT_KDC"))
        return false;
    for (const char* const program :
         {kdc_program, database_program, administration_program, ticket_program, list_program})
        if (!std::filesystem::exists(program))
            return false;
    return true;
}

kerberos_realm::kerberos_realm()
{
    const auto here = [this](const char* name) { return (directory_.path() / name).string(); };
    const auto address = "127.0.0.1:" + std::to_string(port());
    std::ofstream{configuration()} << "[libdefaults]\n"
                                      "default_realm=ZK.TEST\n"
                                      "dns_lookup_kdc=false\n"
                                      "dns_lookup_realm=false\n"
                                      "dns_canonicalize_hostname=false\n"
                                      "rdns=false\n"
                                      "udp_preference_limit=1\n"
                                      "[realms]\n"
                                      "ZK.TEST={\n kdc="
                                   << address << "\n}\n"
                                   << "[domain_realm]\n"
                                      "localhost=ZK.TEST\n"
                                      "127.0.0.1=ZK.TEST\n"
                                      "[logging]\n"
                                      "kdc=FILE:"
                                   << here("kdc.log") << '\n';
    std::ofstream{here("kdc.conf")} << "[kdcdefaults]\n"
                                    << "kdc_listen=" << address << "\nkdc_tcp_listen=" << address
                                    << "\n[realms]\n"
                                       "ZK.TEST={\n"
                                    << " database_name=" << here("database") << "\n key_stash_file=" << here("stash")
                                    << "\n acl_file=" << here("acl")
                                    << "\n supported_enctypes=aes256-cts-hmac-sha1-96:normal "
                                       "aes128-cts-hmac-sha1-96:normal\n}\n";
    ::setenv("KRB5_CONFIG", configuration().c_str(), 1);
    ::setenv("KRB5_KDC_PROFILE", here("kdc.conf").c_str(), 1);
    ::setenv("KRB5CCNAME", default_cache().c_str(), 1);
    ::setenv("KRB5_KTNAME", here("keytab").c_str(), 1);
    ::setenv("KRB5_CLIENT_KTNAME", here("client.keytab").c_str(), 1);
    run({database_program, "create", "-s", "-r", "ZK.TEST", "-P", "x"});
    start();
}

void kerberos_realm::run(std::vector<std::string> command)
{
    const auto log = directory_.path() / "log";
    const auto name = command.front();
    child_process program{std::move(command), directory_.path(), log};
    if (program.wait() != 0) {
        std::ifstream said{log};
        throw std::runtime_error(name + " has failed: " +
                                 std::string{std::istreambuf_iterator<char>{said}, std::istreambuf_iterator<char>{}});
    }
}

void kerberos_realm::administrate(const std::string& query)
{
    run({administration_program, "-r", "ZK.TEST", "-q", query});
}

std::filesystem::path kerberos_realm::file(const std::string& kind)
{
    return directory_.path() / (kind + std::to_string(++files_));
}

std::string kerberos_realm::keytab(const std::string& principal)
{
    const auto made = file("keytab");
    administrate("addprinc -randkey " + principal); // it complains, and succeeds, if that is there
    administrate("ktadd -norandkey -k " + made.string() + ' ' + principal);
    if (!std::filesystem::exists(made))
        throw std::runtime_error("no keytab of " + principal);
    return made.string();
}

std::string kerberos_realm::tickets(const std::string& principal, const std::string& lifetime)
{
    const auto made = file("cache").string();
    run({ticket_program, "-k", "-t", keytab(principal), "-c", made, "-l", lifetime, principal});
    return made;
}

bool kerberos_realm::is_valid(const std::string& cache)
{
    child_process program{{list_program, "-s", "-c", cache}, directory_.path(), directory_.path() / "log"};
    return program.wait() == 0;
}

void kerberos_realm::start()
{
    kdc_ = child_process{{kdc_program, "-n", "-r", "ZK.TEST", "-P", (directory_.path() / "pid").string()},
                         directory_.path(),
                         directory_.path() / "log"};
    wait_until("the KDC listens", default_limit, [&] {
        if (!kdc_.running())
            throw std::runtime_error("the KDC has ended");
        return is_bound(port());
    });
}

} // namespace zklock::test
