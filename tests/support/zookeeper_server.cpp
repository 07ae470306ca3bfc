#include "support/zookeeper_server.hpp"

#include "support/certificate_authority.hpp"
#include "support/failure_report.hpp"
#include "support/four_letter_words.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace zklock::test {
secure_port_options::secure_port_options()
    : key_store(usual_authority().certify().store), trust_store(usual_authority().file())
{
}

zookeeper_server::zookeeper_server(server_options options) : options_(std::move(options)), directory_(options_.parent)
{
    // Somebody outside these tests may take the port between our look and the server's bind.
    constexpr int attempts = 3;
    for (int attempt = 1;; ++attempt) {
        client_port_.emplace();
        write_configuration();
        start();
        try {
            wait_serving();
            return;
        } catch (const std::runtime_error&) {
            if (attempt == attempts || running())
                throw;
        }
    }
}

zookeeper_server::zookeeper_server(server_options options, std::optional<port_lease> client_port, member self)
    : options_(std::move(options)), client_port_(std::move(client_port)), self_(std::move(self)),
      directory_(options_.parent)
{
    write_configuration();
    start();
}

zookeeper_server::~zookeeper_server()
{
    process_.kill();
    report_on_failure("The log of the server on port " + std::to_string(port()) + " ended with:\n" + tail_of(log()));
}

void zookeeper_server::write_configuration()
{
    const auto data = directory_.path() / "data";
    if (options_.secure)
        secure_port_.emplace();
    std::filesystem::create_directories(data);
    std::ofstream file{directory_.path() / "zoo.cfg"};
    file << "dataDir=" << data.string() << '\n'
         << "clientPort=" << port() << '\n'
         << "clientPortAddress=127.0.0.1\n"
         << "tickTime=" << options_.tick_time.count() << '\n'
         << "minSessionTimeout=" << options_.min_session_timeout.count() << '\n'
         << "maxSessionTimeout=" << options_.max_session_timeout.count() << '\n'
         << "maxClientCnxns=0\n"
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=*\n"
         << "forceSync=no\n"; // a killed process loses nothing by it; only a machine would
    if (const auto& secure = options_.secure) {
        file << "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
             << "secureClientPort=" << secure_port() << '\n'
             << "secureClientPortAddress=127.0.0.1\n"
             << "ssl.keyStore.location=" << secure->key_store << '\n'
             << "ssl.trustStore.location=" << secure->trust_store << '\n'
             << "ssl.clientAuth=" << secure->client_auth << '\n';
        if (secure->tls_1_3)
            file << "ssl.protocol=TLSv1.3\n"
                 << "ssl.enabledProtocols=TLSv1.2,TLSv1.3\n"
                 << "ssl.ciphersuites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n";
        else // the default of 3.8, and not that of later ones
            file << "ssl.protocol=TLSv1.2\n"
                 << "ssl.enabledProtocols=TLSv1.2\n";
    }
    if (self_.id != 0) {
        file << "initLimit=20\nsyncLimit=5\n";
        std::ofstream{data / "myid"} << self_.id << '\n';
    }
    for (const auto& line : self_.lines)
        file << line << '\n';
    for (const auto& line : options_.config)
        file << line << '\n';
    if (!file.flush())
        throw std::runtime_error("cannot write the configuration in " + directory_.path().string());
}

void zookeeper_server::start()
{
    // A quick start matters more to tests than the last bit of speed later, hence the first compiler tier only.
    std::vector<std::string> command{
        "java",
        "-Xmx" + options_.heap,
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-Dznode.container.checkIntervalMs=" + std::to_string(options_.container_check_interval.count()),
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
        "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=error"}; // each lost connection
    if (const char* const classes = std::getenv("ZKLOCK_SERVER_CLASSES")) // see support/server_classes.sh
        command.push_back("-XX:SharedArchiveFile=" + std::string(classes));
    command.insert(command.end(), options_.java.begin(), options_.java.end());
    // The first logging library in the path is the one that is used: this one writes to standard error.
    command.insert(command.end(), {"-cp",
                                   "/usr/share/java/slf4j-simple.jar:/usr/share/java/zookeeper.jar:"
                                   "/usr/share/java/*",
                                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"});
    process_ = child_process{std::move(command), directory_.path(), directory_.path() / "log"};
}

void zookeeper_server::wait_serving(milliseconds limit)
{
    bool ended = false;
    wait_until("server on port " + std::to_string(port()) + " serves", limit, [&] {
        ended = !running();
        return ended || (!server_mode(port()).empty() && (!secure_port_ || is_bound(secure_port())));
    });
    if (ended)
        throw std::runtime_error("the server ended at its start:\n" + tail_of(log()));
}

void zookeeper_server::copy_data(const char* from, const char* to) const
{
    std::filesystem::remove_all(directory_.path() / to);
    std::filesystem::copy(directory_.path() / from, directory_.path() / to, std::filesystem::copy_options::recursive);
}

void zookeeper_server::restart()
{
    kill();
    start();
    wait_serving();
}

} // namespace zklock::test
