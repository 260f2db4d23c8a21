package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.support.BackgroundLog;
import io.etcd.jetcd.api.WatchCancelRequest;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Carries all watches of one lock client on one HTTP/2 stream. jetcd opens a stream for each watch, and a server or a
 * proxy limits the streams of a connection: with 100 waits, a limit of 100 would leave no stream for renewals.
 *
 * <p>etcd answers the creations of a stream in their order, and reports no event of a watch before that answer, so
 * {@link Stream} needs no identifiers of its own. The stream closes with its last watch, so an idle client has none. A stream is
 * of one channel: a client that is replaced has another.
 *
 * <p>etcd checks the rights of a new watch by the token with which its stream began. So a refused watch may succeed on a
 * newer stream: after a refusal, new watches begin another one.
 *
 * <p>Thread-safe. No listener is called with {@link #mutex}; sending a message only queues it.
 */
final class WatchStreams {
    private static final BackgroundLog LOG = BackgroundLog.of(WatchStreams.class);

    /** The request for which a call is created; absent for calls that are not shared. */
    static final Context.Key<Ask> ASKED = Context.key("holdfast-watch");

    /** With more streams, a refusal does not begin another one. */
    private static final int MAX_STREAMS = 8;

    private final ReentrantLock mutex = new ReentrantLock();
    private final List<Stream> streams = new ArrayList<>();
    private @Nullable Stream current;

    /** One request for a watch. */
    final class Ask {
        private volatile boolean taken;

        /** Creates the call of a watch, on a shared stream of that channel. */
        ClientCall<WatchRequest, WatchResponse> take(
                Channel channel, Supplier<ClientCall<WatchRequest, WatchResponse>> calls) {
            taken = true;
            return new SharedWatch(channel, calls);
        }

        /** Whether the client's channel shares watches. */
        boolean isTaken() {
            return taken;
        }
    }

    Ask ask() {
        return new Ask();
    }

    /** One watch, in the form that jetcd expects: a call of its own. */
    private final class SharedWatch extends ClientCall<WatchRequest, WatchResponse> {
        private final Channel channel;
        private final Supplier<ClientCall<WatchRequest, WatchResponse>> calls;
        private @Nullable Listener<WatchResponse> listener;
        private @Nullable Metadata headers;
        /** These are guarded by the mutex. */
        private @Nullable Stream stream;

        private @Nullable Long id;
        private boolean ended;

        SharedWatch(Channel channel, Supplier<ClientCall<WatchRequest, WatchResponse>> calls) {
            this.channel = channel;
            this.calls = calls;
        }

        Listener<WatchResponse> listener() {
            return Objects.requireNonNull(listener);
        }

        @Override
        public void start(Listener<WatchResponse> responses, Metadata sent) {
            listener = responses;
            headers = sent;
        }

        @Override
        public void sendMessage(WatchRequest request) {
            if (!request.hasCreateRequest()) {
                return; // jetcd cancels a watch and ends its call at once; end() cancels
            }
            Status failure = null;
            mutex.lock();
            try {
                if (!ended && stream == null) {
                    stream = stream(channel, calls, Objects.requireNonNull(headers));
                    failure = stream.create(this, request);
                }
            } finally {
                mutex.unlock();
            }
            if (failure != null) {
                listener().onClose(failure, new Metadata());
            }
        }

        /** The shared stream asks for all messages. */
        @Override
        public void request(int messages) {}

        @Override
        public void halfClose() {
            end();
        }

        @Override
        public void cancel(@Nullable String message, @Nullable Throwable cause) {
            end();
        }

        private void end() {
            mutex.lock();
            try {
                if (!ended) {
                    ended = true;
                    if (stream != null) {
                        stream.remove(this);
                    }
                }
            } finally {
                mutex.unlock();
            }
        }
    }

    /** The stream for new watches; called with the mutex. */
    private Stream stream(Channel channel, Supplier<ClientCall<WatchRequest, WatchResponse>> calls, Metadata headers) {
        Stream present = current;
        if (present != null && present.channel == channel && present.failure == null) {
            return present;
        }
        Stream next = new Stream(channel, calls.get());
        next.call.start(next, headers);
        next.call.request(1);
        if (next.failure == null) {
            streams.add(next);
            current = next;
        }
        return next;
    }

    /** One HTTP/2 stream; its state is guarded by the mutex. */
    private final class Stream extends ClientCall.Listener<WatchResponse> {
        final Channel channel;
        final ClientCall<WatchRequest, WatchResponse> call;
        /** Watches whose creation has no answer yet, in the order of the requests; also those that have ended since. */
        private final Deque<SharedWatch> created = new ArrayDeque<>();

        private final Map<Long, SharedWatch> open = new HashMap<>();
        private boolean isAccepted;
        private boolean closed;
        private @Nullable Status failure;

        Stream(Channel channel, ClientCall<WatchRequest, WatchResponse> call) {
            this.channel = channel;
            this.call = call;
        }

        /** Returns why the stream has closed already, or null. */
        @Nullable Status create(SharedWatch watch, WatchRequest request) {
            if (failure == null) {
                created.add(watch);
                try {
                    call.sendMessage(request);
                } catch (RuntimeException e) { // the thread of its connection has ended
                    close();
                    created.removeLastOccurrence(watch);
                    failure = Status.UNAVAILABLE
                            .withDescription("a watch cannot be sent")
                            .withCause(e);
                }
            }
            return failure;
        }

        void remove(SharedWatch watch) {
            Long id = watch.id;
            if (id != null && open.remove(id, watch) && !closed) {
                cancelOnServer(id);
            }
            closeIfUnused();
        }

        private void cancelOnServer(long id) {
            send(() -> call.sendMessage(WatchRequest.newBuilder()
                    .setCancelRequest(WatchCancelRequest.newBuilder().setWatchId(id))
                    .build()));
        }

        /** If the thread of the connection has ended, all its watches end with the connection. */
        private void send(Runnable message) {
            try {
                message.run();
            } catch (RuntimeException e) {
                LOG.debug("a shared watch stream cannot be used any more", e);
            }
        }

        private void closeIfUnused() {
            if (!closed && open.isEmpty() && created.stream().allMatch(watch -> watch.ended)) {
                close();
                send(call::halfClose);
            }
        }

        private void close() {
            closed = true;
            streams.remove(this);
            if (current == this) {
                current = null;
            }
        }

        @Override
        public void onMessage(WatchResponse response) {
            SharedWatch to;
            mutex.lock();
            try {
                to = response.getCreated() ? answered(response) : reported(response);
            } finally {
                mutex.unlock();
            }
            if (to != null) {
                to.listener().onMessage(response);
            }
            call.request(1);
        }

        private @Nullable SharedWatch answered(WatchResponse response) {
            SharedWatch watch = created.poll();
            if (watch == null || closed) {
                return null;
            }
            long id = response.getWatchId();
            if (response.getCanceled()) {
                refused();
                return watch.ended ? null : watch;
            }
            isAccepted = true;
            if (watch.ended) {
                cancelOnServer(id);
                return null;
            }
            watch.id = id;
            open.put(id, watch);
            return watch;
        }

        /** The next watch begins another stream, with a new token, unless this stream is as new. */
        private void refused() {
            if (current == this && isAccepted && streams.size() < MAX_STREAMS) {
                current = null;
            }
        }

        private @Nullable SharedWatch reported(WatchResponse response) {
            long id = response.getWatchId();
            return response.getCanceled() ? open.remove(id) : open.get(id);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            List<SharedWatch> all = new ArrayList<>();
            mutex.lock();
            try {
                close();
                failure = status;
                all.addAll(open.values());
                created.stream().filter(watch -> !watch.ended).forEach(all::add);
                open.clear();
                created.clear();
            } finally {
                mutex.unlock();
            }
            all.forEach(watch -> watch.listener().onClose(status, trailers));
        }
    }
}
