package dev.holdfast.chaos;

import dev.holdfast.chaos.cluster.Cluster;
import dev.holdfast.chaos.fault.Fault;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Cuts a server off from its peers, while clients go on as before. For one use, by one thread. */
final class PeerCut {
    private final Cluster cluster;
    private final ServerNetwork network;
    private final int leader;
    private final int node;
    private final List<Integer> others;
    private final boolean deaf;
    private final boolean mute;
    private String outcome = "";

    private PeerCut(Fault fault, Cluster cluster, ServerNetwork network) {
        this.cluster = cluster;
        this.network = network;
        this.leader = cluster.leader();
        int size = network.size();
        this.node = fault.target() % 3 == 0 ? fault.target() / 3 % size : leader;
        boolean all = fault.target() / 7 % 3 != 0;
        int other = (node + 1 + fault.target() / 21 % (size - 1)) % size;
        this.others = IntStream.range(0, size)
                .filter(each -> each != node && (all || each == other))
                .boxed()
                .toList();
        boolean bothWays = fault.kind() == FaultKind.PEER_CUT;
        this.deaf = bothWays || fault.amount() % 2 == 0;
        this.mute = bothWays || !deaf;
    }

    /** Two of three times it concerns the leader; from all others, or one time in three from one of them. */
    static Optional<PeerCut> of(Fault fault, Cluster cluster) {
        return cluster.network().map(network -> new PeerCut(fault, cluster, network));
    }

    /** Which server is cut off. */
    int node() {
        return node;
    }

    void begin() throws IOException, InterruptedException {
        for (int peer : others) {
            if (mute) {
                network.cut(node, peer);
            }
            if (deaf) {
                network.cut(peer, node);
            }
        }
    }

    void end() throws IOException, InterruptedException {
        String what = deaf && mute ? " was cut off from " : deaf ? " did not hear " : " was not heard by ";
        int then = cluster.leader();
        network.mend();
        outcome = "server " + node + (node == leader ? ", which led," : "") + what + others + "; "
                + (then == leader ? "no other led then" : "then server " + then + " led");
    }

    /** What happened, for people. */
    String outcome() {
        return outcome;
    }
}
