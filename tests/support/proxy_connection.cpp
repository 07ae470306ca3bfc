#include "support/proxy_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace zklock::test {

namespace {

// In place of the request's number in what the server sends on its own.
constexpr std::int32_t event_xid = -1;
constexpr std::size_t frame_head = 4;
constexpr std::size_t record_head = 5; // kind, version, length

std::size_t index(direction way)
{
    return way == direction::requests ? 0 : 1;
}

bool matches(opcode wanted, opcode op)
{
    if (wanted == opcode::any)
        return op != opcode::ping && op != opcode::connect && op != opcode::watch_event;
    return wanted == op;
}

/// A server's answer to that request if it refuses it with that error.
std::string refused(std::string_view request, std::int32_t code)
{
    constexpr std::int64_t no_zxid = 0;
    const auto xid = wire_reader{request}.int32();
    return wire_writer{}.int32(xid).int64(no_zxid).int32(code).frame();
}

/// Of the TLS record that begins there; 0 if it is not known yet. What is no TLS is taken as it comes.
std::size_t record_length(std::string_view view)
{
    const auto byte = [view](std::size_t i) { return static_cast<unsigned char>(view[i]); };
    constexpr unsigned char first_kind = 20, last_kind = 24;
    if (view.empty())
        return 0;
    if (byte(0) < first_kind || byte(0) > last_kind)
        return view.size();
    const auto length = view.size() < record_head ? 0 : record_head + 256U * byte(3) + byte(4);
    return view.size() < length ? 0 : length;
}

bool starts_with_path(opcode op)
{
    switch (op) {
    case opcode::ping:
    case opcode::auth:
    case opcode::set_watches:
    case opcode::sasl:
    case opcode::multi:
    case opcode::close_session: return false;
    default: return true;
    }
}

} // namespace

proxy_connection::proxy_connection(unique_fd client, unique_fd server, proxy_state& state)
    : state_(state), client_(std::move(client)), server_(std::move(server)),
      requests_{.way = direction::requests, .from = &client_, .to = &server_},
      replies_{.way = direction::replies, .from = &server_, .to = &client_}
{
    if (state.spoken == speech::tls)
        for (auto* l : {&requests_, &replies_})
            l->captured = &state.captured.emplace_back();
}

bool proxy_connection::may_go(const lane& l, const frame& f) const
{
    return !state_.blocked[index(l.way)] && f.due <= steady_clock::now() &&
           (f.held_at == never_held || f.held_at < state_.releases);
}

std::array<std::pair<int, short>, 2> proxy_connection::interest() const
{
    const auto side = [&](const unique_fd& fd, const lane& in, const lane& out) {
        short events = 0;
        if (!in.ended)
            events |= POLLIN;
        if (out.full && !out.frames.empty() && may_go(out, out.frames.front()))
            events |= POLLOUT;
        return std::pair{events != 0 ? fd.get() : -1, events}; // an ended side would report its end for ever
    };
    return {side(client_, requests_, replies_), side(server_, replies_, requests_)};
}

steady_clock::time_point proxy_connection::next_due() const
{
    auto first = steady_clock::time_point::max();
    for (const auto* l : {&requests_, &replies_})
        if (!l->frames.empty() && !l->full && l->frames.front().due > steady_clock::now())
            first = std::min(first, l->frames.front().due);
    return first;
}

void proxy_connection::turn()
{
    for (auto* l : {&requests_, &replies_}) {
        read(*l);
        parse(*l);
    }
    for (auto* l : {&requests_, &replies_})
        write(*l);
}

void proxy_connection::read(lane& l)
{
    char buffer[64 * 1024];
    while (!l.ended) {
        const auto got = ::recv(l.from->get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got > 0) {
            l.input.append(buffer, static_cast<std::size_t>(got));
            if (l.captured)
                l.captured->append(buffer, static_cast<std::size_t>(got));
        } else if (got < 0 && (errno == EAGAIN || errno == ENOTCONN))
            return;
        else if (got == 0 || errno != EINTR)
            l.ended = true;
    }
}

void proxy_connection::parse_tls(lane& l)
{
    while (const auto length = cutting_ ? 0 : record_length(l.input)) {
        pass(l, l.input.substr(0, length));
        l.input.erase(0, length);
    }
}

void proxy_connection::parse(lane& l)
{
    if (state_.spoken == speech::tls)
        return parse_tls(l);
    std::size_t at = 0;
    while (!cutting_ && l.input.size() - at >= frame_head) {
        const auto view = std::string_view{l.input}.substr(at);
        const auto length = static_cast<std::size_t>(wire_reader{view}.int32()) + frame_head;
        if (view.size() < length)
            break;
        pass(l, std::string(view.substr(0, length)));
        at += length;
    }
    l.input.erase(0, at);
}

void proxy_connection::pass(lane& l, std::string bytes)
{
    const auto body = std::string_view{bytes}.substr(std::min(bytes.size(), frame_head));
    const bool request = l.way == direction::requests;
    const auto op = read_frame(l, body);
    frame f{.bytes = std::move(bytes), .due = steady_clock::now() + state_.delays[index(l.way)]};

    if (const auto rule = strike(op, request ? moment::request : moment::reply)) {
        switch (rule->what) {
        case fate::cut:
            f.bytes.clear();
            f.cut_after = cutting_ = true;
            break;
        case fate::hold: f.held_at = state_.releases; break;
        case fate::drop:
            if (request && !unanswered_.empty())
                unanswered_.pop_back();
            return;
        case fate::refuse:
            unanswered_.pop_back();
            replies_.frames.push_back({.bytes = refused(body, rule->code), .due = f.due});
            return;
        }
    } else if (!request && strike(op, moment::delivered)) {
        f.cut_after = cutting_ = true;
    }
    l.frames.push_back(std::move(f));
}

std::optional<proxy_rule> proxy_connection::strike(opcode op, moment at)
{
    const auto rule = std::find_if(state_.rules.begin(), state_.rules.end(),
                                   [&](const proxy_rule& r) { return r.at == at && matches(r.op, op); });
    if (rule == state_.rules.end())
        return std::nullopt;
    if (rule->skip > 0) {
        --rule->skip;
        return std::nullopt;
    }
    const auto struck = *rule;
    state_.rules.erase(rule);
    return struck;
}

opcode proxy_connection::read_frame(const lane& l, std::string_view body)
{
    const bool request = l.way == direction::requests;
    if (state_.spoken == speech::zookeeper)
        return request ? read_request(body) : read_reply(body);
    if (request)
        state_.history.push_back({.op = opcode::tls_record, .path = {}});
    return opcode::tls_record;
}

opcode proxy_connection::read_request(std::string_view body)
{
    if (!connect_requested_) {
        connect_requested_ = true;
        state_.history.push_back({.op = opcode::connect, .path = {}});
        return opcode::connect;
    }
    wire_reader in{body};
    const auto xid = in.int32();
    const auto op = static_cast<opcode>(in.int32());
    unanswered_.emplace_back(xid, op);
    state_.history.push_back({.op = op, .path = starts_with_path(op) ? std::string(in.text()) : std::string()});
    if (op == opcode::multi)
        record_multi(in);
    return op;
}

void proxy_connection::record_multi(wire_reader& in)
{
    for (;;) {
        const auto op = static_cast<opcode>(in.int32());
        const bool last = in.boolean();
        in.int32();
        if (last)
            return;
        state_.history.push_back({.op = op, .path = std::string(in.text()), .in_multi = true});
        switch (op) {
        case opcode::set_data:
            in.text();
            in.int32();
            break;
        case opcode::remove:
        case opcode::check: in.int32(); break;
        default: // a create of some kind
            in.text();
            for (auto rules = in.int32(); rules > 0; --rules) {
                in.int32();
                in.text();
                in.text();
            }
            in.int32();
        }
    }
}

opcode proxy_connection::read_reply(std::string_view body)
{
    wire_reader in{body};
    if (!connect_answered_) {
        connect_answered_ = true;
        record_session(in);
        return opcode::connect;
    }
    const auto xid = in.int32();
    if (xid == event_xid)
        return opcode::watch_event;
    const auto asked = std::find_if(unanswered_.begin(), unanswered_.end(), [&](auto& u) { return u.first == xid; });
    if (asked == unanswered_.end())
        return opcode::notification;
    const auto op = asked->second;
    unanswered_.erase(asked);
    return op;
}

void proxy_connection::record_session(wire_reader& in)
{
    in.int32();
    if (in.int32() <= 0)
        return; // the session it asked for has expired
    session_credentials session;
    session.id = in.int64();
    session.password = in.text();
    auto known =
        std::find_if(state_.sessions.begin(), state_.sessions.end(), [&](const auto& s) { return s.id == session.id; });
    if (known == state_.sessions.end())
        state_.sessions.push_back(std::move(session));
    else
        known->password = session.password;
}

void proxy_connection::write(lane& l)
{
    l.full = false;
    while (!over_ && !l.frames.empty() && may_go(l, l.frames.front())) {
        auto& f = l.frames.front();
        while (l.written < f.bytes.size()) {
            const auto sent = ::send(l.to->get(), f.bytes.data() + l.written, f.bytes.size() - l.written,
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent >= 0) {
                l.written += static_cast<std::size_t>(sent);
            } else if (errno == EAGAIN || errno == ENOTCONN) {
                l.full = true;
                return;
            } else if (errno != EINTR) {
                l.written = f.bytes.size(); // that side is gone: what is meant for it has nowhere to go
            }
        }
        if (f.cut_after)
            over_ = true;
        l.written = 0;
        l.frames.pop_front();
    }
    if (l.ended && l.frames.empty() && !l.closed && !state_.blocked[index(l.way)]) {
        l.closed = true;
        ::shutdown(l.to->get(), SHUT_WR);
    }
}

} // namespace zklock::test
