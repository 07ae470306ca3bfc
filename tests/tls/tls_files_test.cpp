// What is read from files: authorities, certificate and key; what is read again, and what stays in use.
#include "tls/tls_scene.hpp"

#include <openssl/pem.h>

#include <cstdlib>

using namespace zklock::test;
using bridge::load_tls;

namespace {

/// A variable of the environment, as long as this lives.
class environment_variable {
public:
    environment_variable(const char* name, const std::string& value) : name_(name)
    {
        if (const char* const before = std::getenv(name))
            before_ = before;
        ::setenv(name, value.c_str(), 1);
    }
    ~environment_variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

private:
    const char* const name_;
    std::optional<std::string> before_;
};

/// By which OpenSSL finds the certificate in a folder.
std::string hashed_name(const std::string& certificate)
{
    const bridge::owned_bio from(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
    const bridge::owned_certificate read(PEM_read_bio_X509(from.get(), nullptr, nullptr, nullptr));
    char name[16];
    std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(read.get()));
    return name;
}

identity named(const authority& root, const std::string& common_name)
{
    return root.issue(with(&certificate_request::common_name, common_name));
}

/// Whom a server sees.
std::string seen(const tls_scene& s, const std::shared_ptr<const bridge::tls_context>& context)
{
    tls_engine client(context, {"zk1", false});
    server_end server(s.asking_server());
    exchange(client, server);
    return server.client_name();
}

} // namespace

TEST_CASE("a file of authorities: all in it are trusted, and no other")
{
    tls_scene s;
    const authority other("other");
    server_settings others;
    others.own = other.issue(with(&certificate_request::names, {"DNS:zk1"}));
    CHECK(outcome(s.load(), others) != "open");
    s.options.ca_file = s.write("two.pem", "a comment\n" + s.root.certificate() + "\n" + other.certificate());
    CHECK(outcome(s.load(), others) == "open");
    CHECK(outcome(s.load(), s.server_named("DNS:zk1")) == "open");

    // The environment says nothing to one who names a file.
    const environment_variable file("SSL_CERT_FILE", s.write("system.pem", other.certificate()));
    s.options.ca_file = s.path("ca.pem");
    CHECK(outcome(s.load(), others) != "open");
}

TEST_CASE("files of authorities that cannot be used")
{
    tls_scene s;
    const auto why = [&](const std::string& file) {
        s.options.ca_file = file;
        return s.refusal();
    };
    CHECK(why(s.path("nothing")) == "tls.ca_file: " + s.path("nothing") + " cannot be read: No such file or directory");
    CHECK(why(s.folder.path()) ==
          "tls.ca_file: " + s.folder.path().string() + " cannot be read: it is not a regular file");
    const std::string none = s.write("none.pem", "nothing of that kind\n");
    CHECK(why(none) == "tls.ca_file: in " + none + " is no certificate in the form of PEM");
    CHECK(why(s.write("empty.pem", "")) ==
          "tls.ca_file: in " + s.path("empty.pem") + " is no certificate in the form of PEM");
    const std::string whole = s.root.certificate();
    CHECK(why(s.write("half.pem", whole + whole.substr(0, whole.size() / 2)))
              .starts_with("tls.ca_file: a certificate in " + s.path("half.pem") + " cannot be read: "));
    std::string changed = whole;
    changed[whole.size() / 2] = '!';
    CHECK(why(s.write("changed.pem", changed)).starts_with("tls.ca_file: a certificate in "));
    CHECK(why(s.write("large.pem", std::string(16 * 1024 * 1024 + 1, '\n'))).ends_with("larger than 16 MiB"));
    REQUIRE(::mkfifo(s.path("pipe").c_str(), 0600) == 0);
    CHECK(why(s.path("pipe")).ends_with("it is not a regular file"));
    CHECK(ERR_peek_error() == 0);
}

TEST_CASE("the system's authorities: its file, its folder, or those that the environment names")
{
    tls_scene s;
    s.options.ca_file.clear();
    const std::string folder = s.path("folder");
    REQUIRE(std::filesystem::create_directory(folder));
    {
        const environment_variable file("SSL_CERT_FILE", s.path("nothing")), in("SSL_CERT_DIR", folder);
        CHECK(s.refusal() == "tls.ca_file is empty, and the system has no certificates of authorities, neither in " +
                                 s.path("nothing") + " nor in " + folder);
        s.write("folder/other-name.pem", s.root.certificate());
        CHECK(s.refusal().starts_with("tls.ca_file is empty, and the system has no certificates"));
        const std::string hashed = s.write("folder/" + hashed_name(s.root.certificate()), s.root.certificate());
        s.age(folder);
        const auto context = s.load();
        CHECK(outcome(context, s.server_named("DNS:zk1")) == "open");
        CHECK(load_tls(s.options, context).context == context);
        std::filesystem::remove(hashed); // what was read is not looked for again
        CHECK(outcome(context, s.server_named("DNS:zk1")) == "open");
        const auto without = load_tls(s.options, context);
        CHECK(without.context == context);
        CHECK(without.why.starts_with("tls.ca_file is empty, and the system has no certificates"));
    }
    s.age(folder);
    const environment_variable file("SSL_CERT_FILE", s.path("ca.pem")),
        in("SSL_CERT_DIR", ":" + s.path("nothing") + ":" + folder);
    const auto context = s.load();
    CHECK(outcome(context, s.server_named("DNS:zk1")) == "open");
    CHECK(load_tls(s.options, context).context == context);

    // Whom they do not know: most often the authority is the users' own, and its file was forgotten.
    const authority own("own");
    server_settings of_own;
    of_own.own = own.issue(with(&certificate_request::names, {"DNS:zk1"}));
    const std::string hint = " (tls.ca_file is empty: only the system's authorities are trusted)";
    CHECK(outcome(context, of_own).ends_with(hint));
    of_own.own.certificate += own.certificate(); // which is no reason to trust it
    CHECK(outcome(context, of_own).ends_with(hint));
    CHECK(outcome(context, s.server_named("DNS:zk2")).find("tls.ca_file") == std::string::npos);
    s.write("folder/12345678.0", authority("more").certificate());
    CHECK(load_tls(s.options, context).context != context);
    s.write("folder/12345678.0", "spoilt"); // is left out
    CHECK(outcome(s.load(), s.server_named("DNS:zk1")) == "open");
}

TEST_CASE("certificate and key: in two files or one, the key encrypted or not")
{
    tls_scene s;
    for (const char* type : {"P-256", "RSA"}) {
        CAPTURE(type);
        certificate_request r;
        r.common_name = "shop";
        r.key_type = type;
        const identity own = s.root.issue(r);
        s.options = {};
        s.options.ca_file = s.path("ca.pem");
        s.show(own);
        CHECK(seen(s, s.load()) == "CN=shop");
        s.options.key_file.clear();
        s.options.certificate_file = s.write("both.pem", own.key + own.certificate);
        CHECK(seen(s, s.load()) == "CN=shop");
        s.options.certificate_file = s.write("both.pem", own.certificate + own.key);
        CHECK(seen(s, s.load()) == "CN=shop");
        s.options.key_password = "not needed";
        CHECK(seen(s, s.load()) == "CN=shop");

        for (const std::string& password : {std::string("a b\tc"), std::string(1'023, 'x')}) {
            s.options.key_file = s.write("encrypted.key", encrypted(own.key, password));
            s.options.key_password = password;
            CHECK(seen(s, s.load()) == "CN=shop");
            s.options.key_password = "wrong";
            const std::string wrong = s.refusal();
            CHECK(
                wrong.starts_with("the key in " + s.options.key_file + " cannot be decrypted with tls.key_password: "));
            CHECK(wrong.find("wrong") == wrong.npos);
            s.options.key_password.clear();
            CHECK(s.refusal() == "the key in " + s.options.key_file + " is encrypted, and tls.key_password is empty");
        }
    }
}

TEST_CASE("certificates and keys that cannot be used")
{
    tls_scene s;
    const identity own = named(s.root, "shop"), other = named(s.root, "other");
    s.show(own);
    s.options.certificate_file = s.path("nothing");
    CHECK(s.refusal() == "tls.certificate_file: " + s.path("nothing") + " cannot be read: No such file or directory");
    s.options.certificate_file = s.write("a.pem", "spoilt");
    CHECK(s.refusal().starts_with("tls.certificate_file: no certificate in " + s.path("a.pem") + " that can be used"));
    s.options.certificate_file = s.write("a.pem", own.certificate + other.certificate.substr(0, 200));
    CHECK(s.refusal().starts_with("tls.certificate_file: no certificate in " + s.path("a.pem") + " that can be used"));

    s.show(own);
    s.options.key_file = s.path("nothing");
    CHECK(s.refusal() == "tls.key_file: " + s.path("nothing") + " cannot be read: No such file or directory");
    s.options.key_file = s.write("a.key", "spoilt");
    CHECK(s.refusal().starts_with("no key in the form of PEM can be read from " + s.path("a.key") + ": "));
    s.options.key_file.clear();
    CHECK(s.refusal().starts_with("tls.key_file is empty, and no key in the form of PEM can be read from " +
                                  s.path("client.pem") + ": "));
    const auto mismatch = [&](const identity& key) {
        s.options.key_file = s.write("a.key", key.key);
        CHECK(s.refusal() ==
              "the key in " + s.path("a.key") + " is not that of the certificate in " + s.path("client.pem"));
    };
    mismatch(other);
    mismatch(s.root.issue(with(&certificate_request::key_type, "RSA")));
    CHECK(ERR_peek_error() == 0);
}

TEST_CASE("what has not changed is not read again")
{
    tls_scene s;
    s.show(named(s.root, "shop"));
    const auto first = s.load();
    const auto again = load_tls(s.options, first);
    CHECK(again.context == first);
    CHECK(again.why.empty());

    const auto reads_again = [&](const char* name) {
        const auto before = s.load();
        CHECK(load_tls(s.options, before).context == before);
        std::ofstream(s.path(name), std::ios::app) << '\n';
        s.age(s.path(name));
        const auto after = load_tls(s.options, before);
        CHECK(after.context);
        CHECK(after.context != before);
        CHECK(after.why.empty());
        CHECK(load_tls(s.options, after.context).context == after.context);
    };
    reads_again("ca.pem");
    reads_again("client.pem");
    reads_again("client.key");

    // Replaced by a file of the same size and time, as renaming does.
    const auto before = s.load();
    const auto time = std::filesystem::last_write_time(s.path("ca.pem"));
    std::filesystem::copy_file(s.path("ca.pem"), s.path("new.pem"));
    std::filesystem::last_write_time(s.path("new.pem"), time);
    std::filesystem::rename(s.path("new.pem"), s.path("ca.pem"));
    CHECK(load_tls(s.options, before).context != before);

    // Written just now: it may be written once more without a trace.
    std::ofstream(s.path("ca.pem"), std::ios::app) << '\n';
    const auto recent = s.load();
    CHECK(load_tls(s.options, recent).context != recent);
}

TEST_CASE("a renewal: the old pair stays in use until the new one is complete")
{
    tls_scene s;
    s.show(named(s.root, "old"));
    const auto old = s.load();
    CHECK(seen(s, old) == "CN=old");

    const identity renewed = named(s.root, "new");
    s.write("client.pem", renewed.certificate);
    const auto half = load_tls(s.options, old);
    CHECK(half.context == old);
    CHECK(half.why ==
          "the key in " + s.path("client.key") + " is not that of the certificate in " + s.path("client.pem"));
    CHECK(load_tls(s.options, half.context).context == old);

    // Nor is anything else that goes wrong meanwhile the end of it.
    for (const char* name : {"client.key", "client.pem", "ca.pem"}) {
        const std::string at = s.path(name);
        std::filesystem::rename(at, at + ".away");
        const auto missing = load_tls(s.options, old);
        CHECK(missing.context == old);
        CHECK(missing.why.find(at) != std::string::npos);
        s.write(name, "spoilt");
        const auto spoilt = load_tls(s.options, old);
        CHECK(spoilt.context == old);
        CHECK(spoilt.why.find(at) != std::string::npos);
        std::filesystem::rename(at + ".away", at);
    }

    s.write("client.key", renewed.key);
    const auto complete = load_tls(s.options, half.context);
    CHECK(complete.context != old);
    CHECK(complete.why.empty());
    CHECK(seen(s, complete.context) == "CN=new");
    CHECK(seen(s, old) == "CN=old"); // who has it goes on with it
}

TEST_CASE("an authority that is taken away is no longer trusted at the next connect")
{
    tls_scene s;
    s.options.ca_file = s.write("ca.pem", s.root.certificate() + authority("other").certificate());
    const auto both = s.load();
    CHECK(outcome(both, s.server_named("DNS:zk1")) == "open");
    s.write("ca.pem", authority("other").certificate());
    const auto one = load_tls(s.options, both);
    CHECK(one.why.empty());
    CHECK(outcome(one.context, s.server_named("DNS:zk1")).starts_with("certificate verify failed"));
}
