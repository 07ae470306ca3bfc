#include "bridge/wire/result_codes.hpp"
#include "bridge/wire/store_requests.hpp"
#include "bridge/wire/wire_library.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Batches: each is one multi of the C client. What the library leaves unchecked there is checked here first: it frees
// what it never allocated when the session is over, and aborts at a container. It frees that, too, when a path is
// invalid; but those have been checked.

namespace zklock::bridge {

namespace {

// The pieces of a packet, in bytes.
constexpr std::size_t request_header = 8;
constexpr std::size_t write_header = 9; // and one more behind the last write
constexpr std::size_t number = 4;
constexpr std::size_t text(std::string_view s)
{
    return number + s.size();
}

/// What a sequence number may add to a path: it is negative past 2^31.
constexpr std::size_t longest_sequence = sizeof "-2147483648" - 1;

constexpr std::size_t most_spare = 4;
constexpr std::size_t most_spare_writes = 256;
constexpr std::size_t most_spare_texts = 64 * 1024;

/// How much there is in a batch.
struct batch_size {
    std::size_t writes = 0;
    std::size_t texts = 0;   ///< bytes of the paths, each with its NUL, and of those of the nodes created
    std::size_t entries = 0; ///< of access lists that are not the client's
    bool lists_are_texts = true;
};

/// Nothing for a batch that the library or the servers do not take.
std::optional<batch_size> measure(std::span<const store::batch_write> writes, std::size_t chroot,
                                  const access_list& clients)
{
    using kind = store::batch_write::kind;
    batch_size all{writes.size()};
    const std::size_t clients_size = store::size_of(clients);
    std::size_t packet = request_header + write_header;
    for (const auto& write : writes) {
        const bool creates = write.what == kind::create;
        if (creates && write.created == store::node_kind::container)
            return std::nullopt;
        const std::size_t path = chroot + write.path.size();
        packet += write_header + number + path + number; // the last is a version, or a create's mode
        if (creates || write.what == kind::set)
            packet += text(write.data);
        if (creates)
            packet += write.access ? store::size_of(*write.access) : clients_size;
        if (creates && write.access) {
            all.entries += write.access->entries().size();
            all.lists_are_texts = all.lists_are_texts && is_text(*write.access);
        }
        all.texts += path + 1 + (creates ? path + longest_sequence + 1 : 0);
        if (packet > store::largest_request)
            return std::nullopt;
    }
    return writes.empty() ? std::nullopt : std::optional(all);
}

/// Everything of a batch that the library refers to, in a few pieces of memory however many writes there are.
class sent_batch final : public batch_results {
public:
    /// Empties it, and makes room.
    void prepare(const batch_size& size)
    {
        created.clear();
        set.clear();
        failed = store::batch_reply::no_write;
        operations.assign(size.writes, {});
        results.assign(size.writes, {});
        stats.clear();
        stats.reserve(size.writes);
        lists.clear();
        lists.reserve(size.writes);
        entries.resize(size.entries);
        if (size.texts <= texts_size_)
            return;
        texts_ = std::make_unique_for_overwrite<char[]>(size.texts);
        texts_size_ = size.texts;
    }
    /// Makes the operations, once there is room.
    void fill(std::span<const store::batch_write> writes, const std::string& chroot, const ACL_vector& clients)
    {
        using kind = store::batch_write::kind;
        char* at = texts_.get();
        ACL* entry = entries.data();
        for (zoo_op_t* operation = operations.data(); const auto& write : writes) {
            char* const path = at;
            at = std::copy(chroot.begin(), chroot.end(), at);
            // What is created at "/" is a child of the chroot's node, with no name but its number.
            if (write.path != "/" || chroot.empty() || write.what == kind::create)
                at = std::copy(write.path.begin(), write.path.end(), at);
            *at++ = '\0';
            const auto data_size = static_cast<int>(write.data.size());
            switch (write.what) {
            case kind::create: {
                const auto room = chroot.size() + write.path.size() + longest_sequence + 1;
                const ACL_vector* access = &clients;
                if (write.access) {
                    lists.push_back({static_cast<std::int32_t>(write.access->entries().size()), entry});
                    access = &lists.back();
                    entry = put_entries(*write.access, entry);
                }
                zoo_create_op_init(operation, path, write.data.data(), data_size, access, to_mode(write.created), at,
                                   static_cast<int>(room));
                at += room;
                break;
            }
            case kind::remove: zoo_delete_op_init(operation, path, write.version); break;
            case kind::set:
                zoo_set_op_init(operation, path, write.data.data(), data_size, write.version, &stats.emplace_back());
                break;
            case kind::check: zoo_check_op_init(operation, path, write.version); break;
            }
            ++operation;
        }
    }
    /// Writes before the one that failed are told to be all right, and those behind it that they were not looked at.
    void note_failure(int code) noexcept
    {
        if (code == ZOK || to_outcome(code) == store::outcome::unknown)
            return;
        const auto at = std::ranges::find(results, code, &zoo_op_result_t::err);
        if (at != results.end())
            failed = static_cast<std::size_t>(at - results.begin());
    }
    [[nodiscard]] bool is_small() const noexcept
    {
        return operations.capacity() <= most_spare_writes && entries.capacity() <= most_spare_writes &&
               texts_size_ <= most_spare_texts;
    }

    std::vector<zoo_op_t> operations;
    std::vector<zoo_op_result_t> results;
    std::vector<struct Stat> stats; ///< room for the Stat of each node that is set
    std::vector<ACL_vector> lists;  ///< access lists that are not the client's
    std::vector<ACL> entries;       ///< theirs

private:
    std::unique_ptr<char[]> texts_;
    std::size_t texts_size_ = 0;
};

} // namespace

void store_requests::batch(std::span<const store::batch_write> writes, batch_done done)
{
    submit(answered_by::leader, std::move(done), [&](request& r) -> int {
        if (is_unrecoverable(handle_))
            return ZCONNECTIONLOSS;
        const auto size = measure(writes, chroot_.size(), options_.access);
        if (!size)
            return ZBADARGUMENTS;
        if (!size->lists_are_texts)
            return ZINVALIDACL;
        if (spare_results_.empty()) {
            r.results = std::make_unique<sent_batch>();
        } else {
            r.results = std::move(spare_results_.back());
            spare_results_.pop_back();
        }
        auto& sent = static_cast<sent_batch&>(*r.results);
        sent.prepare(*size);
        const ACL_vector clients = access_->refer_to(options_.access);
        sent.fill(writes, chroot_, clients);
        r.has_clients_access = sent.lists.empty();
        const auto answered = [](int code, const void* context) noexcept {
            const auto& of = *static_cast<const request*>(context);
            auto& results = static_cast<sent_batch&>(*of.results);
            results.note_failure(code);
            finish(code, context, [&](answer&) {
                for (const auto& result : results.results)
                    if (result.value) // only creates have one
                        results.created.push_back(of.sender->without_chroot(result.value));
                for (const auto& stat : results.stats)
                    results.set.push_back(stat_of(&stat));
            });
        };
        return zoo_amulti(handle_, static_cast<int>(writes.size()), sent.operations.data(), sent.results.data(),
                          answered, &r);
    });
}

void store_requests::take_back(std::unique_ptr<batch_results> read)
{
    if (spare_results_.size() < most_spare && static_cast<sent_batch&>(*read).is_small())
        spare_results_.push_back(std::move(read));
}

} // namespace zklock::bridge
