#pragma once
#include "bridge/tls/files.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

struct _krb5_context;
struct _krb5_ccache;

namespace zklock::bridge {

/// A cache of tickets in memory, which nobody else uses. With a keytab, Kerberos writes the tickets that it gets into
/// the user's own cache, unless it is given another.
class memory_cache {
public:
    /// If it cannot be made, its name is empty, and why() says why.
    memory_cache();
    ~memory_cache(); ///< wipes it, but in a forked process leaves it alone: there a lock may be locked for ever

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    /// A server has refused one of its tickets: the next exchange begins with new ones.
    void spoil() noexcept { spoiled_ = true; }
    [[nodiscard]] bool is_spoiled() const noexcept { return spoiled_; }

private:
    const int process_;
    ::_krb5_context* context_ = nullptr;
    ::_krb5_ccache* cache_ = nullptr;
    std::string name_;
    std::string why_;
    std::atomic<bool> spoiled_{false};
};

/// Why no key can be read from a keytab, in Kerberos's words; empty if one can. Blocks, as reading a file does.
[[nodiscard]] std::string keytab_fault(const std::string& keytab);

/// The tickets that a client gets with its keytab. They serve all its connections, as long as they are valid (Kerberos
/// sees to that), no server has refused them, and the keytab is what it was. Thread-safe.
class kerberos_tickets {
public:
    explicit kerberos_tickets(std::string keytab) : keytab_(std::move(keytab)) {}

    /// May block, as reading a file does. Who has the result may use it, even when it is not the current one any more.
    [[nodiscard]] std::shared_ptr<memory_cache> current();

private:
    std::mutex mutex_; // guards what follows
    tls_file keytab_;
    std::shared_ptr<memory_cache> cache_;
};

} // namespace zklock::bridge
