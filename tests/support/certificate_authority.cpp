#include "support/certificate_authority.hpp"

#include "support/child_process.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace zklock::test {

namespace {

    std::string content(const std::filesystem::path& path)
    {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void write(const std::filesystem::path& path, const std::string& text)
    {
        std::ofstream file(path);
        file << text;
        if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
    }

} // namespace

certificate_authority::certificate_authority(const std::string& name)
{
    // `openssl ca` is the only command of all versions that makes a certificate of the past.
    write(directory_.path() / "ca.cnf",
          "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n"
          "policy=any\nunique_subject=no\ncopy_extensions=copy\ncertificate=ca.pem\nprivate_key=ca.key\n"
          "[any]\ncommonName=supplied\n");
    write(directory_.path() / "index", "");
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
             "-out", "ca.pem", "-days", "2", "-subj", "/CN=" + name, "-addext", "basicConstraints=critical,CA:TRUE",
             "-addext", "keyUsage=critical,keyCertSign"});
}

std::string certificate_authority::file() const
{
    return directory_.path() / "ca.pem";
}

certified certificate_authority::certify(const certificate_wish& wish)
{
    const std::string number = std::to_string(count_++);
    const certified made{.certificate = directory_.path() / (number + ".pem"),
                         .key = directory_.path() / (number + ".key"),
                         .store = directory_.path() / (number + "-store.pem")};
    std::vector<std::string> request{"req",       "-newkey", "ec",   "-pkeyopt", "ec_paramgen_curve:P-256",
                                     "-keyout",   made.key,  "-out", "request",  "-subj",
                                     "/CN=" + wish.common_name};
    if (wish.key_password.empty()) request.emplace_back("-nodes");
    else request.insert(request.end(), {"-passout", "pass:" + wish.key_password});
    std::string names;
    for (const auto& name : wish.names) names += (names.empty() ? "subjectAltName=" : ",") + name;
    if (!names.empty()) request.insert(request.end(), {"-addext", names});
    openssl(std::move(request));

    std::vector<std::string> signing{"ca", "-batch", "-notext", "-config", "ca.cnf", "-in", "request", "-out",
                                     made.certificate};
    if (wish.expired) signing.insert(signing.end(), {"-startdate", "20200101000000Z", "-enddate", "20200102000000Z"});
    else signing.insert(signing.end(), {"-days", "2"});
    openssl(std::move(signing));
    write(made.store, content(made.key) + content(made.certificate));
    return made;
}

void certificate_authority::openssl(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "openssl");
    const auto log = directory_.path() / "log";
    if (child_process(std::move(arguments), directory_.path(), log).wait() != 0)
        throw std::runtime_error("openssl failed:\n" + content(log));
}

certificate_authority& usual_authority()
{
    static certificate_authority one;
    return one;
}

} // namespace zklock::test
