#include "bridge/names/host_resolver.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

std::string text_of(const asio::ip::address& address, std::uint16_t port)
{
    return (address.is_v6() ? '[' + address.to_string() + ']' : address.to_string()) + ':' + std::to_string(port);
}

std::shared_ptr<server_address> make_address(const asio::ip::address& address, const host_port& given)
{
    auto made = std::make_shared<server_address>();
    const asio::ip::tcp::endpoint server(address, given.port);
    static_assert(sizeof made->socket >= sizeof(sockaddr_in6));
    std::memcpy(&made->socket, server.data(), server.size());
    made->text = text_of(address, given.port);
    made->given.push_back(given);
    return made;
}

/// Adds an address, or to the same one another name.
void add(std::vector<address_ptr>& all, const std::shared_ptr<server_address>& made)
{
    const auto same = find_same(all, *made);
    if (same == all.end()) {
        all.push_back(made);
        return;
    }
    auto both = std::make_shared<server_address>(**same);
    if (std::ranges::find(both->given, made->given.front()) == both->given.end())
        both->given.push_back(made->given.front());
    both->asked = std::max(both->asked, made->asked);
    if (made->unanswered_since)
        both->unanswered_since = std::min(both->unanswered_since.value_or(server_address::clock::time_point::max()),
                                          *made->unanswered_since);
    *same = std::move(both);
}

} // namespace

host_resolver::host_resolver(const runtime::strand& strand, const std::vector<host_port>& servers,
                             std::shared_ptr<runtime::turns> turns)
    : strand_(strand), turns_(std::move(turns))
{
    for (const auto& server : servers)
        if (server.numeric)
            given_.push_back(server);
        else
            names_.push_back({server, nullptr, false, {}, {}, {}, {}});
}

void host_resolver::resolve(clock::time_point since, failed miss, answered news)
{
    since_ = since;
    miss_ = std::move(miss);
    news_ = std::move(news);
    asked_ = 0;
    for (name& each : names_) {
        each.of_this_round = false;
        if (each.lookup) {
            if (!each.lookup->lost)
                continue;
            each.lookup = nullptr;
            miss_(each.server, "there was no memory for the answer");
        }
        ask(each);
    }
    if (asked_ == 0)
        asio::post(strand_, [weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->turns_->run([&] { self->tell(); });
        });
}

void host_resolver::ask(name& n)
{
    auto& service = asio::use_service<blocking_calls>(asio::query(strand_, asio::execution::context));
    if (!n.unanswered_since)
        n.unanswered_since = clock::now();
    n.lookup =
        std::make_shared<name_lookup>(n.server.host, strand_, [weak = weak_from_this(), &n](const name_answer& answer) {
            if (const auto self = weak.lock())
                self->turns_->run([&] { self->answer(n, answer); });
        });
    n.of_this_round = true;
    ++asked_;
    service.begin(n.lookup);
}

void host_resolver::answer(name& of, const name_answer& answer)
{
    of.lookup = nullptr;
    asked_ -= std::exchange(of.of_this_round, false);
    of.why_none = answer.why_none;
    if (answer.addresses.empty())
        miss_(of.server, answer.why_none);
    if (!answer.unanswered) {
        of.addresses = answer.addresses;
        of.asked = answer.asked;
        of.unanswered_since.reset();
    }
    if (answer.asked < since_)
        ask(of);
    tell();
}

void host_resolver::tell()
{
    if (const auto news = news_) // it may be forgotten by what it calls
        news();
}

bool host_resolver::complete() const noexcept
{
    return std::ranges::none_of(names_, [](const name& each) { return each.lookup != nullptr; });
}

std::vector<address_ptr> host_resolver::found() const
{
    std::vector<address_ptr> all;
    for (const host_port& each : given_)
        add(all, make_address(asio::ip::make_address(each.host), each));
    for (const name& each : names_)
        for (const auto& address : each.addresses) {
            const auto made = make_address(address, each.server);
            made->asked = each.asked;
            made->unanswered_since = each.unanswered_since;
            add(all, made);
        }
    return all;
}

std::map<std::string, std::string> host_resolver::unresolved() const
{
    std::map<std::string, std::string> all;
    for (const name& each : names_)
        if (!each.why_none.empty())
            all.emplace(each.server.host, each.why_none);
    return all;
}

void host_resolver::cancel()
{
    for (name& each : names_)
        if (const auto lookup = std::exchange(each.lookup, nullptr))
            lookup->cancelled = true;
    asked_ = 0;
    miss_ = nullptr;
    news_ = nullptr;
}

} // namespace zklock::bridge
