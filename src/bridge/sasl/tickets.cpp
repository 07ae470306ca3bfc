#include "bridge/sasl/tickets.hpp"

#include "bridge/sasl/kdc_calls.hpp"

#include <krb5/krb5.h>

#include <unistd.h>

namespace zklock::bridge {

namespace {

std::string words_of(::krb5_context context, krb5_error_code code)
{
    const char* const words = ::krb5_get_error_message(context, code);
    std::string copy = words;
    ::krb5_free_error_message(context, words);
    return copy;
}

} // namespace

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
    why_ = words_of(context_, code);
}

memory_cache::~memory_cache()
{
    if (::getpid() != process_)
        return;
    const not_stopped_here whole;
    if (cache_)
        ::krb5_cc_destroy(context_, cache_);
    if (context_)
        ::krb5_free_context(context_);
}

std::string keytab_fault(const std::string& keytab)
{
    ::krb5_context context = nullptr;
    ::krb5_keytab keys = nullptr;
    ::krb5_kt_cursor at{};
    ::krb5_keytab_entry first{};
    krb5_error_code code = ::krb5_init_context(&context);
    if (code == 0)
        code = ::krb5_kt_resolve(context, keytab.c_str(), &keys);
    if (code == 0)
        code = ::krb5_kt_start_seq_get(context, keys, &at);
    if (code == 0) {
        code = ::krb5_kt_next_entry(context, keys, &first, &at);
        if (code == 0)
            ::krb5_free_keytab_entry_contents(context, &first);
        ::krb5_kt_end_seq_get(context, keys, &at);
    }
    std::string why = code == 0 ? "" : words_of(context, code);
    if (keys)
        ::krb5_kt_close(context, keys);
    if (context)
        ::krb5_free_context(context);
    return why;
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
