package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.util.List;

/** What the two {@linkplain EtcdMode modes} do differently. Stateless. */
interface EtcdProtocol {

    /** The key of an acquisition. */
    ByteSequence key(dev.holdfast.lock.spi.Acquisition acquisition);

    /** The transaction of one attempt. */
    Txn attempt(Txn txn, EtcdPlace place, SharedLease lease);

    /** Reads its reply. */
    Outcome outcome(EtcdPlace place, TxnResponse reply);

    /** The transaction that removes the acquisition's key, if it is there, and does the rest in any case. */
    Txn remove(Txn txn, EtcdPlace place, List<Op> rest);

    /** Reads its reply: whether the key was there with that create revision. */
    boolean removed(TxnResponse reply, long revision);

    /** The key or range whose first entry is the holder's. */
    ByteSequence holderKey(String name);

    /** How to read it. */
    GetOption holderOption();

    /** Whether waiters have keys of their own that must be kept. */
    boolean queues();
}
