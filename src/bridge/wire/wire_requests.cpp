#include "bridge/wire/wire_requests.hpp"
#include "bridge/wire/result_codes.hpp"
#include "bridge/wire/wire_library.hpp"

#include <chrono>
#include <climits>
#include <cstdint>
#include <utility>

namespace zklock::bridge {

namespace {

std::chrono::system_clock::time_point time_of(std::int64_t milliseconds_since_1970)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds_since_1970));
}

} // namespace

store::node_stat stat_of(const struct Stat* from)
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

wire_requests::wire_requests(inbox& in, wire_log& log, const client_options& options, std::string chroot)
    : inbox_(in), log_(log), options_(options), chroot_(std::move(chroot)), access_(std::make_unique<access_lists>())
{
    access_->clients.refer_to(options_.access);
}

wire_requests::~wire_requests() = default;

void wire_requests::close(_zhandle* left)
{
    handle_ = nullptr;
    watches_.forget([&](const std::string& path) {
        // The library would set them all again on the next connection, in one packet that may be more than a server
        // takes.
        if (left)
            zoo_aremove_all_watches(left, path.c_str(), ZWATCHTYPE_ANY, 1, nullptr, nullptr);
    });
}

void wire_requests::fired(std::string_view path, store::event_kind what)
{
    watches_.fired(path, what);
    inbox_.push(node_event{what, std::string{without_chroot(path)}});
}

std::string wire_requests::on_server(std::string_view path) const
{
    std::string full;
    full.reserve(chroot_.size() + path.size());
    full += chroot_;
    if (path != "/" || chroot_.empty())
        full += path;
    return full;
}

std::string_view wire_requests::without_chroot(std::string_view path) const
{
    if (path.starts_with(chroot_))
        path.remove_prefix(chroot_.size());
    return path.empty() ? "/" : path;
}

/// Hands a request to the library, which takes it over when its call succeeds, and answers it otherwise.
template <class Call> void wire_requests::submit(std::unique_ptr<request> r, std::string_view path, Call call)
{
    auto full = on_server(path);
    r->sender = this;
    const int code = !handle_ ? ZCONNECTIONLOSS : path.find('\0') != path.npos ? ZBADARGUMENTS : call(full, r.get());
    hand_over(std::move(r), code);
}

void wire_requests::hand_over(std::unique_ptr<request> r, int code)
{
    if (code == ZOK) {
        ++unanswered_;
        (void)r.release(); // NOLINT: the library has it
    } else {
        reject(std::move(r), code);
    }
}

void wire_requests::reject(std::unique_ptr<request> r, int code)
{
    auto result = to_outcome(code);
    if (result == store::outcome::unknown && handle_)
        in_doubt_ = true;
    watches_.answered(*r, result);
    answer a;
    a.to = std::move(r);
    a.result = result;
    a.undone = result == store::outcome::unknown;
    inbox_.push(std::move(a));
}

void wire_requests::accept(answer a, int code)
{
    a.result = to_outcome(code);
    a.undone = is_undone(code);
    if (a.result == store::outcome::invalid_acl && a.to->has_clients_access)
        log_(log_level::error, log_.address(), " refuses client_options::access, ", to_string(options_.access),
             ": it does not know one of the schemes or ids, or of auth none of the identities in client_options::auth");
    if (a.result == store::outcome::unknown)
        in_doubt_ = true;
    if (code == ZSESSIONCLOSEDREQUIRESASLAUTH)
        log_.refused(" demands authentication (SESSIONCLOSEDREQUIRESASLAUTH, -124), by a scheme that "
                     "client_options::auth has no credentials for (enforce.auth.schemes or "
                     "sessionRequireClientSASLAuth there)");
    else if (code != ZOK)
        log_.answered(code);
    watches_.answered(*a.to, a.result);
    if (a.to->done.index() != 0)
        inbox_.push(std::move(a));
}

void wire_requests::create(std::unique_ptr<request> r, std::string_view path, std::string_view data,
                           store::node_kind kind, const access_list* access)
{
    r->has_clients_access = access == nullptr;
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (data.size() > INT_MAX)
            return static_cast<int>(ZBADARGUMENTS);
        if (access && !is_text(*access))
            return static_cast<int>(ZINVALIDACL);
        const ACL_vector& list = access ? access_->other.refer_to(*access) : access_->clients.get();
        // What is created at "/" is a child of the chroot's node, with no name but its number.
        const std::string child = path == "/" && !chroot_.empty() ? full + '/' : std::string();
        return zoo_acreate2(handle_, child.empty() ? full.c_str() : child.c_str(), data.data(),
                            static_cast<int>(data.size()), &list, to_mode(kind), &callbacks::on_create, context);
    });
}

void wire_requests::remove(std::unique_ptr<request> r, std::string_view path, std::int32_t version)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        return zoo_adelete(handle_, full.c_str(), version, &callbacks::on_void, context);
    });
}

void wire_requests::set(std::unique_ptr<request> r, std::string_view path, std::string_view data, std::int32_t version)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (data.size() > INT_MAX)
            return static_cast<int>(ZBADARGUMENTS);
        return zoo_aset(handle_, full.c_str(), data.data(), static_cast<int>(data.size()), version, &callbacks::on_stat,
                        context);
    });
}

void wire_requests::exists(std::unique_ptr<request> r, std::string_view path, bool watch)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (watch)
            watches_.asked(*context, full, watch_kind::data);
        context->arms_if_missing = watch;
        return zoo_awexists(handle_, full.c_str(), watch ? &callbacks::on_event : nullptr, watcher_,
                            &callbacks::on_stat, context);
    });
}

void wire_requests::get(std::unique_ptr<request> r, std::string_view path, bool watch)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (watch)
            watches_.asked(*context, full, watch_kind::data);
        // Always the same function and context: for a session event the library compares every two of them.
        return zoo_awget(handle_, full.c_str(), watch ? &callbacks::on_event : nullptr, watcher_, &callbacks::on_data,
                         context);
    });
}

void wire_requests::children(std::unique_ptr<request> r, std::string_view path, bool watch)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (watch)
            watches_.asked(*context, full, watch_kind::children);
        return zoo_awget_children2(handle_, full.c_str(), watch ? &callbacks::on_event : nullptr, watcher_,
                                   &callbacks::on_children, context);
    });
}

void wire_requests::get_acl(std::unique_ptr<request> r, std::string_view path)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        return zoo_aget_acl(handle_, full.c_str(), &callbacks::on_access, context);
    });
}

void wire_requests::set_acl(std::unique_ptr<request> r, std::string_view path, const access_list& access,
                            std::int32_t acl_version)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        if (!is_text(access))
            return static_cast<int>(ZINVALIDACL);
        auto list = access_->other.refer_to(access); // the library asks for one that it could change
        return zoo_aset_acl(handle_, full.c_str(), acl_version, &list, &callbacks::on_void, context);
    });
}

void wire_requests::unwatch(std::unique_ptr<request> r, std::string_view path)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        context->unwatched = full;
        // Declared as a pointer to a function pointer, and called as the function itself.
        auto* done = reinterpret_cast<void_completion_t*>(&callbacks::on_void);
        return zoo_aremove_all_watches(handle_, full.c_str(), ZWATCHTYPE_ANY, 0, done, context);
    });
}

void wire_requests::sync(std::unique_ptr<request> r, std::string_view path)
{
    submit(std::move(r), path, [&](const std::string& full, request* context) {
        return zoo_async(handle_, full.c_str(), &callbacks::on_string, context);
    });
}

void wire_requests::nudge()
{
    submit(std::make_unique<request>(), "/", [&](const std::string&, request* context) {
        return zoo_aexists(handle_, "/", 0, &callbacks::on_stat, context);
    });
}

void callbacks::on_void(int code, const void* context) noexcept
{
    finish([](answer&) {}, code, context);
}
void callbacks::on_string(int code, const char*, const void* context) noexcept
{
    on_void(code, context);
}

void callbacks::on_create(int code, const char* path, const struct Stat* stat, const void* context) noexcept
{
    const auto* sender = static_cast<const request*>(context)->sender;
    const auto fill = [&](answer& a) {
        a.text = sender->without_chroot(path ? path : "");
        a.stat = stat_of(stat);
    };
    finish(fill, code, context);
}

void callbacks::on_stat(int code, const struct Stat* stat, const void* context) noexcept
{
    finish([&](answer& a) { a.stat = stat_of(stat); }, code, context);
}

void callbacks::on_data(int code, const char* data, int size, const struct Stat* stat, const void* context) noexcept
{
    const auto fill = [&](answer& a) {
        if (data && size > 0)
            a.text.assign(data, static_cast<std::size_t>(size));
        a.stat = stat_of(stat);
    };
    finish(fill, code, context);
}

void callbacks::on_children(int code, const struct String_vector* names, const struct Stat* stat,
                            const void* context) noexcept
{
    const auto fill = [&](answer& a) {
        a.names.reserve(static_cast<std::size_t>(names ? names->count : 0));
        for (int i = 0; names && i < names->count; ++i)
            a.names.emplace_back(names->data[i]);
        a.stat = stat_of(stat);
    };
    finish(fill, code, context);
}

void callbacks::on_access(int code, struct ACL_vector* access, struct Stat* stat, const void* context) noexcept
{
    const auto fill = [&](answer& a) {
        std::vector<access_entry> entries;
        entries.reserve(static_cast<std::size_t>(access ? access->count : 0));
        for (int i = 0; access && i < access->count; ++i) {
            const auto& [allowed, who] = access->data[i];
            entries.emplace_back(who.scheme ? who.scheme : "", who.id ? who.id : "", static_cast<unsigned>(allowed));
        }
        a.access = std::make_unique<access_list>(std::move(entries));
        a.stat = stat_of(stat);
    };
    finish(fill, code, context);
}

} // namespace zklock::bridge
