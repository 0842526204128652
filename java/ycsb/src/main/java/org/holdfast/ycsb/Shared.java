package org.holdfast.ycsb;

import java.util.concurrent.Callable;

/** One object for all clients of a process, since YCSB makes one client per thread: the last one closes it. */
final class Shared<T extends AutoCloseable> {
  private T object;
  private int users;

  synchronized T get(Callable<T> open) throws Exception {
    if (users == 0) object = open.call();
    ++users;
    return object;
  }

  synchronized void release() throws Exception {
    if (--users == 0) object.close();
  }
}
