#include "bridge/host_resolver.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <utility>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

/// The C client takes what follows the last colon for the port and knows no brackets.
std::string as_the_library_wants(const asio::ip::address& address, std::uint16_t port)
{
    return address.to_string() + ':' + std::to_string(port);
}

} // namespace

host_resolver::host_resolver(const runtime::strand& strand, const std::vector<host_port>& servers) : strand_(strand)
{
    for (const auto& server : servers)
        if (server.numeric)
            given_.push_back(as_the_library_wants(asio::ip::make_address(server.host), server.port));
        else
            names_.push_back({server, nullptr, false, {}});
}

void host_resolver::resolve(failed miss, answered news)
{
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
                self->tell();
        });
}

void host_resolver::ask(name& n)
{
    auto& service = asio::use_service<name_lookups>(asio::query(strand_, asio::execution::context));
    n.addresses.clear();
    n.lookup = std::make_shared<name_lookup>(
        n.server.host, strand_, [weak = weak_from_this(), &n](const name_answer& answer) {
            if (const auto self = weak.lock())
                self->answer(n, answer);
        });
    n.of_this_round = true;
    ++asked_;
    try {
        service.begin(n.lookup);
    } catch (...) {
        n.lookup->lost = true; // and asked for again in the next round
    }
}

void host_resolver::answer(name& of, const name_answer& answer)
{
    of.lookup = nullptr;
    asked_ -= std::exchange(of.of_this_round, false);
    for (const auto& address : answer.addresses)
        of.addresses.push_back(as_the_library_wants(address, of.server.port));
    of.why_none = of.addresses.empty() ? answer.why_none : "";
    if (of.addresses.empty())
        miss_(of.server, answer.why_none);
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

std::vector<std::string> host_resolver::found() const
{
    std::vector<std::string> all;
    const auto add = [&all](const std::vector<std::string>& addresses) {
        for (const auto& address : addresses)
            if (std::ranges::find(all, address) == all.end())
                all.push_back(address);
    };
    add(given_);
    for (const name& each : names_)
        add(each.addresses);
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
