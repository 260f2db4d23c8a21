package dev.holdfast.lock.memcached;

import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.nio.NioSocketChannel;

/**
 * Reads from the server once the first request is written, and notices a reset no earlier.
 *
 * <p>The client asks something over each new connection before it uses it, on a thread of its own after a failure. A
 * connection that has ended by then would never count as connected nor as failed, and the client would never try again
 * (Folsom 1.21, {@code ReconnectingClient} and {@code AsciiAuthenticationValidator}, which waits for {@code connectFuture}
 * of a connection that is over). Not for TLS, where the first write is the handshake's: the gap is open there.
 */
final class PatientRead {
    private PatientRead() {}

    /** Made by Netty, by reflection: therefore public. */
    public static final class Channel extends NioSocketChannel {

        /** Without reads. */
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
