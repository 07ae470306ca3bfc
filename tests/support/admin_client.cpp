#include "support/admin_client.hpp"

#include <algorithm>

namespace zklock::test {

namespace {

constexpr std::int32_t no_node = -101, node_exists = -110, session_expired = -112;
constexpr std::int32_t ping_xid = -2, auth_xid = -4;
constexpr std::size_t password_size = 16;

stat read_stat(wire_reader& in)
{
    stat s;
    s.czxid = in.int64();
    s.mzxid = in.int64();
    s.ctime = in.int64();
    s.mtime = in.int64();
    s.version = in.int32();
    s.cversion = in.int32();
    s.aversion = in.int32();
    s.ephemeral_owner = in.int64();
    s.data_length = in.int32();
    s.num_children = in.int32();
    s.pzxid = in.int64();
    return s;
}

void write_rules(wire_writer& out, const std::vector<access_rule>& rules)
{
    out.int32(static_cast<std::int32_t>(rules.size()));
    for (const auto& rule : rules)
        out.int32(rule.permissions).text(rule.scheme).text(rule.id);
}

std::string receive_frame(tcp_socket& socket)
{
    const auto length = wire_reader{socket.receive(4)}.int32();
    return socket.receive(static_cast<std::size_t>(length));
}

} // namespace

admin_client::admin_client(std::uint16_t port, milliseconds session_timeout, session_credentials session)
    : port_(port), timeout_(session_timeout), session_(std::move(session))
{
    const bool takes_over = session_.id != 0;
    connect();
    if (takes_over && session_.id == 0)
        throw zookeeper_error(session_expired, "take over a session");
}

admin_client::~admin_client()
{
    try { // not around the whole function: its handler would throw on
        close();
    } catch (const std::exception&) {
        // The server is gone, or gave the session up: there is nobody left to tell.
    }
}

void admin_client::connect()
{
    socket_ = tcp_socket{port_, default_limit};
    const auto password = session_.id != 0 ? session_.password : std::string(password_size, '\0');
    wire_writer request;
    request.int32(0).int64(0).int32(static_cast<std::int32_t>(timeout_.count())).int64(session_.id).text(password);
    request.boolean(false);
    socket_.send(request.frame());

    const auto reply = receive_frame(socket_);
    wire_reader in{reply};
    in.int32();
    const auto negotiated = in.int32();
    session_ = {};
    if (negotiated <= 0) { // that session has expired
        socket_.close();
        return;
    }
    timeout_ = milliseconds{negotiated};
    session_.id = in.int64();
    session_.password = in.text();
    last_answer_ = steady_clock::now();
}

void admin_client::ready()
{
    if (socket_ && steady_clock::now() - last_answer_ < timeout_ / 2)
        return;
    connect();
    if (!socket_)
        connect();
    for (const auto& [scheme, secret] : identities_)
        call(opcode::auth, wire_writer{}.int32(0).text(scheme).text(secret), "auth", auth_xid);
}

std::string admin_client::call(opcode op, wire_writer body, std::string_view what, std::int32_t xid)
{
    if (xid == 0) {
        ready();
        xid = ++last_xid_;
    }
    try {
        wire_writer head;
        head.int32(xid).int32(static_cast<std::int32_t>(op));
        socket_.send((head << body).frame());
        for (;;) {
            const auto frame = receive_frame(socket_);
            wire_reader in{frame};
            if (in.int32() != xid)
                continue;
            in.int64();
            last_answer_ = steady_clock::now();
            if (const auto error = in.int32(); error != 0)
                throw zookeeper_error(error, std::string(what));
            return std::string(in.rest());
        }
    } catch (const zookeeper_error&) {
        throw;
    } catch (const std::exception&) {
        socket_.close(); // the next call connects again
        throw;
    }
}

std::string admin_client::create(std::string_view path, std::string_view data, create_mode mode,
                                 const std::vector<access_rule>& rules)
{
    wire_writer body;
    body.text(path).text(data);
    write_rules(body, rules);
    body.int32(static_cast<std::int32_t>(mode));
    const auto op = mode == create_mode::container ? opcode::create_container : opcode::create;
    const auto reply = call(op, std::move(body), "create " + std::string(path));
    return std::string(wire_reader{reply}.text());
}

void admin_client::create_all(const std::string& path)
{
    for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
        try {
            create(std::string_view{path}.substr(0, end));
        } catch (const zookeeper_error& e) {
            if (e.code() != node_exists)
                throw;
        }
        if (end == std::string::npos)
            return;
    }
}

bool admin_client::remove(std::string_view path, std::int32_t version)
try {
    call(opcode::remove, wire_writer{}.text(path).int32(version), "delete " + std::string(path));
    return true;
} catch (const zookeeper_error& e) {
    if (e.code() != no_node)
        throw;
    return false;
}

void admin_client::remove_all(const std::string& path)
{
    for (const auto& name : children(path))
        remove_all(path + "/" + name);
    remove(path);
}

std::optional<stat> admin_client::exists(std::string_view path)
try {
    const auto reply = call(opcode::exists, wire_writer{}.text(path).boolean(false), "exists " + std::string(path));
    wire_reader in{reply};
    return read_stat(in);
} catch (const zookeeper_error& e) {
    if (e.code() != no_node)
        throw;
    return std::nullopt;
}

std::string admin_client::get(std::string_view path)
{
    const auto reply = call(opcode::get_data, wire_writer{}.text(path).boolean(false), "get " + std::string(path));
    return std::string(wire_reader{reply}.text());
}

void admin_client::set(std::string_view path, std::string_view data, std::int32_t version)
{
    call(opcode::set_data, wire_writer{}.text(path).text(data).int32(version), "set " + std::string(path));
}

void admin_client::set_access(std::string_view path, const std::vector<access_rule>& rules)
{
    wire_writer body;
    body.text(path);
    write_rules(body, rules);
    call(opcode::set_acl, std::move(body.int32(-1)), "set ACL " + std::string(path));
}

std::vector<std::string> admin_client::children(std::string_view path)
try {
    const auto reply =
        call(opcode::get_children, wire_writer{}.text(path).boolean(false), "children " + std::string(path));
    wire_reader in{reply};
    std::vector<std::string> names(static_cast<std::size_t>(std::max(in.int32(), 0)));
    for (auto& name : names)
        name = in.text();
    std::sort(names.begin(), names.end());
    return names;
} catch (const zookeeper_error& e) {
    if (e.code() != no_node)
        throw;
    return {};
}

void admin_client::sync(std::string_view path)
{
    call(opcode::sync, wire_writer{}.text(path), "sync " + std::string(path));
}

void admin_client::authenticate(std::string_view scheme, std::string_view secret)
{
    ready();
    call(opcode::auth, wire_writer{}.int32(0).text(scheme).text(secret), "auth", auth_xid);
    identities_.emplace_back(scheme, secret);
}

void admin_client::keep_alive()
{
    ready();
    call(opcode::ping, {}, "ping", ping_xid);
}

void admin_client::close()
{
    if (!socket_)
        return;
    call(opcode::close_session, {}, "close the session");
    socket_.close();
    session_ = {};
}

void close_session(std::uint16_t port, const session_credentials& session)
{
    admin_client{port, default_limit, session}.close();
}

} // namespace zklock::test
