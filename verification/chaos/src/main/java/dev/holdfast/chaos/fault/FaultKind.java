package dev.holdfast.chaos.fault;

/** The kinds of faults. */
public enum FaultKind {
    /** A client process is paused (SIGSTOP). */
    CLIENT_STOP(Where.CLIENT),
    /** A client process is killed (SIGKILL) and replaced after a while. */
    CLIENT_KILL(Where.CLIENT),
    /** A server is paused. */
    SERVER_STOP(Where.SERVER),
    /** The leader or master is paused. */
    LEADER_STOP(Where.SERVER),
    /** A server is killed and started again. */
    SERVER_KILL(Where.SERVER),
    /** The leader or master is killed and started again. */
    LEADER_KILL(Where.SERVER),
    /** A server, mostly the leader, and others lose all that they send to each other; clients reach all of them. */
    PEER_CUT(Where.SERVER),
    /** The same, of what is sent one way only. */
    PEER_CUT_ONE_WAY(Where.SERVER),
    /** A server, mostly the leader, goes on, but each write that it forces to the disk takes long. */
    SLOW_DISK(Where.SERVER),
    /** Connections are reset. */
    NET_RESET(Where.NETWORK),
    /** One side's connections are reset and the other side gets no notice. */
    NET_HALF_OPEN(Where.NETWORK),
    /** What is sent one way, or both, is thrown away. */
    NET_BLACK_HOLE(Where.NETWORK),
    /** What is sent one way arrives late. */
    NET_LATENCY(Where.NETWORK),
    /** Requests are carried out and their replies thrown away. */
    NET_DROP_REPLIES(Where.NETWORK),
    /** Connections are reset and new ones refused. */
    NET_CUT(Where.NETWORK),
    /**
     * What is sent is kept back; its clients lose these connections, go on over others, and it arrives after that, whole or
     * torn. Of replies, some come late over a connection that lives.
     */
    NET_LATE(Where.NETWORK),
    /**
     * Requests of half of the clients are kept back; these go on over other connections, under another leader if the store can
     * change it. When the requests arrive, their clients are cut off, so that none of them repairs what they do.
     */
    NET_LATE_CUT(Where.NETWORK),
    /** What belongs to a lock is moved to another server while it is used: in a Redis Cluster, a slot. */
    SLOT_MOVE(Where.PLACE);

    /** Where something goes wrong. */
    public enum Where {
        /** With a client process. */
        CLIENT,
        /** With a server. */
        SERVER,
        /** Between them. */
        NETWORK,
        /** Nowhere: the store only keeps something elsewhere than before. */
        PLACE
    }

    private final Where where;

    FaultKind(Where where) {
        this.where = where;
    }

    /**
     * Tells whether servers need addresses of their own for it.
     *
     * @return true if it cuts servers off from each other
     */
    public boolean isBetweenServers() {
        return this == PEER_CUT || this == PEER_CUT_ONE_WAY;
    }

    /**
     * Tells whether it takes rights or programs that not every machine has, and servers that not every store has.
     *
     * @return true if a run does without it where it cannot be
     */
    public boolean isDemanding() {
        return isBetweenServers() || this == SLOW_DISK;
    }

    /**
     * Returns where it goes wrong.
     *
     * @return the part of the system
     */
    public Where where() {
        return where;
    }
}
