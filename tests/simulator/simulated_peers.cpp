#include "simulated_peers.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <cstring>
#include <iterator>

namespace zklock::simulator {

using stream = choices::stream;
using namespace std::chrono_literals;
using store::commitment;
using store::node_secret;
using store::own_node;

namespace {

// The bounds that the contract speaks of.
constexpr std::size_t most_subscribers = 256; ///< of a node
constexpr std::size_t most_nodes_before = 8;  ///< that are told along with one
constexpr std::size_t most_published = 64;    ///< nodes whose certificates are kept for those who come later
constexpr instant published_for = 5s;
constexpr std::size_t most_left_out = 16; ///< nodes that somebody who was told of them is not told of again

std::string key(const commitment& c)
{
    return std::string(store::text(c));
}

} // namespace

std::string uuid_text(std::uint64_t high, std::uint64_t low)
{
    char text[40];
    std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                  static_cast<unsigned>(high >> 16 & 0xffff), static_cast<unsigned>(high & 0xffff),
                  static_cast<unsigned>(low >> 48), static_cast<unsigned long long>(low & 0xffff'ffff'ffff));
    return text;
}

simulated_peers::simulated_peers(world& w, peer_network& n, process& p, unsigned number)
    : world_(w), network_(n), process_(p), number_(number), name_("peers" + std::to_string(number)),
      endpoint_(n.open(*this))
{
}

void simulated_peers::abandon()
{
    network_.close(*this);
    observer_ = nullptr;
    offers_.clear();
    published_.clear();
    subscriptions_.clear();
}

void simulated_peers::say(const std::string& what)
{
    if (world_.log.on())
        world_.log.line(world_.time.now(), name_, what);
}

bool simulated_peers::called(const char* what)
{
    if (observer_ == nullptr)
        violate(std::string(what) + " before attach()");
    return observer_ != nullptr;
}

/// Calls a function of the library's, whose memory may fail.
template <class F> void simulated_peers::tell(F f)
{
    if (observer_ == nullptr)
        return;
    if (library)
        library->run(f);
    else
        f();
}

void simulated_peers::attach(store::peers_observer& o)
{
    if (observer_ != nullptr)
        violate("attach() twice");
    observer_ = &o;
}

/// Where all peers are dead, nobody guesses secrets: the commitment is the uuid that the client would have taken
/// without peers, so that its schedule can be compared to one without them.
own_node simulated_peers::make_node()
{
    node_secret s{};
    const auto purpose = world_.set.peers == peer_life::dead ? stream::operation : stream::peers;
    for (std::size_t i = 0; i < s.size(); i += sizeof(std::uint64_t)) {
        if (world_.set.peers == peer_life::dead && i >= s.size() / 2)
            break;
        const auto part = world_.choose.next(purpose, number_);
        std::memcpy(s.data() + i, &part, sizeof part);
    }
    const plenty_of_memory here;
    own_node made{s, commitment_to(s), static_cast<std::uint32_t>(made_.size())};
    made_.push_back(made);
    if (called("make_node()")) {
        say("offers " + key(made.commitment));
        offers_[key(made.commitment)];
    }
    return made;
}

/// The first 122 bits of a hash, in the form of a version 4 uuid.
commitment simulated_peers::commitment_to(const node_secret& s) const
{
    const plenty_of_memory here;
    commitment c{};
    std::string text;
    if (world_.set.peers == peer_life::dead) {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        std::memcpy(&high, s.data(), sizeof high);
        std::memcpy(&low, s.data() + sizeof high, sizeof low);
        text = uuid_text(high, low);
    } else {
        const boost::uuids::name_generator_sha1 hash(boost::uuids::uuid{});
        text = to_string(hash(s.data(), s.size()));
        text[14] = '4'; // the version
    }
    std::copy_n(text.begin(), c.size(), c.begin());
    return c;
}

// ---- to those who wait

/// The node as it was made.
void simulated_peers::check(const own_node& node)
{
    if (node.place >= made_.size() || made_[node.place].secret != node.secret ||
        made_[node.place].commitment != node.commitment)
        violate("speaks of a node that was not made here");
}

void simulated_peers::withdraw(const own_node& given_back) noexcept
{
    const plenty_of_memory here;
    if (!called("withdraw()"))
        return;
    check(given_back);
    const auto node = key(given_back.commitment);
    if (offers_.erase(node) != 0)
        say("offers no more " + node);
    else
        violate("withdraws " + node + ", which is not on offer");
}

void simulated_peers::publish(const own_node& given_back, std::span<const node_secret> of_nodes_before)
{
    const plenty_of_memory here;
    if (!called("publish()"))
        return;
    check(given_back);
    if (of_nodes_before.size() > most_nodes_before)
        violate("tells of too many nodes before");
    let_go(given_back, of_nodes_before);
    if (offers_.erase(key(given_back.commitment)) == 0)
        violate("lets a node go that is not on offer");
}

void simulated_peers::let_go(const own_node& own, std::span<const node_secret> of_nodes_before)
{
    const auto& [secret, c, place] = own;
    const auto node = key(c);
    say("lets go " + node + " and " + std::to_string(of_nodes_before.size()) + " before it");
    certificates all{secret};
    all.insert(all.end(), of_nodes_before.begin(), of_nodes_before.end());
    const auto offered = offers_.find(node);
    network_.published(number_, secret, c);
    forget_old();
    if (published_.size() == most_published)
        published_.pop_front();
    published_.push_back({node, all, world_.time.now() + published_for});
    if (offered == offers_.end())
        return;
    // When the turn ends. That some may leave within it makes no difference: others hear of it later in either case.
    world_.time.at(world_.time.now(), [this, all, to = offered->second] {
        if (process_.dead())
            return;
        for (auto* who : to)
            send_to(*who, all);
    });
}

void simulated_peers::tell_too_early(std::string_view uuid)
{
    if (!offers_.contains(std::string(uuid)))
        return;
    const auto of_it = [&](const own_node& made) { return key(made.commitment) == uuid; };
    if (const auto made = std::find_if(made_.begin(), made_.end(), of_it); made != made_.end())
        let_go(*made, {});
}

/// What has come there from here of late is left out, but for the first.
void simulated_peers::send_to(simulated_peers& who, const certificates& what)
{
    const auto& known = who.heard_of_late_[number_];
    certificates all{what.front()};
    std::copy_if(what.begin() + 1, what.end(), std::back_inserter(all),
                 [&](const auto& secret) { return std::find(known.begin(), known.end(), secret) == known.end(); });
    network_.send(number_, who, [&who, all, by = number_] {
        for (const auto& secret : all)
            who.told(secret);
        auto& heard = who.heard_of_late_[by];
        heard.insert(heard.end(), all.begin(), all.end());
        while (heard.size() > most_left_out)
            heard.pop_front();
    });
}

void simulated_peers::forget_old()
{
    while (!published_.empty() && published_.front().until < world_.time.now())
        published_.pop_front();
}

bool simulated_peers::awaited(const own_node& node) const
{
    const plenty_of_memory here;
    const auto found = offers_.find(key(node.commitment));
    return found != offers_.end() && !found->second.empty();
}

void simulated_peers::asked(simulated_peers& by, const uuid& node, std::uint64_t which)
{
    forget_old();
    for (const auto& p : published_) {
        if (p.node == node)
            return send_to(by, p.what);
    }
    const auto found = offers_.find(node);
    if (found == offers_.end() || found->second.size() >= most_subscribers)
        return;
    auto& subscribers = found->second;
    if (std::find(subscribers.begin(), subscribers.end(), &by) != subscribers.end())
        return;
    subscribers.push_back(&by);
    say("is asked for " + node + " by client" + std::to_string(by.number()));
    if (const auto end = network_.end_of_a_connection(by.number())) {
        world_.time.after(*end, [this, &by, node, which] {
            left_by(by, node);
            // Whoever asked may find that out and ask again.
            if (network_.one_in(2, by.number()))
                by.run([&by, node, which] { by.ask(node, which); });
        });
    }
    commitment c{};
    std::copy_n(node.begin(), c.size(), c.begin());
    if (subscribers.size() == 1)
        tell([&] { observer_->on_awaited(c); });
}

void simulated_peers::left_by(const simulated_peers& who, const uuid& node)
{
    if (const auto found = offers_.find(node); found != offers_.end())
        std::erase(found->second, &who);
}

// ---- to those that will let go

void simulated_peers::subscribe(const commitment& c, std::string_view endpoint)
{
    const plenty_of_memory here;
    if (!called("subscribe()"))
        return;
    const auto node = key(c);
    say("asks " + std::string(endpoint) + " for " + node);
    if (offers_.contains(node))
        violate("waits for a node of its own");
    if (subscriptions_.contains(node)) // however often others write its name
        violate("asks for a node that it asks for");
    if (!subscriptions_.contains(node) && subscriptions_.size() >= world_.set.peer_subscriptions)
        return;
    const auto which = ++last_subscription_;
    subscriptions_[node] = {std::string(endpoint), which};
    ask(node, which);
}

void simulated_peers::ask(const uuid& node, std::uint64_t which)
{
    const auto found = subscriptions_.find(node);
    if (found == subscriptions_.end() || found->second.which != which)
        return;
    auto* const who = network_.who_is_at(found->second.endpoint);
    if (who == nullptr)
        return;
    network_.send(number_, *who, [this, who, node, which] { who->asked(*this, node, which); });
}

void simulated_peers::unsubscribe(const commitment& c)
{
    const plenty_of_memory here;
    if (!called("unsubscribe()"))
        return;
    const auto given_up = subscriptions_.extract(key(c));
    if (given_up.empty())
        return;
    say("asks no more for " + given_up.key());
    auto* const who = network_.who_is_at(given_up.mapped().endpoint);
    if (who != nullptr)
        network_.send(number_, *who, [this, who, node = given_up.key()] { who->left_by(*this, node); });
}

void simulated_peers::told(const node_secret& secret)
{
    const auto node = key(commitment_to(secret));
    say("is told that " + node + " is let go");
    if (network_.is_let_go(node))
        told_.emplace(node, world_.time.now());
    subscriptions_.erase(node);
    tell([&] { observer_->on_certificate(secret); });
}

std::vector<std::string> simulated_peers::left() const
{
    std::vector<std::string> all;
    for (const auto& o : offers_)
        all.push_back("offer of " + o.first);
    for (const auto& s : subscriptions_)
        all.push_back("subscription to " + s.first);
    return all;
}

} // namespace zklock::simulator
