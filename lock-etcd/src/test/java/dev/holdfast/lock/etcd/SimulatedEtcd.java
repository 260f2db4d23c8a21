package dev.holdfast.lock.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.DeleteRangeRequest;
import io.etcd.jetcd.api.DeleteRangeResponse;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.PutResponse;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * What etcd's server does with transactions, leases and watches, in memory and without time: keys with their revisions, conditions
 * that are all evaluated before anything is done, also in transactions within transactions. Not thread-safe.
 */
public final class SimulatedEtcd {
    private static final Comparator<ByteString> ORDER = ByteString.unsignedLexicographicalComparator();

    private final TreeMap<ByteString, KeyValue> keys = new TreeMap<>(ORDER);
    private final Set<Long> leases = new HashSet<>();
    private final List<Watcher> watchers = new ArrayList<>();
    private long revision = 1;
    private long lastLease;

    /** Hears of deletions. */
    record Watcher(ByteString start, ByteString end, Consumer<WatchResponse> ear) {}

    long grant() {
        leases.add(++lastLease);
        return lastLease;
    }

    void revoke(long lease) {
        leases.remove(lease);
        List<ByteString> gone = keys.values().stream()
                .filter(key -> key.getLease() == lease)
                .map(KeyValue::getKey)
                .toList();
        if (!gone.isEmpty()) {
            revision++;
            gone.forEach(this::delete);
        }
    }

    void watch(Watcher watcher) {
        watchers.add(watcher);
        watcher.ear()
                .accept(WatchResponse.newBuilder()
                        .setHeader(header())
                        .setCreated(true)
                        .build());
    }

    void unwatch(Watcher watcher) {
        watchers.remove(watcher);
    }

    /** All keys that begin so, by their creation. */
    List<KeyValue> keysFrom(String start) {
        return keys.values().stream()
                .filter(key -> key.getKey().startsWith(ByteString.copyFromUtf8(start)))
                .sorted(Comparator.comparingLong(KeyValue::getCreateRevision))
                .toList();
    }

    public TxnResponse execute(TxnRequest request) {
        Set<TxnRequest> met = new HashSet<>();
        evaluate(request, met);
        boolean writes = path(request, met).anyMatch(op -> !op.hasRequestRange());
        if (path(request, met)
                .filter(RequestOp::hasRequestPut)
                .map(RequestOp::getRequestPut)
                .anyMatch(put -> put.getLease() != 0 && !leases.contains(put.getLease()))) {
            throw Status.NOT_FOUND
                    .withDescription("etcdserver: requested lease not found")
                    .asRuntimeException();
        }
        long before = revision;
        revision += writes ? 1 : 0;
        boolean[] changed = new boolean[1];
        TxnResponse response = apply(request, met, changed);
        revision = changed[0] ? revision : before;
        return response.toBuilder().setHeader(header()).build();
    }

    private void evaluate(TxnRequest request, Set<TxnRequest> met) {
        if (request.getCompareList().stream().allMatch(this::isTrue)) {
            met.add(request);
        }
        branch(request, met).filter(RequestOp::hasRequestTxn).forEach(inner -> evaluate(inner.getRequestTxn(), met));
    }

    private static Stream<RequestOp> branch(TxnRequest request, Set<TxnRequest> met) {
        return (met.contains(request) ? request.getSuccessList() : request.getFailureList()).stream();
    }

    private static Stream<RequestOp> path(TxnRequest request, Set<TxnRequest> met) {
        return branch(request, met).flatMap(op -> op.hasRequestTxn() ? path(op.getRequestTxn(), met) : Stream.of(op));
    }

    private boolean isTrue(Compare condition) {
        KeyValue key = keys.getOrDefault(condition.getKey(), KeyValue.getDefaultInstance());
        int sign = switch (condition.getTarget()) {
            case MOD -> Long.compare(key.getModRevision(), condition.getModRevision());
            case CREATE -> Long.compare(key.getCreateRevision(), condition.getCreateRevision());
            case VALUE -> ORDER.compare(key.getValue(), condition.getValue());
            default -> throw new UnsupportedOperationException(condition.toString());
        };
        boolean there = keys.containsKey(condition.getKey()) || condition.getTarget() != Compare.CompareTarget.VALUE;
        return there
                && switch (condition.getResult()) {
                    case EQUAL -> sign == 0;
                    case GREATER -> sign > 0;
                    case LESS -> sign < 0;
                    default -> throw new UnsupportedOperationException(condition.toString());
                };
    }

    private TxnResponse apply(TxnRequest request, Set<TxnRequest> met, boolean[] changed) {
        TxnResponse.Builder response = TxnResponse.newBuilder().setSucceeded(met.contains(request));
        branch(request, met).forEach(op -> response.addResponses(apply(op, met, changed)));
        return response.build();
    }

    private ResponseOp apply(RequestOp op, Set<TxnRequest> met, boolean[] changed) {
        ResponseOp.Builder response = ResponseOp.newBuilder();
        if (op.hasRequestRange()) {
            return response.setResponseRange(range(op.getRequestRange())).build();
        }
        if (op.hasRequestTxn()) {
            return response.setResponseTxn(apply(op.getRequestTxn(), met, changed))
                    .build();
        }
        if (op.hasRequestPut()) {
            put(op.getRequestPut());
            changed[0] = true;
            return response.setResponsePut(PutResponse.getDefaultInstance()).build();
        }
        DeleteRangeResponse deleted = delete(op.getRequestDeleteRange());
        changed[0] |= deleted.getDeleted() > 0;
        return response.setResponseDeleteRange(deleted).build();
    }

    private void put(PutRequest put) {
        KeyValue before = keys.get(put.getKey());
        keys.put(
                put.getKey(),
                KeyValue.newBuilder()
                        .setKey(put.getKey())
                        .setValue(put.getValue())
                        .setLease(put.getLease())
                        .setCreateRevision(before == null ? revision : before.getCreateRevision())
                        .setModRevision(revision)
                        .build());
    }

    private DeleteRangeResponse delete(DeleteRangeRequest request) {
        DeleteRangeResponse.Builder response = DeleteRangeResponse.newBuilder();
        for (KeyValue key : between(request.getKey(), request.getRangeEnd())) {
            response.addPrevKvs(key).setDeleted(response.getDeleted() + 1);
            delete(key.getKey());
        }
        return response.build();
    }

    private void delete(ByteString key) {
        keys.remove(key);
        KeyValue gone =
                KeyValue.newBuilder().setKey(key).setModRevision(revision).build();
        WatchResponse news = WatchResponse.newBuilder()
                .setHeader(header())
                .addEvents(Event.newBuilder().setType(Event.EventType.DELETE).setKv(gone))
                .build();
        for (Watcher watcher : List.copyOf(watchers)) {
            if (isBetween(key, watcher.start(), watcher.end())) {
                watcher.ear().accept(news);
            }
        }
    }

    private RangeResponse range(RangeRequest request) {
        List<KeyValue> found = new ArrayList<>(between(request.getKey(), request.getRangeEnd()));
        found.removeIf(
                key -> request.getMaxCreateRevision() != 0 && key.getCreateRevision() > request.getMaxCreateRevision());
        if (request.getSortTarget() == RangeRequest.SortTarget.CREATE) {
            found.sort(Comparator.comparingLong(KeyValue::getCreateRevision));
            if (request.getSortOrder() == RangeRequest.SortOrder.DESCEND) {
                java.util.Collections.reverse(found);
            }
        }
        long limit = request.getLimit() == 0 ? found.size() : request.getLimit();
        return RangeResponse.newBuilder()
                .setHeader(header())
                .setCount(found.size())
                .addAllKvs(found.stream()
                        .limit(limit)
                        .map(key -> request.getKeysOnly()
                                ? key.toBuilder().clearValue().build()
                                : key)
                        .toList())
                .build();
    }

    private List<KeyValue> between(ByteString start, ByteString end) {
        return keys.values().stream()
                .filter(key -> isBetween(key.getKey(), start, end))
                .toList();
    }

    private static boolean isBetween(ByteString key, ByteString start, ByteString end) {
        return end.isEmpty() ? key.equals(start) : ORDER.compare(key, start) >= 0 && ORDER.compare(key, end) < 0;
    }

    private ResponseHeader header() {
        return ResponseHeader.newBuilder().setRevision(revision).setRaftTerm(1).build();
    }
}
