#pragma once
#include "bridge/wire/wire.hpp"
#include "counters/counters.hpp"
#include "runtime/client_store.hpp"
#include "runtime/turns.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace zklock::bridge {

/// What the recipes ask of the servers, handed to the wire in the epoch of which the caller has been told. What comes
/// after the end of that epoch cannot be sent, and is answered before the caller is told of the end. They are counted.
class store_requests : public runtime::client_store {
public:
    void create(std::string_view path, std::string_view data, zklock::store::node_kind kind, const access_list* access,
                create_done) final;
    void remove(std::string_view path, std::int32_t version, reply_done) final;
    void set(std::string_view path, std::string_view data, std::int32_t version, stat_done) final;
    void batch(std::span<const zklock::store::batch_write> writes, batch_done) final;
    void exists(std::string_view path, bool watch, stat_done) final;
    void get(std::string_view path, bool watch, get_done) final;
    void children(std::string_view path, bool watch, children_done) final;
    void get_acl(std::string_view path, access_done) final;
    void set_acl(std::string_view path, const access_list&, std::int32_t acl_version, reply_done) final;
    void unwatch(std::string_view path, reply_done) final;
    void sync(std::string_view path, reply_done) final;

protected:
    store_requests(runtime::turns&, inbox&, wire&, counters::counter& made);
    ~store_requests() override = default;

    /// The wire has the connection of which the caller has been told.
    [[nodiscard]] bool knows_connection() const noexcept { return known_open_ && wire_.epoch() == known_epoch_; }
    [[nodiscard]] bool knows_epoch() const noexcept { return known_open_; }
    void told_of(std::uint64_t epoch) noexcept
    {
        known_open_ = true;
        known_epoch_ = epoch;
    }
    void told_of_loss() noexcept { known_open_ = false; }

    /// How much is to be told.
    [[nodiscard]] std::size_t to_be_told() const noexcept { return inbox_.size() + unsent_.size(); }
    /// What is to be told next. The inbox is not empty.
    [[nodiscard]] message take_next() noexcept;
    /// What is never answered any more, to be destroyed by who calls this.
    [[nodiscard]] std::vector<std::unique_ptr<request>> take_unsent() noexcept;

private:
    enum class answered_by : std::uint8_t { any_server, leader };
    /// Makes a request, by that function of the wire's.
    template <auto Call, class Done, class... Args> void submit(answered_by, Done, const Args&...);
    void answer_unsent(std::unique_ptr<request>);

    /// Nobody is told anything any more.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;
    [[nodiscard]] virtual bool may_send() const noexcept = 0;
    /// In a turn, before one is sent.
    virtual void hold_back() = 0;
    /// There is something in the inbox.
    virtual void deliver_later() = 0;

    runtime::turns& turns_;
    inbox& inbox_;
    wire& wire_;
    counters::counter& made_;
    bool known_open_ = false; // the epoch, as the caller knows it
    std::uint64_t known_epoch_ = 0;
    std::vector<std::unique_ptr<request>> unsent_; // of an epoch that has ended, which the caller has not been told yet
    std::size_t unsent_answered_ = 0;              // so many of the first
};

} // namespace zklock::bridge
