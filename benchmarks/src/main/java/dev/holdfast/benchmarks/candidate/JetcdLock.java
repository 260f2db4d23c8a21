package dev.holdfast.benchmarks.candidate;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.Lock;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;
import java.time.Duration;

/**
 * etcd's lock service through jetcd, with a lease of 10 s for each thread, kept alive: with one lease for several threads it
 * would not exclude them.
 */
final class JetcdLock implements Candidate {
    private static final long LEASE_SECONDS = 10;

    @Override
    public String name() {
        return "jetcd-lock";
    }

    @Override
    public Role role() {
        return Role.PEER;
    }

    @Override
    public Duration outlives() {
        return Duration.ofSeconds(LEASE_SECONDS);
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) {
        Client client = EtcdClients.open(address);
        return new Session() {
            @Override
            public NamedLock lock(String name) throws Exception {
                Lease leases = client.getLeaseClient();
                long lease = leases.grant(LEASE_SECONDS).get().getID();
                AutoCloseable keepAlive = leases.keepAlive(lease, new Ignoring());
                return new Held(client.getLockClient(), EtcdClients.bytes(name), leases, lease, keepAlive);
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    private static final class Held implements NamedLock {
        private final Lock locks;
        private final ByteSequence name;
        private final Lease leases;
        private final long lease;
        private final AutoCloseable keepAlive;
        private ByteSequence key = ByteSequence.EMPTY;

        Held(Lock locks, ByteSequence name, Lease leases, long lease, AutoCloseable keepAlive) {
            this.locks = locks;
            this.name = name;
            this.leases = leases;
            this.lease = lease;
            this.keepAlive = keepAlive;
        }

        @Override
        public void lock() throws Exception {
            key = locks.lock(name, lease).get().getKey();
        }

        @Override
        public void unlock() throws Exception {
            locks.unlock(key).get();
        }

        @Override
        public void close() throws Exception {
            keepAlive.close();
            leases.revoke(lease).get();
        }
    }

    private static final class Ignoring implements StreamObserver<LeaseKeepAliveResponse> {
        @Override
        public void onNext(LeaseKeepAliveResponse response) {}

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
    }
}
