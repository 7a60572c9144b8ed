#pragma once

#include <utility>

#include "broker/call.h"

namespace barnabas::broker {

/// Runs work that may wait for a device (an old segment, a volume's size) on the disk pool and answers with
/// what it returns. `Work` is Response(Call&, Request&); the request borrows from the call's frame, which
/// stays.
template <class Request, class Work>
void answer_from_disk_pool(Call call, Request request, Work work) {
  io::DiskPool& pool = call.services().disk_pool;
  // A refused submission destroys the call, which closes the connection: the pool is full or shut down.
  (void)pool.submit([call = std::move(call), request = std::move(request), work = std::move(work)]() mutable {
    call.reply(work(call, request));
  });
}

}  // namespace barnabas::broker
