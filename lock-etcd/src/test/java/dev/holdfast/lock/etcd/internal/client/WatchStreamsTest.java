package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.ScriptedChannel;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Several watches on one stream. */
final class WatchStreamsTest {
    private final ScriptedChannel channel = new ScriptedChannel();
    private final WatchStreams streams = new WatchStreams();

    /** One watch, as jetcd opens it. */
    private final class Watcher extends ClientCall.Listener<WatchResponse> {
        final List<WatchResponse> messages = new ArrayList<>();
        final List<Status> closed = new ArrayList<>();
        final ClientCall<WatchRequest, WatchResponse> call;

        Watcher() throws Exception {
            this(channel);
        }

        Watcher(ScriptedChannel on) throws Exception {
            WatchStreams.Ask ask = streams.ask();
            call = Context.ROOT
                    .withValue(WatchStreams.ASKED, ask)
                    .call(() -> new WatchSharing().interceptCall(WatchGrpc.getWatchMethod(), CallOptions.DEFAULT, on));
            assertThat(ask.isTaken()).isTrue();
            call.start(this, new Metadata());
            call.sendMessage(WatchRequest.newBuilder()
                    .setCreateRequest(WatchCreateRequest.getDefaultInstance())
                    .build());
        }

        @Override
        public void onMessage(WatchResponse message) {
            messages.add(message);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            closed.add(status);
        }
    }

    @SuppressWarnings("unchecked")
    private ScriptedChannel.Call<WatchRequest, WatchResponse> stream(int number) {
        return (ScriptedChannel.Call<WatchRequest, WatchResponse>) channel.calls.get(number);
    }

    private static WatchResponse created(long id) {
        return WatchResponse.newBuilder().setCreated(true).setWatchId(id).build();
    }

    private static final WatchResponse REFUSED = WatchResponse.newBuilder()
            .setCreated(true)
            .setCanceled(true)
            .setWatchId(-1)
            .build();

    private static WatchResponse event(long id) {
        return WatchResponse.newBuilder().setWatchId(id).build();
    }

    @Test
    void events_reachTheirWatchOnly() throws Exception {
        Watcher one = new Watcher();
        Watcher two = new Watcher();
        stream(0).says(created(0));
        stream(0).says(created(1));

        stream(0).says(event(1));
        stream(0).says(event(7));

        assertThat(channel.calls).hasSize(1);
        assertThat(one.messages).containsExactly(created(0));
        assertThat(two.messages).containsExactly(created(1), event(1));
    }

    @Test
    void close_ofOneWatch_cancelsItAndLeavesTheOthers() throws Exception {
        Watcher one = new Watcher();
        Watcher two = new Watcher();
        stream(0).says(created(0));
        stream(0).says(created(1));

        one.call.halfClose();
        stream(0).says(event(0));
        stream(0).says(event(1));

        assertThat(stream(0).messages.get(2).getCancelRequest().getWatchId()).isZero();
        assertThat(stream(0).halfClosed).isFalse();
        assertThat(one.messages).containsExactly(created(0));
        assertThat(two.messages).containsExactly(created(1), event(1));
    }

    /** Its answer still belongs to it, not to the next watch. */
    @Test
    void close_beforeTheAnswer_cancelsWhenTheAnswerHasCome() throws Exception {
        Watcher one = new Watcher();
        Watcher two = new Watcher();
        one.call.cancel("closed", null);

        stream(0).says(created(0));
        stream(0).says(created(1));
        stream(0).says(event(1));

        assertThat(one.messages).isEmpty();
        assertThat(stream(0).messages.get(2).getCancelRequest().getWatchId()).isZero();
        assertThat(two.messages).containsExactly(created(1), event(1));
    }

    @Test
    void close_ofTheLastWatch_endsTheStream_andTheNextWatchBeginsAnother() throws Exception {
        Watcher one = new Watcher();
        stream(0).says(created(0));
        one.call.halfClose();
        assertThat(stream(0).halfClosed).isTrue();

        Watcher two = new Watcher();
        stream(0).closes(Status.OK);
        stream(1).says(created(0));

        assertThat(one.closed).isEmpty();
        assertThat(two.messages).containsExactly(created(0));
    }

    /** A client that was replaced has watches on its own channel until they have ended. */
    @Test
    void anotherChannel_hasAStreamOfItsOwn() throws Exception {
        new Watcher();
        ScriptedChannel next = new ScriptedChannel();

        new Watcher(next);
        new Watcher(next);

        assertThat(channel.calls).hasSize(1);
        assertThat(next.calls).hasSize(1);
    }

    /** The old stream says nothing any more, and cannot be told anything. */
    @Test
    void threadOfTheConnectionEnds_newWatchFails_andTheNextBeginsAnotherStream() throws Exception {
        Watcher one = new Watcher();
        stream(0).says(created(0));
        stream(0).ended = true;

        Watcher two = new Watcher();
        Watcher three = new Watcher();
        stream(1).says(created(0));
        one.call.halfClose();

        assertThat(two.closed).extracting(Status::getCode).containsExactly(Status.Code.UNAVAILABLE);
        assertThat(three.messages).containsExactly(created(0));
        assertThat(three.closed).isEmpty();
    }

    @Test
    void endOfTheStream_endsAllItsWatches() throws Exception {
        Watcher one = new Watcher();
        Watcher two = new Watcher();
        Watcher three = new Watcher();
        stream(0).says(created(0));
        stream(0).says(created(1));
        two.call.halfClose();

        stream(0).closes(Status.UNAVAILABLE);
        new Watcher();

        assertThat(one.closed).containsExactly(Status.UNAVAILABLE);
        assertThat(two.closed).isEmpty();
        assertThat(three.closed).containsExactly(Status.UNAVAILABLE);
        assertThat(channel.calls).hasSize(2);
    }

    /** The token of a stream is that of its beginning: a password may have changed since. */
    @Test
    void refusedWatch_isRepeatedOnAnotherStream_andTheOtherWatchesStay() throws Exception {
        Watcher one = new Watcher();
        Watcher two = new Watcher();
        stream(0).says(created(0));
        stream(0).says(REFUSED);
        two.call.halfClose();
        assertThat(two.messages).containsExactly(REFUSED);

        Watcher again = new Watcher();
        stream(1).says(REFUSED);
        again.call.halfClose();
        stream(0).says(event(0));

        assertThat(one.messages).containsExactly(created(0), event(0));
        assertThat(again.messages).containsExactly(REFUSED);
        assertThat(stream(0).halfClosed).isFalse();
        assertThat(stream(1).halfClosed).isTrue();
    }

    /** The application's own watches keep their streams. */
    @Test
    void watch_outsideTheBackend_isNotShared() {
        Object call = new WatchSharing().interceptCall(WatchGrpc.getWatchMethod(), CallOptions.DEFAULT, channel);

        assertThat(call).isSameAs(channel.calls.get(0));
    }
}
