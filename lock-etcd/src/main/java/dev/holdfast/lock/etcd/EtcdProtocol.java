package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.AcquisitionId;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What the two {@linkplain EtcdMode modes} do differently. Stateless. */
interface EtcdProtocol {

    /** The key of an acquisition. */
    ByteSequence key(AcquisitionId acquisition, QueueSlots.Slot slot);

    /** The operations of an attempt's one transaction: above all, it puts the key and reads what decides. */
    List<Op> attempt(EtcdAcquisition acquisition, KeyWrite write);

    /** What the write's result means. */
    Outcome outcome(EtcdAcquisition acquisition, ConditionalWrite.Result result);

    /**
     * Removes the acquisition's key, if it is there, and does the rest in any case.
     *
     * @return whether the key was there with that create revision
     */
    CompletableFuture<Boolean> remove(EtcdCalls calls, EtcdAcquisition acquisition, long revision, List<Op> rest);

    /** The key or range whose first entries are the holders'. */
    ByteSequence holderKey(String name);

    /** How to read the oldest of its entries. */
    GetOption holderOption(String name, long most);

    /** What the keys of all names begin with whose encoded form begins so. */
    ByteSequence rangeOf(String encodedPrefix);

    /** The encoded name in a key that was found in such a range; empty for a key that is not of an acquisition. */
    Optional<String> nameOf(String key);

    /** Whether waiters have keys of their own that must be kept; then there are shares and permits as well. */
    boolean queues();

    /** See {@link dev.holdfast.lock.spi.LockBackend#changeLimit}. */
    CompletableFuture<Integer> changeLimit(EtcdCalls calls, String name, int from, int to);
}
