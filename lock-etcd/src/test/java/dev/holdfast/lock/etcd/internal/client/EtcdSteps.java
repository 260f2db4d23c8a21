package dev.holdfast.lock.etcd.internal.client;

import com.google.protobuf.ByteString;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdWire;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdModelTest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.support.ModelTrace;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.etcd.jetcd.options.LeaseOption;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Executes the steps that {@link EtcdModelTest} compares with verification/models/etcd.table: the store's state before and after
 * each, read without the client, and the client's state before it sent. All on one wire's thread, except for the test's
 * own actions in between.
 */
public final class EtcdSteps implements EtcdWire.Observer {

    /** The state of a key in the newest answer to an acquisition: the revision of that answer, and those of the key. */
    record Told(long at, long created, long modified) {
        static final Told NOTHING = new Told(0, 0, 0);
    }

    /** A write that may arrive again. */
    public record Pending(TxnRequest request, EtcdWire.Late late, Told told, boolean answered) {
        public boolean isOf(AcquisitionId acquisition) {
            return owner(put(request)).equals(acquisition.owner().toString());
        }
    }

    private final EtcdFixture fixture;
    private final String name;
    private final ModelTrace trace;
    private final Random random;
    private final Map<String, Told> told = new HashMap<>();
    private final List<Pending> pending = new ArrayList<>();
    private boolean faults;
    private boolean onTheCreateRevision;
    private EtcdWire.@Nullable Fate nextFate;
    private @Nullable String lastAnswer;

    public EtcdSteps(EtcdFixture fixture, String name, ModelTrace trace, Random random) {
        this.fixture = fixture;
        this.name = name;
        this.trace = trace;
        this.random = random;
    }

    /** Writes that are sent from now on may be lost, late or repeated, or not. */
    public void faults(boolean on) {
        faults = on;
        lastAnswer = null;
    }

    /** What becomes of the next write that may be disturbed. */
    public void nextFate(EtcdWire.Fate fate) {
        nextFate = fate;
    }

    /** Puts the fault back that made two holders: writes are conditional on the revision that never changes. */
    public void onTheCreateRevision() {
        onTheCreateRevision = true;
    }

    @Override
    public TxnRequest sending(TxnRequest request) {
        Told known = toldTo(request);
        if (!onTheCreateRevision || known.created() == 0) {
            return request;
        }
        TxnRequest.Builder changed = request.toBuilder();
        for (Compare.Builder condition : changed.getCompareBuilderList()) {
            if (condition.getTarget() == Compare.CompareTarget.MOD) {
                condition.setTarget(Compare.CompareTarget.CREATE).setCreateRevision(known.created());
            }
        }
        return changed.build();
    }

    /** What the last write said that was answered to its client. */
    public @Nullable String lastAnswer() {
        return lastAnswer;
    }

    /** The writes that may still arrive. */
    public List<Pending> pending() {
        return pending;
    }

    public boolean isWriteOfAPlace(TxnRequest request) {
        return !request.getSuccessList().isEmpty()
                && request.getSuccess(0).hasRequestPut()
                && put(request).getKey().toStringUtf8().startsWith(queue());
    }

    private String queue() {
        return fixture.keys().queue(name).toString(StandardCharsets.UTF_8);
    }

    private static PutRequest put(TxnRequest request) {
        return request.getSuccess(0).getRequestPut();
    }

    private static String owner(PutRequest put) {
        String value = put.getValue().toStringUtf8();
        return value.substring(0, value.indexOf(' '));
    }

    @Override
    public EtcdWire.Fate sent(TxnRequest request, EtcdWire.Late late) {
        EtcdWire.Fate fate = EtcdWire.Fate.PASSES;
        if (nextFate != null) {
            fate = nextFate;
            nextFate = null;
        } else if (faults && random.nextInt(3) == 0) {
            fate = EtcdWire.Fate.values()[1 + random.nextInt(EtcdWire.Fate.values().length - 1)];
        }
        if (fate == EtcdWire.Fate.COMES_LATE || fate == EtcdWire.Fate.COMES_TWICE) {
            pending.add(new Pending(request, late, toldTo(request), fate == EtcdWire.Fate.COMES_TWICE));
        }
        return fate;
    }

    private Told toldTo(TxnRequest request) {
        return told.getOrDefault(owner(put(request)), Told.NOTHING);
    }

    @Override
    public TxnResponse carryOut(TxnRequest request, EtcdWire.Late late, boolean heard) {
        return carryOut(request, late, toldTo(request), heard);
    }

    /** Has a late or repeated write arrive. */
    public void arrives(Pending write) {
        pending.remove(write);
        if (write.answered()
                && write.told().modified() == 0
                && ours(look(), put(write.request())).isEmpty()) {
            return; // no client sends it again after that answer, and no answered creation is repeated
        }
        try {
            carryOut(write.request(), write.late(), write.told(), false);
        } catch (StatusRuntimeException e) {
            // noted, without waiting for it
        }
    }

    private TxnResponse carryOut(TxnRequest request, EtcdWire.Late late, Told before, boolean heard) {
        PutRequest put = put(request);
        List<KeyValue> queue = look();
        Optional<KeyValue> mine = ours(queue, put);
        String tomb = isThere(request.getCompareList()) ? "yes" : "no";
        String lease = lives(put.getLease()) ? "lives" : "gone";
        TxnResponse reply = null;
        StatusRuntimeException failure = null;
        try {
            reply = late.get();
        } catch (StatusRuntimeException e) {
            failure = e;
        }
        String answer = failure == null ? answer(reply) : refusal(failure);
        List<KeyValue> behind = look();
        if (heard) {
            lastAnswer = answer;
        }
        if (heard && reply != null) {
            hears(owner(put), reply, ours(behind, put), before);
        }
        String key = put.getKey().toStringUtf8(); // which the client's next acquisition may have
        boolean asTold = queue.stream()
                        .filter(present -> present.getKey()
                                .toString(StandardCharsets.UTF_8)
                                .equals(key))
                        .mapToLong(KeyValue::getModRevision)
                        .sum()
                == before.modified();
        if (request.getSuccessList().stream().noneMatch(op -> op.hasRequestRange())) {
            return orThrow(reply, failure); // a renewal's: it is looked at as a whole
        }
        trace.add(new ModelTrace.Step(
                "attempt",
                Map.of(
                        "tomb", tomb,
                        "there", mine.isPresent() ? "yes" : "no",
                        "as", asTold ? "yes" : "no",
                        "lease", lease,
                        "place", isBehind(queue, mine, put) ? "behind" : "first",
                        "on",
                                mine.filter(own -> own.getLease() != put.getLease())
                                                .isPresent()
                                        ? "other"
                                        : "lease"),
                answer,
                Map.of("key", Set.of(change(queue, behind, put)))));
        return orThrow(reply, failure);
    }

    private static TxnResponse orThrow(@Nullable TxnResponse reply, @Nullable StatusRuntimeException failure) {
        if (reply == null) {
            throw Objects.requireNonNull(failure);
        }
        return reply;
    }

    /** Takes it as the client does, except for states older than the latest. */
    private void hears(String owner, TxnResponse reply, Optional<KeyValue> now, Told before) {
        long at = reply.getHeader().getRevision();
        if (at >= told.getOrDefault(owner, Told.NOTHING).at()) {
            told.put(
                    owner,
                    now.map(key -> new Told(at, key.getCreateRevision(), key.getModRevision()))
                            .orElse(new Told(at, 0, 0)));
        }
    }

    /** A step of the client that is looked at as a whole: a renewal, a release or an abandonment. */
    public void add(
            String event,
            AcquisitionId asking,
            String lease,
            String on,
            List<KeyValue> found,
            List<KeyValue> left,
            String answer) {
        PutRequest put = PutRequest.newBuilder()
                .setValue(ByteString.copyFromUtf8(asking.owner() + " "))
                .build();
        trace.add(new ModelTrace.Step(
                event,
                Map.of(
                        "tomb",
                        "no",
                        "there",
                        ours(found, put).isPresent() ? "yes" : "no",
                        "as",
                        "yes",
                        "lease",
                        lease,
                        "place",
                        "first",
                        "on",
                        on),
                answer,
                Map.of("key", Set.of(change(found, left, put)))));
    }

    /** What happened to the own key; if anything happened to another's, that. */
    private static String change(List<KeyValue> before, List<KeyValue> after, PutRequest put) {
        Optional<KeyValue> from = ours(before, put);
        Optional<KeyValue> to = ours(after, put);
        if (!text(others(before, put)).equals(text(others(after, put)))) {
            return "another's";
        }
        if (to.isEmpty()) {
            return from.isEmpty() ? "same" : "gone";
        }
        boolean onLease = put.getLease() == 0 || to.get().getLease() == put.getLease();
        if (from.isEmpty()) {
            return onLease && to.get().getCreateRevision() == to.get().getModRevision() ? "made" : "made elsewhere";
        }
        if (to.get().getModRevision() == from.get().getModRevision()) {
            return "same";
        }
        return onLease && to.get().getCreateRevision() == from.get().getCreateRevision() ? "moved" : "made again";
    }

    public List<KeyValue> look() {
        try {
            return fixture.find(name, 0);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static Optional<KeyValue> ours(List<KeyValue> queue, PutRequest put) {
        return queue.stream().filter(key -> isOurs(key, put)).findFirst();
    }

    private static boolean isOurs(KeyValue key, PutRequest put) {
        return key.getValue().toString(StandardCharsets.UTF_8).startsWith(owner(put) + " ");
    }

    private static List<KeyValue> others(List<KeyValue> queue, PutRequest put) {
        return queue.stream().filter(key -> !isOurs(key, put)).toList();
    }

    private static String text(List<KeyValue> keys) {
        return keys.stream()
                .map(key -> key.getKey() + " " + key.getModRevision() + " " + key.getLease())
                .toList()
                .toString();
    }

    private static boolean isBehind(List<KeyValue> queue, Optional<KeyValue> mine, PutRequest put) {
        return others(queue, put).stream()
                .anyMatch(other ->
                        mine.isEmpty() || other.getCreateRevision() < mine.get().getCreateRevision());
    }

    private static String answer(TxnResponse reply) {
        if (!reply.getSucceeded()) {
            return reply.getResponses(0).getResponseRange().getCount() > 0 ? "notheld" : "again";
        }
        boolean alone = reply.getResponsesList().stream()
                .filter(part -> part.hasResponseRange())
                .allMatch(part -> part.getResponseRange().getKvsCount() < 2);
        return alone ? "granted" : "busy";
    }

    private static String refusal(StatusRuntimeException failure) {
        return failure.getStatus().getCode() == Status.Code.NOT_FOUND ? "lost" : failure.toString();
    }

    /** Whether the tombstone is there which the write must not find. */
    private boolean isThere(List<Compare> conditions) {
        return conditions.stream()
                .map(condition -> condition.getKey().toStringUtf8())
                .filter(key -> key.contains("~gone/"))
                .anyMatch(key -> {
                    try {
                        return fixture.admin()
                                        .getKVClient()
                                        .get(EtcdKeys.bytes(key))
                                        .get(1, TimeUnit.MINUTES)
                                        .getCount()
                                > 0;
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    boolean lives(long lease) {
        try {
            return fixture.admin()
                            .getLeaseClient()
                            .timeToLive(lease, LeaseOption.DEFAULT)
                            .get(1, TimeUnit.MINUTES)
                            .getTTL()
                    >= 0;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
