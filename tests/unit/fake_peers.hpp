#pragma once
#include "fake_store.hpp"

#include "store/peers.hpp"

#include <doctest/doctest.h>

#include <set>

namespace zklock::unit {

/// Ways past the servers that the test speaks for. Secrets have numbers: #1 is the first that this client makes.
class fake_peers final : public store::peers {
public:
    explicit fake_peers(fake_store& servers) : servers_(servers) {}

    store::peers_observer* observer = nullptr;
    std::string at = "10.0.0.1:7000"; ///< where this client is
    std::vector<std::string> said;    ///< "offer #1", "publish #2 and #3", "subscribe #4 at 10.0.0.2:7000", …
    std::string sent_before;          ///< what the store was asked for, when something was published last
    std::set<int> waited_for;

    [[nodiscard]] static store::node_secret secret_of(int number)
    {
        store::node_secret secret{};
        secret[0] = static_cast<std::uint8_t>(number);
        secret[1] = static_cast<std::uint8_t>(number >> 8);
        return secret;
    }
    [[nodiscard]] static std::string uuid_of(int number)
    {
        char text[40];
        std::snprintf(text, sizeof text, "cccccccc-0000-4000-8000-%012d", number);
        return text;
    }
    /// The name of a node that has that secret.
    [[nodiscard]] static std::string node(int secret, int sequence, const char* mark = "lock-")
    {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%010d", sequence);
        return "_c_" + uuid_of(secret) + "-" + mark + digits;
    }
    /// What was said since this was called last.
    std::string heard()
    {
        std::string text;
        for (const std::string& each : std::exchange(said, {}))
            text += (text.empty() ? "" : ", ") + each;
        return text;
    }

    void attach(store::peers_observer& o) override { observer = &o; }
    [[nodiscard]] std::string_view endpoint() const override { return at; }
    [[nodiscard]] store::commitment commitment_to(const store::node_secret& secret) const override
    {
        return commitment_of(secret);
    }
    [[nodiscard]] store::own_node make_node() override
    {
        const auto secret = secret_of(++last_);
        said.push_back("offer #" + std::to_string(last_));
        return {secret, commitment_to(secret), static_cast<std::uint32_t>(last_)};
    }
    void withdraw(const store::own_node& node) noexcept override { said.push_back("withdraw " + name_of(node)); }
    void publish(const store::own_node& node, std::span<const store::node_secret> of_nodes_before) override
    {
        std::string text = "publish " + name_of(node);
        for (const store::node_secret& each : of_nodes_before)
            text += " and #" + std::to_string(number_of(each));
        said.push_back(std::move(text));
        sent_before = servers_.pending();
    }
    [[nodiscard]] bool awaited(const store::own_node& node) const override
    {
        return waited_for.contains(number_of(node.secret));
    }
    void subscribe(const store::commitment& c, std::string_view endpoint) override
    {
        said.push_back("subscribe " + name_of(c) + " at " + std::string(endpoint));
    }
    void unsubscribe(const store::commitment& c) override { said.push_back("unsubscribe " + name_of(c)); }

private:
    static int number_of(const store::node_secret& secret) { return secret[0] + (secret[1] << 8); }
    static int number_of(const store::commitment& c) { return std::stoi(std::string(store::text(c).substr(24))); }
    static std::string name_of(const store::commitment& c) { return "#" + std::to_string(number_of(c)); }
    static std::string name_of(const store::own_node& node)
    {
        CHECK(node.commitment == commitment_of(node.secret));
        CHECK(node.place == static_cast<std::uint32_t>(number_of(node.secret)));
        return "#" + std::to_string(number_of(node.secret));
    }
    static store::commitment commitment_of(const store::node_secret& secret)
    {
        store::commitment c;
        uuid_of(number_of(secret)).copy(c.data(), c.size());
        return c;
    }

    fake_store& servers_;
    int last_ = 0;
};

} // namespace zklock::unit
