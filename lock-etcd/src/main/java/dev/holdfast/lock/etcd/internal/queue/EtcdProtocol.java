package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.etcd.internal.acquisition.AttemptReply;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.KeyWrite;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The differences between the two modes. Thread-safe. */
public interface EtcdProtocol {

    /** The properties of the backend in this mode. */
    BackendInfo info();

    /** The key of an acquisition. */
    ByteSequence key(AcquisitionId acquisition, ClientKeyPool.Slot slot);

    /** The operations of an attempt's one transaction: it puts the key and reads the keys that decide. */
    List<Op> attempt(EtcdAcquisition acquisition, KeyWrite write);

    /**
     * Asks by a read that costs little whether another acquisition is ahead of a new one.
     *
     * @return null if an attempt costs no more
     */
    default @Nullable CompletableFuture<Boolean> isBusy(EtcdCalls calls, AcquisitionId acquisition) {
        return null;
    }

    /** Interprets the result of a write. */
    AttemptReply outcome(EtcdAcquisition acquisition, ConditionalWrite.Result result);

    /**
     * Removes the acquisition's key, if it exists, and executes the other operations in any case.
     *
     * @return whether the key existed with that create revision
     */
    CompletableFuture<Boolean> remove(EtcdCalls calls, EtcdAcquisition acquisition, long revision, List<Op> rest);

    /** The key or range whose first entries are the holders. */
    ByteSequence holderKey(String name);

    /** The option that reads its oldest entries. */
    GetOption holderOption(String name, long most);

    /** The common prefix of the keys of all names whose encoded form has this prefix. */
    ByteSequence rangeOf(String encodedPrefix);

    /** The encoded name in a key of such a range; empty if the key belongs to no acquisition. */
    Optional<String> nameOf(String key);

    /** Whether waiters have keys of their own, which must be kept alive; only then there are shares and permits. */
    boolean queues();

    /** See {@link dev.holdfast.lock.spi.LockBackend#changeLimit}. */
    CompletableFuture<Integer> changeLimit(EtcdCalls calls, String name, int from, int to);
}
