package dev.holdfast.chaos.memory;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** How requests look on the wire: a number, what is asked, and its fields; answers bear the number of their request. */
final class Wire {
    static final int ATTEMPT = 1;
    static final int ABANDON = 2;
    static final int RENEW = 3;
    static final int RELEASE = 4;
    static final int HOLDER = 5;
    static final int SUBSCRIBE = 6;
    static final int UNSUBSCRIBE = 7;

    /** The number of a message that answers nothing: the owner that follows may be next. */
    static final int SIGNAL = 0;

    /** The same for a grant: the owner that follows has the lock, by its attempt with the number after that, with this token that long. */
    static final int HANDED = -1;

    static final int GRANTED = 10;
    static final int BUSY = 11;
    static final int BUSY_WITH_TICKET = 12;
    static final int DONE = 13;
    static final int RENEWED = 14;
    static final int LOST = 15;
    static final int UNKNOWN = 16;
    static final int RELEASED = 17;
    static final int NOT_HELD = 18;
    static final int NOBODY = 19;
    static final int HELD = 20;
    static final int FAILED = 21;
    static final int OTHER_LIMIT = 22;

    private Wire() {}

    static void write(DataOutputStream out, OwnerId owner) throws IOException {
        out.writeLong(owner.high());
        out.writeLong(owner.low());
    }

    static OwnerId readOwner(DataInputStream in) throws IOException {
        return new OwnerId(in.readLong(), in.readLong());
    }

    static void write(DataOutputStream out, AcquisitionId acquisition) throws IOException {
        out.writeUTF(acquisition.name());
        write(out, acquisition.owner());
        out.writeByte(acquisition.demand().kind().ordinal());
        if (acquisition.demand() instanceof Demand.Permits permits) {
            out.writeInt(permits.permits());
            out.writeInt(permits.limit());
        }
    }

    static AcquisitionId readAcquisition(DataInputStream in) throws IOException {
        return new AcquisitionId(in.readUTF(), readOwner(in), readDemand(in));
    }

    private static Demand readDemand(DataInputStream in) throws IOException {
        return switch (Demand.Kind.values()[in.readByte()]) {
            case EXCLUSIVE -> Demand.EXCLUSIVE;
            case SHARED -> Demand.SHARED;
            case PERMITS -> new Demand.Permits(in.readInt(), in.readInt());
        };
    }

    static void write(DataOutputStream out, Grant grant) throws IOException {
        write(out, grant.acquisition());
        out.writeLong(grant.token());
        out.writeLong(grant.leaseMillis());
        out.writeInt(grant.slot());
    }

    static Grant readGrant(DataInputStream in) throws IOException {
        return new Grant(readAcquisition(in), in.readLong(), in.readLong(), in.readInt(), null);
    }
}
