package dev.holdfast.benchmarks.candidate;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.nio.charset.StandardCharsets;

/** A transaction that puts a key on a lease unless it exists to acquire, a delete to release, by jetcd. */
final class EtcdRaw implements Candidate {
    private static final long LEASE_SECONDS = 600;

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Role role() {
        return Role.FLOOR;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) throws Exception {
        Client client = EtcdClients.open(address);
        long lease = client.getLeaseClient().grant(LEASE_SECONDS).get().getID();
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Key(client.getKVClient(), EtcdClients.bytes("raw/" + name), lease);
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    private record Key(KV kv, ByteSequence key, long lease) implements NamedLock {
        private static final ByteSequence OWNER = ByteSequence.from("owner", StandardCharsets.UTF_8);

        @Override
        public void lock() throws Exception {
            boolean put = kv.txn()
                    .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(0)))
                    .Then(Op.put(
                            key, OWNER, PutOption.builder().withLeaseId(lease).build()))
                    .commit()
                    .get()
                    .isSucceeded();
            if (!put) {
                throw new IllegalStateException("'" + key + "' is taken, and the raw client does not wait");
            }
        }

        @Override
        public void unlock() throws Exception {
            kv.delete(key).get();
        }
    }
}
