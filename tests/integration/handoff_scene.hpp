#pragma once
// Clients that tell each other what they let go, without servers and locks: only what is between them.
#include "bridge/peers/network_peers.hpp"
#include "runtime/asio_scheduler.hpp"
#include "support/options_for.hpp"
#include "support/run_until.hpp"

#include <boost/asio/post.hpp>

namespace zklock::test {

namespace asio = boost::asio;
namespace peering = bridge::peering;

inline handoff_options on_loopback()
{
    return with(&handoff_options::peers, {"127.0.0.0/8", "::1"}, &handoff_options::listen, "127.0.0.1:0");
}

/// One client's peers.
class peers_end final : public store::peers_observer {
public:
    explicit peers_end(asio::io_context& io, const handoff_options& options = on_loopback(),
                       std::optional<peering::address> local = std::nullopt)
        : io_(io), strand_(runtime::make_strand(io.get_executor())), turns_(std::make_shared<runtime::turns>()),
          scheduler_(runtime::asio_scheduler::make(strand_, turns_)),
          log_([this](log_level, std::string_view line) { lines.emplace_back(line); }),
          peers_(std::make_shared<peering::network_peers>(strand_, turns_, *scheduler_,
                                                          peering::settings_of(options).value(), log_, counted_,
                                                          [local] { return local; }))
    {
        in_turn([this] { peers_->attach(*this); });
    }
    ~peers_end() override { peers_->stop(); }

    void on_certificate(const store::node_secret& secret) override { heard.push_back(secret); }
    void on_awaited(const store::commitment& node) override { awaited.push_back(node); }

    /// Runs `f` in a turn, and that turn to its end.
    void in_turn(const std::function<void()>& f)
    {
        bool done = false;
        asio::post(strand_, [&] {
            turns_->run(f);
            done = true;
        });
        run_until(io_, [&] { return done; });
    }

    using node = store::own_node;
    /// A node of ours that others may subscribe to.
    node offered()
    {
        node made;
        in_turn([&] { made = peers_->make_node(); });
        return made;
    }
    void publish(const node& of, const std::vector<store::node_secret>& before = {})
    {
        in_turn([&] { peers_->publish(of, before); });
    }
    void subscribe(const store::commitment& to, std::string_view endpoint)
    {
        in_turn([&] { peers_->subscribe(to, endpoint); });
    }
    std::string endpoint() { return std::string(peers_->endpoint()); }
    std::uint16_t port() { return peering::parse_endpoint(endpoint()).value().port(); }
    peering::network_peers& operator*() { return *peers_; }
    peering::network_peers* operator->() { return peers_.get(); }
    const runtime::strand& strand() { return strand_; }
    [[nodiscard]] handoff_metrics counted() const { return counted_.read(); }
    bool has_line(std::string_view with)
    {
        for (const auto& line : lines)
            if (line.find(with) != line.npos)
                return true;
        return false;
    }

    std::vector<store::node_secret> heard;
    std::vector<store::commitment> awaited;
    std::vector<std::string> lines;

private:
    asio::io_context& io_;
    const runtime::strand strand_;
    const std::shared_ptr<runtime::turns> turns_;
    const std::shared_ptr<runtime::asio_scheduler> scheduler_;
    const store::log_function log_;
    counters::handoff_counters counted_;
    const std::shared_ptr<peering::network_peers> peers_;
};

/// `waiting` subscribes to a new node of `owner`, and is subscribed.
inline peers_end::node awaited_node(asio::io_context& io, peers_end& owner, peers_end& waiting)
{
    const auto made = owner.offered();
    waiting.subscribe(made.commitment, owner.endpoint());
    run_until(io, [&] { return owner->awaited(made); });
    return made;
}

} // namespace zklock::test
