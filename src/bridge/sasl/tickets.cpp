#include "bridge/sasl/tickets.hpp"

#include <krb5/krb5.h>

#include <unistd.h>

namespace zklock::bridge {

memory_cache::memory_cache() : process_(::getpid())
{
    char* name = nullptr;
    krb5_error_code code = ::krb5_init_context(&context_);
    if (code == 0)
        code = ::krb5_cc_new_unique(context_, "MEMORY", nullptr, &cache_);
    if (code == 0)
        code = ::krb5_cc_get_full_name(context_, cache_, &name);
    if (code == 0) {
        name_ = name;
        ::krb5_free_string(context_, name);
        return;
    }
    const char* const why = ::krb5_get_error_message(context_, code);
    why_ = why;
    ::krb5_free_error_message(context_, why);
}

memory_cache::~memory_cache()
{
    if (::getpid() != process_)
        return;
    if (cache_)
        ::krb5_cc_destroy(context_, cache_);
    if (context_)
        ::krb5_free_context(context_);
}

std::shared_ptr<memory_cache> kerberos_tickets::current()
{
    const std::lock_guard lock(mutex_);
    if (!cache_ || cache_->is_spoiled() || !keytab_.unchanged()) {
        keytab_.look();
        cache_ = std::make_shared<memory_cache>();
    }
    return cache_;
}

} // namespace zklock::bridge
