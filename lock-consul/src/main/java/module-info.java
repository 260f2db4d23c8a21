/** Locks on Consul. */
module dev.holdfast.lock.consul {
    requires static org.jspecify;
    requires transitive dev.holdfast.lock;
    requires transitive java.net.http;
    requires com.google.gson;

    exports dev.holdfast.lock.consul;

    provides dev.holdfast.lock.LockProvider with
            dev.holdfast.lock.consul.ConsulLockProvider;
}
