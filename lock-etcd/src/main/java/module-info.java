/** Locks on etcd. */
module dev.holdfast.lock.etcd {
    requires static org.jspecify;
    requires transitive dev.holdfast.lock;
    requires transitive jetcd.core;
    requires com.google.common;
    requires dev.failsafe.core;
    requires io.grpc;
    requires io.grpc.netty;
    requires io.grpc.stub;
    requires io.netty.common;
    requires io.netty.handler;
    requires io.netty.transport;
    requires io.vertx.core;
    requires jetcd.common;
    requires jetcd.grpc;
    requires org.slf4j;

    exports dev.holdfast.lock.etcd;

    provides dev.holdfast.lock.LockProvider with
            dev.holdfast.lock.etcd.EtcdLockProvider;
}
