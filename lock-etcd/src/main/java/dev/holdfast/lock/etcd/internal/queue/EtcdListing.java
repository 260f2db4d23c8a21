package dev.holdfast.lock.etcd.internal.queue;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.spi.LockName;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.options.GetOption;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * Lists locks by one read of a range of keys. The keys of a name are adjacent, so if the read was cut, only the last
 * name may be incomplete; it is left out. Stateless.
 */
public final class EtcdListing {
    /** Allows for waiters, which have keys too; a larger limit reads more keys. */
    private static final int KEYS_A_LOCK = 10;

    private EtcdListing() {}

    public static CompletableFuture<LockListing> list(
            EtcdCalls calls, EtcdProtocol protocol, String prefix, int limit, long timeoutMillis) {
        GetOption range = GetOption.builder()
                .isPrefix(true)
                .withLimit((limit + 1L) * (protocol.queues() ? KEYS_A_LOCK : 1))
                .build();
        ByteSequence start = protocol.rangeOf(LockName.encodedPrefix(prefix));
        return calls.bounded(calls.get(start, range), timeoutMillis)
                .thenApply(reply -> page(protocol, reply, prefix, limit));
    }

    private static LockListing page(EtcdProtocol protocol, GetResponse reply, String prefix, int limit) {
        Map<String, List<KeyValue>> byName = new TreeMap<>();
        String last = "";
        for (KeyValue entry : reply.getKvs()) {
            Optional<String> name = protocol.nameOf(entry.getKey().toString(StandardCharsets.UTF_8))
                    .flatMap(LockName::percentDecoded)
                    .filter(found -> found.startsWith(prefix));
            if (name.isPresent()) {
                last = name.get();
                byName.computeIfAbsent(last, any -> new ArrayList<>()).add(entry);
            }
        }
        if (reply.isMore() && byName.size() > 1) {
            byName.remove(last);
        }
        List<ListedLock> locks = byName.entrySet().stream()
                .limit(limit)
                .map(entry -> listed(entry.getKey(), entry.getValue()))
                .toList();
        return new LockListing(locks, reply.isMore() || byName.size() > limit);
    }

    /** The time of a waiter is the start of its wait. */
    private static ListedLock listed(String name, List<KeyValue> entries) {
        EtcdHolders line = new EtcdHolders(entries);
        return new ListedLock(
                name,
                line.holders(),
                line.waiters().stream().limit(ListedLock.MAX_WAITERS).toList());
    }
}
