/** Locks in one JVM's memory, for tests and single processes. */
module dev.holdfast.lock.memory {
    requires static org.jspecify;
    requires transitive dev.holdfast.lock;
    requires org.slf4j;

    exports dev.holdfast.lock.memory;

    provides dev.holdfast.lock.LockProvider with
            dev.holdfast.lock.memory.MemoryLockProvider;
}
