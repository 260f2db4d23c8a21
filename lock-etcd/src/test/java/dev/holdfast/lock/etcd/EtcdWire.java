package dev.holdfast.lock.etcd;

import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Carries a client's transactions out, one after the other, on a thread of its own, so that a test can look at the store before and
 * behind each. Those that it watches may be lost, or their answers, and may come late or twice.
 */
public final class EtcdWire implements ClientInterceptor, AutoCloseable {

    /** What becomes of a transaction. */
    public enum Fate {
        PASSES,
        IS_LOST,
        ANSWER_IS_LOST,
        COMES_LATE,
        COMES_TWICE
    }

    /** Who watches. Called on the wire's thread. */
    public interface Observer {
        /** What is sent instead. */
        TxnRequest sending(TxnRequest request);

        /** It has been sent, and nothing has become of it so far. */
        Fate sent(TxnRequest request, Late late);

        /** Carries it out. */
        TxnResponse carryOut(TxnRequest request, Late late, boolean heard);
    }

    /** Sends a transaction to the store, whenever it is called. */
    public interface Late extends Supplier<TxnResponse> {}

    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread made = new Thread(task, "etcd-wire");
        made.setDaemon(true);
        return made;
    });
    private final Predicate<TxnRequest> watched;
    private final Observer observer;

    public EtcdWire(Predicate<TxnRequest> watched, Observer observer) {
        this.watched = watched;
        this.observer = observer;
    }

    /** Has the wire's thread do this, between two transactions, and waits for it. */
    public void between(Runnable task) throws Exception {
        thread.submit(task).get();
    }

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        return "Txn".equals(method.getBareMethodName()) ? new Call<>(method, next) : next.newCall(method, options);
    }

    private TxnResponse meet(TxnRequest request, Late send) {
        if (!watched.test(request)) {
            return send.get();
        }
        Fate fate = observer.sent(request, send);
        if (fate == Fate.ANSWER_IS_LOST) {
            observer.carryOut(request, send, false);
        } else if (fate == Fate.PASSES || fate == Fate.COMES_TWICE) {
            return observer.carryOut(request, send, true);
        }
        throw Status.DEADLINE_EXCEEDED.withDescription("lost by the test").asRuntimeException();
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }

    /** A transaction, which is answered on the wire's thread. */
    private final class Call<ReqT, RespT> extends ClientCall<ReqT, RespT> {
        private final MethodDescriptor<ReqT, RespT> method;
        private final Channel next;
        private @Nullable Listener<RespT> listener;
        private @Nullable ReqT message;

        Call(MethodDescriptor<ReqT, RespT> method, Channel next) {
            this.method = method;
            this.next = next;
        }

        @Override
        public void start(Listener<RespT> responses, Metadata headers) {
            listener = responses;
        }

        @Override
        public void sendMessage(ReqT request) {
            message = request;
        }

        @Override
        public void halfClose() {
            thread.execute(this::answer);
        }

        private void answer() {
            Listener<RespT> responses = Objects.requireNonNull(listener);
            Status status = Status.OK;
            try {
                TxnRequest request = (TxnRequest) Objects.requireNonNull(message);
                TxnRequest sent = watched.test(request) ? observer.sending(request) : request;
                RespT reply = method.getResponseMarshaller()
                        .parse(meet(sent, () -> send(sent)).toByteString().newInput());
                responses.onHeaders(new Metadata());
                responses.onMessage(reply);
            } catch (StatusRuntimeException e) {
                status = e.getStatus();
            } catch (RuntimeException | AssertionError e) {
                status = Status.INTERNAL.withCause(e);
            }
            responses.onClose(status, new Metadata());
        }

        private TxnResponse send(TxnRequest request) {
            ReqT copy =
                    method.getRequestMarshaller().parse(request.toByteString().newInput());
            return (TxnResponse) ClientCalls.blockingUnaryCall(next, method, CallOptions.DEFAULT, copy);
        }

        @Override
        public void request(int messages) {
            // there is one at most, and it is waited for
        }

        @Override
        public void cancel(@Nullable String text, @Nullable Throwable cause) {
            // it goes on, as on a network
        }
    }
}
