#include "bridge/connection/store_requests.hpp"

#include <utility>
#include <variant>

namespace zklock::bridge {

namespace {

answer never_sent(std::unique_ptr<request> r) noexcept
{
    answer a;
    a.to = std::move(r);
    a.undone = true;
    return a;
}

} // namespace

store_requests::store_requests(runtime::turns& turns, inbox& in, wire& w, counters::counter& made)
    : turns_(turns), inbox_(in), wire_(w), made_(made)
{
}

template <auto Call, class Done, class... Args>
void store_requests::submit(answered_by whom, Done done, const Args&... args)
{
    auto r = std::make_unique<request>();
    r->done = std::move(done);
    r->through_leader = whom == answered_by::leader;
    if (!may_send()) {
        answer_unsent(std::move(r));
        return;
    }
    made_.add();
    turns_.run([&] {
        hold_back();
        wire_.send<Call>(std::move(r), args...);
        if (!inbox_.empty())
            deliver_later();
    });
}

/// Answers a request that cannot be sent, in its place before the loss that the caller has not been told yet.
void store_requests::answer_unsent(std::unique_ptr<request> r)
{
    if (is_over())
        return;
    if (known_open_) {
        unsent_.push_back(std::move(r));
        return;
    }
    inbox_.push(never_sent(std::move(r)));
    deliver_later();
}

/// Those that came too late for the epoch are answered before its end.
message store_requests::take_next() noexcept
{
    if (unsent_.empty() || !std::holds_alternative<disconnected>(inbox_.front()))
        return inbox_.take_front();
    answer a = never_sent(std::move(unsent_[unsent_answered_++]));
    if (unsent_answered_ == unsent_.size()) {
        unsent_.clear();
        unsent_answered_ = 0;
    }
    return a;
}

std::vector<std::unique_ptr<request>> store_requests::take_unsent() noexcept
{
    return std::exchange(unsent_, {});
}

void store_requests::create(std::string_view path, std::string_view data, zklock::store::node_kind kind,
                            const access_list* access, create_done done)
{
    submit<&wire_requests::create>(answered_by::leader, std::move(done), path, data, kind, access);
}

void store_requests::remove(std::string_view path, std::int32_t version, reply_done done)
{
    submit<&wire_requests::remove>(answered_by::leader, std::move(done), path, version);
}

void store_requests::set(std::string_view path, std::string_view data, std::int32_t version, stat_done done)
{
    submit<&wire_requests::set>(answered_by::leader, std::move(done), path, data, version);
}

void store_requests::batch(std::span<const zklock::store::batch_write> writes, batch_done done)
{
    submit<&wire_requests::batch>(answered_by::leader, std::move(done), writes);
}

void store_requests::exists(std::string_view path, bool watch, stat_done done)
{
    submit<&wire_requests::exists>(answered_by::any_server, std::move(done), path, watch);
}

void store_requests::get(std::string_view path, bool watch, get_done done)
{
    submit<&wire_requests::get>(answered_by::any_server, std::move(done), path, watch);
}

void store_requests::children(std::string_view path, bool watch, children_done done)
{
    submit<&wire_requests::children>(answered_by::any_server, std::move(done), path, watch);
}

void store_requests::get_acl(std::string_view path, access_done done)
{
    submit<&wire_requests::get_acl>(answered_by::any_server, std::move(done), path);
}

void store_requests::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version,
                             reply_done done)
{
    submit<&wire_requests::set_acl>(answered_by::leader, std::move(done), path, access, acl_version);
}

void store_requests::unwatch(std::string_view path, reply_done done)
{
    submit<&wire_requests::unwatch>(answered_by::any_server, std::move(done), path);
}

void store_requests::sync(std::string_view path, reply_done done)
{
    submit<&wire_requests::sync>(answered_by::leader, std::move(done), path);
}

} // namespace zklock::bridge
