#include "zklock/metrics.hpp"

#include <boost/locale/utf.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zklock {
namespace {

/// How long the UTF-8 character is that a text begins with: 0 if it begins with none.
std::size_t length_of_character(std::string_view text)
{
    namespace utf = boost::locale::utf;
    auto end = text.begin();
    const auto character = utf::utf_traits<char>::decode(end, text.end());
    return utf::is_valid_codepoint(character) ? static_cast<std::size_t>(end - text.begin()) : 0;
}

std::string escaped(std::string_view value)
{
    std::string text;
    while (!value.empty()) {
        const std::size_t length = length_of_character(value);
        switch (value.front()) {
        case '\\': text += "\\\\"; break;
        case '"': text += "\\\""; break;
        case '\n': text += "\\n"; break;
        default:
            if (length == 0)
                text += '?';
            else
                text += value.substr(0, length);
        }
        value.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return text;
}

std::string label_name(std::string_view name)
{
    std::string accepted(name.empty() ? "_" : name);
    for (std::size_t i = 0; i < accepted.size(); ++i) {
        const char c = accepted[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (is_digit && i != 0)))
            accepted[i] = '_';
    }
    return accepted;
}

std::string in_seconds(std::chrono::nanoseconds time)
{
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(time.count()) / 1e9);
    return {text.data(), end.ptr};
}

using label = std::pair<std::string_view, std::string_view>;

/// What is written of one family of metrics after the other, each of all clients.
class prometheus_page {
public:
    explicit prometheus_page(std::span<const metrics> clients) : clients_(clients)
    {
        for (const metrics& m : clients)
            labels_.push_back(labels_of(m));
    }

    /// What `read`, a member or a function, says of each client: a sample of a number, or a histogram.
    template <class Read>
    void of_clients(std::string_view name, std::string_view type, std::string_view help, Read read)
    {
        begin(name, type, help);
        for_clients([&](const metrics& m) { write(m, nullptr, std::invoke(read, m)); });
    }
    /// The same of each name of the locks.
    template <class Read> void of_locks(std::string_view name, std::string_view type, std::string_view help, Read read)
    {
        begin(name, type, help);
        for_locks([&](const metrics& m, const lock_metrics& l) { write(m, &l, std::invoke(read, l)); });
    }

    void begin(std::string_view name, std::string_view type, std::string_view help)
    {
        name_ = name;
        for (const auto part :
             {std::string_view("# HELP "), name, std::string_view(" "), help, std::string_view("\n# TYPE "), name,
              std::string_view(" "), type, std::string_view("\n")})
            text_ += part;
    }
    template <class F> void for_clients(F f) const
    {
        for (const metrics& m : clients_)
            f(m);
    }
    template <class F> void for_locks(F f) const
    {
        for (const metrics& m : clients_)
            for (const lock_metrics& l : m.by_name)
                f(m, l);
    }
    void sample(std::string_view suffix, const metrics& m, const lock_metrics* lock, label more, std::string_view value)
    {
        text_ += name_;
        text_ += suffix;
        std::string labels = labels_[static_cast<std::size_t>(&m - clients_.data())];
        if (lock && !lock->name.empty())
            add(labels, "lock", lock->name);
        if (!more.first.empty())
            add(labels, more.first, more.second);
        if (!labels.empty())
            text_ += '{' + labels + '}';
        text_ += ' ';
        text_ += value;
        text_ += '\n';
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    static void add(std::string& labels, std::string_view name, std::string_view value)
    {
        if (!labels.empty())
            labels += ',';
        labels += name;
        labels += "=\"" + escaped(value) + '"';
    }
    /// A client's own labels; each name once, and none that a sample has anyway.
    static std::string labels_of(const metrics& m)
    {
        std::set<std::string> taken{"lock", "result", "reason", "state", "direction", "le"};
        std::string labels;
        for (const auto& [name, value] : m.labels)
            if (const auto [accepted, is_new] = taken.insert(label_name(name)); is_new)
                add(labels, *accepted, value);
        return labels;
    }

    template <class T> void write(const metrics& m, const lock_metrics* lock, const T& what)
    {
        if constexpr (std::is_same_v<T, latency_histogram>)
            histogram(m, lock, what);
        else
            sample("", m, lock, {}, std::to_string(what));
    }
    void histogram(const metrics& m, const lock_metrics* lock, const latency_histogram& h)
    {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < latency_histogram::buckets; ++i) {
            below += h.counts[i];
            const bool is_last = i + 1 == latency_histogram::buckets;
            const std::string limit = is_last ? "+Inf" : in_seconds(latency_histogram::longest(i));
            sample("_bucket", m, lock, {"le", limit}, std::to_string(below));
        }
        sample("_sum", m, lock, {}, in_seconds(h.sum));
        sample("_count", m, lock, {}, std::to_string(below));
    }

    std::span<const metrics> clients_;
    std::vector<std::string> labels_; ///< of each
    std::string_view name_;
    std::string text_;
};

void write_locks(prometheus_page& page)
{
    page.begin("zklock_acquires_total", "counter", "Acquires that have ended, by what their callers were told.");
    page.for_locks([&](const metrics& m, const lock_metrics& l) {
        for (const auto& [result, number] :
             {std::pair("acquired", l.acquired), std::pair("timed_out", l.timed_out),
              std::pair("not_connected", l.not_connected), std::pair("cancelled", l.cancelled),
              std::pair("busy", l.busy), std::pair("failed", l.failed)})
            page.sample("", m, &l, {"result", result}, std::to_string(number));
    });
    page.of_locks("zklock_releases_total", "counter", "Locks that were held and given back.", &lock_metrics::released);
    page.begin("zklock_losses_total", "counter", "Locks that were lost while they were held, by reason.");
    page.for_locks([&](const metrics& m, const lock_metrics& l) {
        // A forked process counts no loss: what it knows of its parent's locks is a copy.
        for (const auto why : {loss_reason::lease_ended, loss_reason::session_expired, loss_reason::node_deleted,
                               loss_reason::client_closed, loss_reason::authentication_failed})
            page.sample("", m, &l, {"reason", to_string(why)}, std::to_string(l.lost(why)));
    });
    page.of_locks("zklock_waiting_acquires", "gauge", "Acquires that wait now.", &lock_metrics::waiting);
    page.of_locks("zklock_held_locks", "gauge", "Locks that are held now.", &lock_metrics::held);
    page.of_locks("zklock_acquire_wait_seconds", "histogram", "From the call to the grant, of what was acquired.",
                  &lock_metrics::waits);
    page.of_locks("zklock_hold_seconds", "histogram", "From the grant to the release or the loss.",
                  &lock_metrics::holds);
}

void write_connection(prometheus_page& page)
{
    page.begin("zklock_connection_state", "gauge", "1 for the state that the client is in.");
    page.for_clients([&](const metrics& m) {
        for (const auto state : {connection_state::connecting, connection_state::connected, connection_state::suspended,
                                 connection_state::closed, connection_state::failed})
            page.sample("", m, nullptr, {"state", to_string(state)}, m.state == state ? "1" : "0");
    });
    page.of_clients("zklock_reconnects_total", "counter", "Connections after the first one.", &metrics::reconnects);
    page.of_clients("zklock_disconnects_total", "counter", "Connections that have ended.", &metrics::disconnects);
    page.of_clients("zklock_session_expiries_total", "counter", "Sessions that the servers have ended.",
                    &metrics::expiries);
    page.of_clients("zklock_authentication_failures_total", "counter", "Credentials that the servers have refused.",
                    &metrics::authentication_failures);
    page.of_clients("zklock_requests_total", "counter", "Requests sent to the servers; a transaction is one.",
                    &metrics::requests);
    page.of_clients("zklock_unseen_guards_total", "counter", "Locks given back before anybody looked at the result.",
                    &metrics::unseen);
    page.of_clients("zklock_heartbeat_seconds", "histogram", "From sending a heartbeat of the lease to its answer.",
                    &metrics::heartbeats);
    page.of_clients("zklock_heartbeat_delay_seconds", "histogram",
                    "How much later than planned a heartbeat had its turn.", &metrics::heartbeat_delays);
}

void write_handoffs(prometheus_page& page)
{
    page.of_clients("zklock_handoffs_taken_total", "counter",
                    "Grants by word of who let the lock go, before the servers told of it.",
                    [](const metrics& m) { return m.handoff.taken; });
    page.of_clients("zklock_handoffs_given_total", "counter",
                    "How often another client was told that a node is let go that it waits for.",
                    [](const metrics& m) { return m.handoff.given; });
    page.begin("zklock_handoff_failures_total", "counter", "What kept clients from telling each other, by reason.");
    page.for_clients([&](const metrics& m) {
        for (const auto& [reason, number] :
             {std::pair("not_listed", m.handoff.not_listed), std::pair("not_tried", m.handoff.not_tried),
              std::pair("no_answer", m.handoff.no_answer), std::pair("refused", m.handoff.refused),
              std::pair("over_share", m.handoff.over_share)})
            page.sample("", m, nullptr, {"reason", reason}, std::to_string(number));
    });
    page.of_clients("zklock_handoff_accept_pauses_total", "counter",
                    "How often nobody was accepted for milliseconds, because too many connected.",
                    [](const metrics& m) { return m.handoff.accept_pauses; });
    page.of_clients("zklock_handoff_listening", "gauge", "1 if the client has the port on which others reach it.",
                    [](const metrics& m) { return m.handoff.listens ? 1 : 0; });
    page.begin("zklock_handoff_connections", "gauge", "Connections to and from other clients now.");
    page.for_clients([&](const metrics& m) {
        page.sample("", m, nullptr, {"direction", "to"}, std::to_string(m.handoff.connected_to));
        page.sample("", m, nullptr, {"direction", "from"}, std::to_string(m.handoff.connected_from));
    });
}

} // namespace

std::string prometheus_text(std::span<const metrics> clients)
{
    prometheus_page page(clients);
    write_connection(page);
    write_handoffs(page);
    write_locks(page);
    return page.take();
}

std::string prometheus_text(const metrics& m)
{
    return prometheus_text(std::span(&m, 1));
}

} // namespace zklock
