package dev.holdfast.lock.memcached;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.nio.NioSocketChannel;

/**
 * Starts to read from the server after the first request is written, and so notices a reset no earlier.
 *
 * <p>After a failure, the client sends a request over each new connection on another thread before it uses the
 * connection. A connection that has ended by then would count neither as connected nor as failed, and the client would
 * never retry (Folsom 1.21: {@code ReconnectingClient}, and {@code AsciiAuthenticationValidator}, which waits for
 * {@code connectFuture} of the ended connection). With TLS this does not help, because the handshake writes first: the
 * gap remains there.
 */
final class PatientRead {
    private PatientRead() {}

    /** A channel that defers reads. Public because Netty creates it by reflection. */
    public static final class Channel extends NioSocketChannel {

        /** Creates a channel that does not read yet. */
        public Channel() {
            config().setAutoRead(false);
        }

        @Override
        protected void doWrite(ChannelOutboundBuffer out) throws Exception {
            if (!config().isAutoRead()) {
                config().setAutoRead(true);
            }
            super.doWrite(out);
        }
    }
}
