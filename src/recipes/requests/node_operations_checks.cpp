// What is refused before anything is sent: paths, sizes, access lists.
#include "queue/node_path.hpp"
#include "recipes/requests/node_operations.hpp"
#include "recipes/session/option_faults.hpp"
#include "store/access_size.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace zklock::recipes {

using queue::path_fault;

namespace {

/// What a request has besides paths, data and access lists, and at most: headers, lengths, numbers.
constexpr std::size_t frame_of_a_request = 64;
constexpr std::size_t frame_of_an_operation = 64;

bool is_sequential(node_kind kind)
{
    return kind == node_kind::persistent_sequential || kind == node_kind::ephemeral_sequential;
}

errc too_long(session& s, std::size_t bytes)
{
    s.log(log_level::error, "a request of ", static_cast<std::int64_t>(bytes), " bytes is refused: the servers take ",
          static_cast<std::int64_t>(store::largest_request), ", unless their jute.maxbuffer says otherwise");
    return errc::invalid_option;
}

} // namespace

path_fault fault_to_create(const std::string& path, node_kind kind)
{
    return queue::find_node_path_fault(is_sequential(kind) ? path + '0' : path);
}

path_fault fault_to_use(const std::string& path)
{
    return path == "/" ? std::nullopt : queue::find_node_path_fault(path);
}

std::optional<errc> why_not_sent(session& s, const std::string& path, path_fault fault, std::size_t bytes)
{
    if (s.over())
        return s.over();
    const std::size_t all = s.options.chroot.size() + path.size() + bytes + frame_of_a_request + frame_of_an_operation;
    if (all > store::largest_request)
        return too_long(s, all);
    return fault ? std::optional(report_path_fault(s, path, *fault)) : std::nullopt;
}

std::optional<errc> node_operations::check(const std::string& path, const std::optional<access_list>& access) const
{
    const auto fault = find_fault(access, session_.options);
    return fault ? std::optional(report_fault(session_, path, *fault)) : std::nullopt;
}

std::size_t node_operations::size_of(const std::optional<access_list>& access) const
{
    return store::size_of(access ? *access : session_.options.access);
}

std::size_t node_operations::size_of(const transaction::operation& op) const
{
    const std::size_t access = op.what == transaction::operation::kind::create ? size_of(op.access) : 0;
    return session_.options.chroot.size() + op.path.size() + op.data.size() + access + frame_of_an_operation;
}

std::size_t node_operations::size_of(const transaction& t) const
{
    std::size_t bytes = 0;
    for (const auto& op : t.operations())
        bytes += size_of(op);
    return bytes;
}

namespace {

path_fault fault_of(const transaction::operation& op)
{
    using kind = transaction::operation::kind;
    if (op.what == kind::create)
        return fault_to_create(op.path, op.created);
    return op.what == kind::remove ? queue::find_node_path_fault(op.path) : fault_to_use(op.path);
}

} // namespace

std::optional<errc> node_operations::check(const transaction& t, std::size_t bytes) const
{
    if (session_.over())
        return session_.over();
    if (bytes + frame_of_a_request > store::largest_request)
        return too_long(session_, bytes + frame_of_a_request);
    for (const auto& op : t.operations()) {
        if (const auto fault = fault_of(op))
            return report_path_fault(session_, op.path, *fault);
        if (const auto why = check(op.path, op.access))
            return why;
        // The C client cannot ask for a container among other operations.
        if (op.what == transaction::operation::kind::create && op.created == node_kind::container)
            return report_fault(
                session_, op.path,
                {"the node's kind", "node_kind::container", "another one: the C client creates none in a transaction"});
        bytes += size_of(op);
        if (bytes + frame_of_a_request > store::largest_request)
            return too_long(session_, bytes + frame_of_a_request);
    }
    return std::nullopt;
}

} // namespace zklock::recipes
