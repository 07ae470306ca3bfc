// Prints how the types look like that programs and the shared library hand to each other: how large they are and how
// aligned, where each public member of the structs is, and the numbers of the enumerators. See layout.sh.
#include <zklock/zklock.hpp>

#include <cstddef>
#include <iostream>

namespace {

template <class T> void print(const char* name)
{
    std::cout << name << ' ' << sizeof(T) << ' ' << alignof(T) << '\n';
}

// offsetof is for types of standard layout only.
template <class T, class Of, class Member> void print_member(const char* type, const char* name, Member Of::*member)
{
    static const T object{};
    const auto begin = reinterpret_cast<const char*>(&object);
    std::cout << type << '.' << name << " at " << reinterpret_cast<const char*>(&(object.*member)) - begin << '\n';
}

// Every enumeration tells its enumerators' names, and of other numbers that they are unknown.
template <class E> void print_enum(const char* name)
{
    for (int i = 0; i < 256; ++i)
        if (const auto spelt = to_string(static_cast<E>(i)); spelt != "unknown")
            std::cout << name << "::" << spelt << " = " << i << '\n';
}

void print_number(const char* name, long long number)
{
    std::cout << name << " = " << number << '\n';
}

} // namespace

#define PRINT(type) print<zklock::type>(#type)
#define MEMBER(type, name) print_member<zklock::type>(#type, #name, &zklock::type::name);
#define ENUM(type) print_enum<zklock::type>(#type);
#define NUMBER(name) print_number(#name, zklock::name)

int main()
{
    PRINT(access_entry);
    PRINT(access_list);
    PRINT(acquirable<zklock::guard>);
    PRINT(acquired<zklock::guard>);
    PRINT(client);
    PRINT(client_options);
    PRINT(commit_result);
    PRINT(connection_event);
    PRINT(contender);
    PRINT(credentials);
    PRINT(election);
    PRINT(election_options);
    PRINT(guard);
    PRINT(handoff_metrics);
    PRINT(handoff_options);
    PRINT(held_lock);
    PRINT(latency_histogram);
    PRINT(leadership);
    PRINT(lock_event);
    PRINT(lock_handle);
    PRINT(lock_loss);
    PRINT(lock_metrics);
    PRINT(lock_owner);
    PRINT(lockable);
    PRINT(metrics);
    PRINT(multi_guard);
    PRINT(multi_lock);
    PRINT(mutex);
    PRINT(mutex_options);
    PRINT(node_access);
    PRINT(node_content);
    PRINT(node_stat);
    PRINT(operation_result);
    PRINT(option_fault);
    PRINT(owned_shared_mutex);
    PRINT(permits);
    PRINT(queued_lock);
    PRINT(reentrant_mutex);
    PRINT(result<zklock::guard>);
    PRINT(sasl_options);
    PRINT(semaphore);
    PRINT(semaphore_options);
    PRINT(shared_mutex);
    PRINT(shared_mutex_options);
    PRINT(tls_options);
    PRINT(transaction);
    PRINT(transaction::operation);
    PRINT(wait_report);

#include "members.inc"

    NUMBER(any_version);
    NUMBER(permission::read);
    NUMBER(permission::write);
    NUMBER(permission::create);
    NUMBER(permission::remove);
    NUMBER(permission::admin);
    NUMBER(permission::all);
    NUMBER(latency_histogram::buckets);
    NUMBER(loss_reasons);
}
