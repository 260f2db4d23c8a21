package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.LeaseGrantResponse;
import io.etcd.jetcd.api.LeaseRevokeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.op.TxnImpl;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.OptionsUtil;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/**
 * A jetcd client of a {@link SimulatedEtcd}. The test decides when its requests, their answers and the events of its
 * watches arrive; leases are granted and revoked at once. One thread uses it; requests may be sent by others.
 */
final class SimulatedClient {
    private final SimulatedEtcd server;
    private final List<Request> sent = new CopyOnWriteArrayList<>();
    private final List<Answer> answers = new ArrayList<>();
    private final List<Runnable> events = new ArrayList<>();
    private final List<Long> leases = new ArrayList<>();
    private final Set<Request> executed = new HashSet<>();
    private long executedAt;
    /** For whom requests are made now. */
    private Object asking = this;

    SimulatedClient(SimulatedEtcd server) {
        this.server = server;
    }

    /** A pending request, or one that may be repeated; its later effects have no answer. */
    public record Request(Object of, TxnRequest message, CompletableFuture<TxnResponse> answer) {}

    /** A pending answer. */
    record Answer(Request to, TxnResponse message, long executedAt) {}

    List<Request> sent() {
        return sent;
    }

    public List<Answer> answers() {
        return answers;
    }

    List<Runnable> events() {
        return events;
    }

    /** Assigns later requests to that client. */
    void asks(Object who) {
        asking = who;
    }

    /** A request arrives. */
    void execute(Request request, long time) {
        if (!executed.add(request) || request.answer().isDone()) {
            executeUnheard(request);
            return;
        }
        asks(request.of());
        try {
            TxnResponse response = new TxnResponse(server.execute(request.message()), ByteSequence.EMPTY);
            answers.add(new Answer(request, response, time));
        } catch (StatusRuntimeException refused) {
            request.answer().completeExceptionally(refused);
        }
    }

    private void executeUnheard(Request request) {
        try {
            server.execute(request.message());
        } catch (StatusRuntimeException refused) {
            // its lease is gone by now
        }
    }

    /** When the request was executed whose answer was delivered last. */
    long executedAt() {
        return executedAt;
    }

    void deliver(Answer answer) {
        executedAt = answer.executedAt();
        asks(answer.to().of());
        answer.to().answer().complete(answer.message());
    }

    /** The answer is no longer awaited; the request may still arrive. */
    void giveUp(Request request) {
        asks(request.of());
        request.answer().completeExceptionally(Status.DEADLINE_EXCEEDED.asRuntimeException());
    }

    /** The process is gone, and its leases end. */
    void crash() {
        endLeases();
        answers.clear();
        events.clear();
    }

    void endLeases() {
        leases.forEach(server::revoke);
        leases.clear();
    }

    Client client() {
        KV kv = proxy(KV.class, (self, method, arguments) -> switch (method.getName()) {
            case "txn" -> TxnImpl.newTxn(this::send, ByteSequence.EMPTY);
            case "get" ->
                single(
                        Op.get((ByteSequence) arguments[0], (GetOption) arguments[1]),
                        reply -> reply.getGetResponses().get(0));
            case "delete" ->
                single(
                        Op.delete((ByteSequence) arguments[0], (DeleteOption) arguments[1]),
                        reply -> reply.getDeleteResponses().get(0));
            default -> throw new UnsupportedOperationException(method.getName());
        });
        Lease lease = proxy(Lease.class, (self, method, arguments) -> switch (method.getName()) {
            case "grant" -> CompletableFuture.completedFuture(grant((Long) arguments[0]));
            case "revoke" -> {
                server.revoke((Long) arguments[0]);
                yield CompletableFuture.completedFuture(
                        new io.etcd.jetcd.lease.LeaseRevokeResponse(LeaseRevokeResponse.getDefaultInstance()));
            }
            default -> throw new UnsupportedOperationException(method.getName());
        });
        Watch watch = proxy(
                Watch.class,
                (self, method, arguments) ->
                        watch((ByteSequence) arguments[0], (WatchOption) arguments[1], (Watch.Listener) arguments[2]));
        return proxy(Client.class, (self, method, arguments) -> switch (method.getName()) {
            case "getKVClient" -> kv;
            case "getLeaseClient" -> lease;
            case "getWatchClient" -> watch;
            default -> throw new UnsupportedOperationException(method.getName());
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private CompletableFuture<TxnResponse> send(TxnRequest message) {
        Request request = new Request(asking, message, new CompletableFuture<>());
        sent.add(request);
        return request.answer();
    }

    private <T> CompletableFuture<T> single(Op op, Function<TxnResponse, T> part) {
        return TxnImpl.newTxn(this::send, ByteSequence.EMPTY).Then(op).commit().thenApply(part);
    }

    private io.etcd.jetcd.lease.LeaseGrantResponse grant(long seconds) {
        long id = server.grant();
        leases.add(id);
        return new io.etcd.jetcd.lease.LeaseGrantResponse(
                LeaseGrantResponse.newBuilder().setID(id).setTTL(seconds).build());
    }

    private Watch.Watcher watch(ByteSequence start, WatchOption option, Watch.Listener listener) {
        io.etcd.jetcd.ByteSequence end = option.isPrefix()
                ? OptionsUtil.prefixEndOf(start)
                : option.getEndKey().orElse(ByteSequence.EMPTY);
        SimulatedEtcd.Watcher watcher = new SimulatedEtcd.Watcher(
                com.google.protobuf.ByteString.copyFrom(start.getBytes()),
                com.google.protobuf.ByteString.copyFrom(end.getBytes()),
                news -> events.add(() -> listener.onNext(new WatchResponse(news, ByteSequence.EMPTY))));
        server.watch(watcher);
        return proxy(Watch.Watcher.class, (self, method, arguments) -> {
            server.unwatch(watcher);
            return null;
        });
    }
}
