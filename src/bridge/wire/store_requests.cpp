#include "bridge/wire/store_requests.hpp"
#include "bridge/wire/result_codes.hpp"
#include "bridge/wire/wire_library.hpp"

#include <chrono>
#include <climits>
#include <variant>

namespace zklock::bridge {

namespace {

std::chrono::system_clock::time_point time_of(std::int64_t milliseconds_since_1970)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds_since_1970));
}

answer never_sent(std::unique_ptr<request> r) noexcept
{
    answer a;
    a.to = std::move(r);
    a.undone = true;
    return a;
}

} // namespace

store::node_stat stat_of(const ::Stat* from)
{
    store::node_stat to;
    if (!from)
        return to;
    to.czxid = from->czxid;
    to.mzxid = from->mzxid;
    to.pzxid = from->pzxid;
    to.created = time_of(from->ctime);
    to.modified = time_of(from->mtime);
    to.ephemeral_owner = from->ephemeralOwner;
    to.version = from->version;
    to.cversion = from->cversion;
    to.num_children = from->numChildren;
    to.data_length = from->dataLength;
    to.acl_version = from->aversion;
    return to;
}

store_requests::store_requests(runtime::turns& turns, inbox& in, wire& w, const client_options& options,
                               std::string chroot)
    : turns_(turns), inbox_(in), wire_(w), options_(options), chroot_(std::move(chroot)),
      access_(std::make_unique<library_access>())
{
}

store_requests::~store_requests() = default;

void store_requests::end_epoch(_zhandle* left)
{
    handle_ = nullptr;
    watches_.forget([&](const std::string& path) {
        // The library would set them all again on the next connection, in one packet that may be more than a server
        // takes.
        if (left)
            zoo_aremove_all_watches(left, path.c_str(), ZWATCHTYPE_ANY, 1, nullptr, nullptr);
    });
}

void store_requests::fired(std::string_view path, store::event_kind what)
{
    watches_.fired(path, what);
    inbox_.push(node_event{what, std::string{without_chroot(path)}});
}

void store_requests::put_on_server(std::string_view path)
{
    path_ = chroot_;
    if (path != "/" || chroot_.empty())
        path_ += path;
}

std::string_view store_requests::without_chroot(std::string_view path) const
{
    if (path.starts_with(chroot_))
        path.remove_prefix(chroot_.size());
    return path.empty() ? "/" : path;
}

// --- what cannot be sent ---------------------------------------------------------------------------------------------

/// Answers a request that cannot be sent, in its place before the loss that the caller has not been told yet.
void store_requests::answer_unsent(std::unique_ptr<request> r)
{
    if (is_over())
        return;
    if (knows_epoch()) {
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
    answer a = never_sent(std::move(unsent_.front()));
    unsent_.pop_front();
    return a;
}

/// The library does not take it.
void store_requests::reject(std::unique_ptr<request> r, int code)
{
    auto result = to_outcome(code);
    if (result == store::outcome::unknown && handle_)
        in_doubt_ = true;
    watches_.answered(*r, result);
    answer a = never_sent(std::move(r));
    a.result = result;
    a.undone = result == store::outcome::unknown;
    inbox_.push(std::move(a));
}

// --- what is answered ------------------------------------------------------------------------------------------------

void store_requests::accept(answer&& a, int code)
{
    wire_log& log = wire_.log();
    a.result = outcome_of(*a.to, code);
    a.undone = is_undone(code);
    if (a.result == store::outcome::invalid_acl && a.to->has_clients_access)
        log(log_level::error, log.address(), " refuses client_options::access, ", to_string(options_.access),
            ": it does not know one of the schemes or ids, or of auth none of the identities in client_options::auth");
    if (a.result == store::outcome::unknown)
        in_doubt_ = true;
    if (code == ZSESSIONCLOSEDREQUIRESASLAUTH)
        log.refused(" demands authentication (SESSIONCLOSEDREQUIRESASLAUTH, -124), by a scheme that "
                    "client_options::auth has no credentials for (enforce.auth.schemes or "
                    "sessionRequireClientSASLAuth there)");
    else if (code != ZOK)
        log.answered(code, a.result);
    watches_.answered(*a.to, a.result);
    if (a.to->done.index() != 0)
        inbox_.push(std::move(a));
}

/// A server fails again and again at what needs a node's access list, if it has lost that (ZOOKEEPER-4689). A read has
/// done nothing, and has left no watch, for the server looks at the access list first. So it may end with that error.
/// Another server may be sound, and the connection is given up for that; but not two in a row, or no lock of this
/// client would be served any more.
store::outcome store_requests::outcome_of(const request& r, int code) noexcept
{
    const bool reads = !r.through_leader && !r.takes_watches_back;
    if (code != ZMARSHALLINGERROR || !reads)
        return to_outcome(code);
    if (read_failed_in_ != none && read_failed_in_ + 1 == epoch_)
        return store::outcome::server_error;
    read_failed_in_ = epoch_;
    return store::outcome::unknown;
}

void store_requests::on_void(int code, const void* context) noexcept
{
    finish(code, context, [](answer&) {});
}

void store_requests::on_stat(int code, const ::Stat* stat, const void* context) noexcept
{
    finish(code, context, [&](answer& a) { a.stat = stat_of(stat); });
}

// --- the requests ----------------------------------------------------------------------------------------------------

template <class Done, class Call>
void store_requests::submit(answered_by whom, std::string_view path, Done done, Call call)
{
    submit(whom, std::move(done), [&](request& r) {
        put_on_server(path);
        return path.find('\0') != path.npos ? static_cast<int>(ZBADARGUMENTS) : call(r);
    });
}

void store_requests::create(std::string_view path, std::string_view data, store::node_kind kind,
                            const access_list* access, create_done done)
{
    submit(answered_by::leader, path, std::move(done), [&](request& r) {
        r.has_clients_access = access == nullptr;
        if (data.size() > INT_MAX)
            return static_cast<int>(ZBADARGUMENTS);
        if (access && !is_text(*access))
            return static_cast<int>(ZINVALIDACL);
        const ACL_vector list = access_->refer_to(access ? *access : options_.access);
        // What is created at "/" is a child of the chroot's node, with no name but its number.
        if (path == "/" && !chroot_.empty())
            path_ += '/';
        const auto created = [](int code, const char* made, const ::Stat* stat, const void* context) noexcept {
            finish(code, context, [&](answer& a) {
                a.text = static_cast<const request*>(context)->sender->without_chroot(made ? made : "");
                a.stat = stat_of(stat);
            });
        };
        return zoo_acreate2(handle_, path_.c_str(), data.data(), static_cast<int>(data.size()), &list, to_mode(kind),
                            created, &r);
    });
}

void store_requests::remove(std::string_view path, std::int32_t version, reply_done done)
{
    submit(answered_by::leader, path, std::move(done),
           [&](request& r) { return zoo_adelete(handle_, path_.c_str(), version, &on_void, &r); });
}

void store_requests::set(std::string_view path, std::string_view data, std::int32_t version, stat_done done)
{
    submit(answered_by::leader, path, std::move(done), [&](request& r) {
        if (data.size() > INT_MAX)
            return static_cast<int>(ZBADARGUMENTS);
        return zoo_aset(handle_, path_.c_str(), data.data(), static_cast<int>(data.size()), version, &on_stat, &r);
    });
}

// With a watch, it is always the same function and context: for a session event the library compares every two of them.

void store_requests::exists(std::string_view path, bool watch, stat_done done)
{
    submit(answered_by::any_server, path, std::move(done), [&](request& r) {
        if (watch)
            arms(r, watch_kind::data);
        r.arms_if_missing = watch;
        return zoo_awexists(handle_, path_.c_str(), watch ? &wire::on_event : nullptr, &wire_, &on_stat, &r);
    });
}

void store_requests::get(std::string_view path, bool watch, get_done done)
{
    submit(answered_by::any_server, path, std::move(done), [&](request& r) {
        if (watch)
            arms(r, watch_kind::data);
        const auto read = [](int code, const char* data, int size, const ::Stat* stat, const void* context) noexcept {
            finish(code, context, [&](answer& a) {
                if (data && size > 0)
                    a.text.assign(data, static_cast<std::size_t>(size));
                a.stat = stat_of(stat);
            });
        };
        return zoo_awget(handle_, path_.c_str(), watch ? &wire::on_event : nullptr, &wire_, read, &r);
    });
}

void store_requests::children(std::string_view path, bool watch, children_done done)
{
    submit(answered_by::any_server, path, std::move(done), [&](request& r) {
        if (watch)
            arms(r, watch_kind::children);
        const auto listed = [](int code, const String_vector* names, const ::Stat* stat, const void* context) noexcept {
            finish(code, context, [&](answer& a) {
                if (names)
                    a.names.assign(names->data, names->data + names->count);
                a.stat = stat_of(stat);
            });
        };
        return zoo_awget_children2(handle_, path_.c_str(), watch ? &wire::on_event : nullptr, &wire_, listed, &r);
    });
}

void store_requests::get_acl(std::string_view path, access_done done)
{
    submit(answered_by::any_server, path, std::move(done), [&](request& r) {
        const auto read = [](int code, ACL_vector* access, ::Stat* stat, const void* context) noexcept {
            finish(code, context, [&](answer& a) {
                std::vector<access_entry> entries;
                for (int i = 0; access && i < access->count; ++i) {
                    const auto& [allowed, who] = access->data[i];
                    entries.emplace_back(who.scheme ? who.scheme : "", who.id ? who.id : "",
                                         static_cast<unsigned>(allowed));
                }
                a.access = std::make_unique<access_list>(std::move(entries));
                a.stat = stat_of(stat);
            });
        };
        return zoo_aget_acl(handle_, path_.c_str(), read, &r);
    });
}

void store_requests::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version,
                             reply_done done)
{
    submit(answered_by::leader, path, std::move(done), [&](request& r) {
        if (!is_text(access))
            return static_cast<int>(ZINVALIDACL);
        ACL_vector list = access_->refer_to(access); // the library asks for one that it could change
        return zoo_aset_acl(handle_, path_.c_str(), acl_version, &list, &on_void, &r);
    });
}

void store_requests::unwatch(std::string_view path, reply_done done)
{
    submit(answered_by::any_server, path, std::move(done), [&](request& r) {
        r.takes_watches_back = true;
        r.path = path_;
        // Declared as a pointer to a function pointer, and called as the function itself.
        auto* answered = reinterpret_cast<void_completion_t*>(&on_void);
        return zoo_aremove_all_watches(handle_, path_.c_str(), ZWATCHTYPE_ANY, 0, answered, &r);
    });
}

void store_requests::sync(std::string_view path, reply_done done)
{
    submit(answered_by::leader, path, std::move(done), [&](request& r) {
        const auto synced = [](int code, const char*, const void* context) noexcept { on_void(code, context); };
        return zoo_async(handle_, path_.c_str(), synced, &r);
    });
}

void store_requests::nudge()
{
    hand_over(std::make_unique<request>(), [&](request& r) { return zoo_aexists(handle_, "/", 0, &on_stat, &r); });
}

} // namespace zklock::bridge
