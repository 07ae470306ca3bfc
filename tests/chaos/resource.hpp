#pragma once
#include "chaos/history.hpp"
#include "support/io_thread.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace zklock::chaos {

/// What the locks protect: it takes writes over a Unix socket, refuses one whose token is smaller than the largest it
/// has seen for the path, and keeps a record of both. One request per line, `process operation path token sent
/// stopped`; the answer is `1` or `0`.
class resource {
public:
    explicit resource(const std::filesystem::path& socket);
    ~resource() { thread_.stop(); }
    resource(const resource&) = delete;
    resource& operator=(const resource&) = delete;

    /// The largest token that has written there; 0 if none has.
    [[nodiscard]] std::int64_t largest_token(const std::string& path);
    /// How many writes were refused of processes that had stopped themselves before.
    [[nodiscard]] std::size_t refused_after_stop();

    /// Ends it, and gives what was written, in that order.
    [[nodiscard]] std::vector<write_record> stop();

private:
    using protocol = boost::asio::local::stream_protocol;

    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> serve(protocol::socket client);
    bool write(const std::string& request);

    test::io_thread thread_;
    protocol::acceptor acceptor_;
    std::map<std::string, std::int64_t> largest_;
    std::vector<write_record> writes_;
};

} // namespace zklock::chaos
