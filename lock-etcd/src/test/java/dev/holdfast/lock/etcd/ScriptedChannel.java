package dev.holdfast.lock.etcd;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** A gRPC channel whose calls wait for what a test has the server say. */
public final class ScriptedChannel extends Channel {
    public final List<Call<?, ?>> calls = new CopyOnWriteArrayList<>();
    /** What making a call throws, if anything. */
    @Nullable RuntimeException broken;

    /** One call. */
    public static final class Call<Q, A> extends ClientCall<Q, A> {
        final MethodDescriptor<Q, A> method;
        public final CallOptions options;
        public final List<Q> messages = new CopyOnWriteArrayList<>();
        /** What it was cancelled with. */
        public final CompletableFuture<String> cancelled = new CompletableFuture<>();

        /** Whether the thread of its connection has ended. */
        public boolean ended;

        /** Whether nothing more is sent. */
        public boolean halfClosed;

        private @Nullable Listener<A> listener;

        Call(MethodDescriptor<Q, A> method, CallOptions options) {
            this.method = method;
            this.options = options;
        }

        void answers(A message) {
            Objects.requireNonNull(listener).onMessage(message);
            closes(Status.OK);
        }

        public void says(A message) {
            Objects.requireNonNull(listener).onMessage(message);
        }

        public void closes(Status status) {
            Objects.requireNonNull(listener).onClose(status, new Metadata());
        }

        @Override
        public void start(Listener<A> listener, Metadata headers) {
            this.listener = listener;
        }

        @Override
        public void request(int messages) {}

        @Override
        public void cancel(@Nullable String message, @Nullable Throwable cause) {
            cancelled.complete(String.valueOf(message));
        }

        @Override
        public void halfClose() {
            requireThread();
            halfClosed = true;
        }

        @Override
        public void sendMessage(Q message) {
            requireThread();
            messages.add(message);
        }

        private void requireThread() {
            if (ended) {
                throw new RejectedExecutionException("event executor terminated");
            }
        }
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
        if (broken != null) {
            throw broken;
        }
        Call<Q, A> call = new Call<>(method, options);
        calls.add(call);
        return call;
    }

    @Override
    public String authority() {
        return "etcd";
    }
}
