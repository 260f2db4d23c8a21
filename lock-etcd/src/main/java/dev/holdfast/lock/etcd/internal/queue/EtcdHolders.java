package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdValue;
import dev.holdfast.lock.etcd.internal.permit.PermitSlots;
import dev.holdfast.lock.spi.DemandLine;
import io.etcd.jetcd.KeyValue;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/** Splits the oldest keys of a name into holders and waiters. Immutable. */
public final class EtcdHolders {
    /** Keeps an answer below gRPC's limit of 4 MB. */
    public static final int MAX_HOLDERS = 5_000;

    private final List<KeyValue> keys;
    private final DemandLine line;

    EtcdHolders(List<KeyValue> keys) {
        this.keys = keys.stream()
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
        this.line = new PermitSlots(this.keys.stream().map(EtcdValue::entry).toList()).line();
    }

    /** Reads the holders among the oldest keys of a name, the lowest token first. */
    public static CompletableFuture<List<HolderInfo>> of(
            EtcdCalls calls, EtcdProtocol protocol, String name, int most, long timeoutMillis) {
        var call = calls.get(protocol.holderKey(name), protocol.holderOption(name, most));
        return calls.bounded(call, timeoutMillis).thenApply(reply -> new EtcdHolders(reply.getKvs()).holders());
    }

    List<HolderInfo> holders() {
        return those(line::isHeld, EtcdValue::holder);
    }

    List<HolderInfo> waiters() {
        return those(index -> !line.isHeld(index), EtcdValue::waiter);
    }

    private List<HolderInfo> those(IntPredicate which, Function<KeyValue, HolderInfo> info) {
        return IntStream.range(0, keys.size())
                .filter(which)
                .mapToObj(index -> info.apply(keys.get(index)))
                .toList();
    }
}
