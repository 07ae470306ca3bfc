// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/operations.hpp"
#include "zklock/node.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The start functions of a client's operations on nodes; see initiation.hpp.

namespace zklock::detail {

void start_create(std::shared_ptr<client_handle>, std::string path, std::string data, node_kind,
                  std::optional<access_list>, handler_of<std::string>);
void start_get(std::shared_ptr<client_handle>, std::string path, handler_of<node_content>);
void start_set(std::shared_ptr<client_handle>, std::string path, std::string data, std::int32_t version,
               handler_of<node_stat>);
void start_remove(std::shared_ptr<client_handle>, std::string path, std::int32_t version, void_handler);
void start_children(std::shared_ptr<client_handle>, std::string path, handler_of<std::vector<std::string>>);
void start_exists(std::shared_ptr<client_handle>, std::string path, handler_of<std::optional<node_stat>>);
void start_get_acl(std::shared_ptr<client_handle>, std::string path, handler_of<node_access>);
void start_set_acl(std::shared_ptr<client_handle>, std::string path, access_list, std::int32_t acl_version,
                   void_handler);

void start_wait_created(std::shared_ptr<client_handle>, std::string path, handler_of<node_stat>);
/// Without `seen`, what the first look finds is waited for.
void start_wait_deleted(std::shared_ptr<client_handle>, std::string path, std::optional<node_stat> seen, void_handler);
void start_wait_changed(std::shared_ptr<client_handle>, std::string path, node_stat seen,
                        handler_of<std::optional<node_stat>>);
void start_wait_children_changed(std::shared_ptr<client_handle>, std::string path, node_stat seen,
                                 handler_of<std::optional<node_stat>>);

using commit_handler = handler_of<commit_result>;
void start_commit(std::shared_ptr<client_handle>, transaction, commit_handler);
/// `owner` is null for a guard that is empty. The guard may be gone by the time the commit starts: a commit that has
/// not started does not keep the lock.
void start_guarded_commit(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, transaction, commit_handler);

} // namespace zklock::detail
