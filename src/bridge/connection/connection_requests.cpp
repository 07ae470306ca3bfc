// What the recipes ask of the servers, handed to the wire.
#include "bridge/connection/connection.hpp"

#include <utility>

namespace zklock::bridge {

template <auto Call, class Done, class... Args>
void connection::submit(answered_by whom, Done done, const Args&... args)
{
    auto r = std::make_unique<request>();
    r->done = std::move(done);
    r->through_leader = whom == answered_by::leader;
    if (!may_send()) {
        answer_unsent(std::move(r));
        return;
    }
    requests_.add();
    turns_->run([&] {
        hold_back();
        wire_.send<Call>(std::move(r), args...);
        if (!inbox_.empty())
            deliver_later();
    });
}

void connection::create(std::string_view path, std::string_view data, zklock::store::node_kind kind,
                        const access_list* access, create_done done)
{
    submit<&wire_requests::create>(answered_by::leader, std::move(done), path, data, kind, access);
}

void connection::remove(std::string_view path, std::int32_t version, reply_done done)
{
    submit<&wire_requests::remove>(answered_by::leader, std::move(done), path, version);
}

void connection::set(std::string_view path, std::string_view data, std::int32_t version, stat_done done)
{
    submit<&wire_requests::set>(answered_by::leader, std::move(done), path, data, version);
}

void connection::batch(std::span<const zklock::store::batch_write> writes, batch_done done)
{
    submit<&wire_requests::batch>(answered_by::leader, std::move(done), writes);
}

void connection::exists(std::string_view path, bool watch, stat_done done)
{
    submit<&wire_requests::exists>(answered_by::any_server, std::move(done), path, watch);
}

void connection::get(std::string_view path, bool watch, get_done done)
{
    submit<&wire_requests::get>(answered_by::any_server, std::move(done), path, watch);
}

void connection::children(std::string_view path, bool watch, children_done done)
{
    submit<&wire_requests::children>(answered_by::any_server, std::move(done), path, watch);
}

void connection::get_acl(std::string_view path, access_done done)
{
    submit<&wire_requests::get_acl>(answered_by::any_server, std::move(done), path);
}

void connection::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version, reply_done done)
{
    submit<&wire_requests::set_acl>(answered_by::leader, std::move(done), path, access, acl_version);
}

void connection::unwatch(std::string_view path, reply_done done)
{
    submit<&wire_requests::unwatch>(answered_by::any_server, std::move(done), path);
}

void connection::sync(std::string_view path, reply_done done)
{
    submit<&wire_requests::sync>(answered_by::leader, std::move(done), path);
}

} // namespace zklock::bridge
